"""Encoder of `voice_ge2e_sim`: Resemblyzer's network and a linear layer."""

import numpy as np

from keras_dml import layers, models
from keras_dml._backend import keras, ops
from keras_dml.training import People
from zoo import recipe, speech, voices

EMBEDDING = 64
WHITENING = 0.75  # power; 1 would make all variances 1
VECTOR = 256  # numbers of Resemblyzer's embedding
BATCH = 64  # windows
LEAST = 4000  # samples that are kept in any case: the shortest recording


def network(weights, head):
    """Builds the whole encoder of raw audio.

    Args:
        weights: Path of the converted weights. None draws random weights.
        head: Output of `new_head`, trained on vectors. Its linear layer becomes the last layer of
            the encoder.
    """
    audio = keras.Input((None, 1), name="audio")
    x = recipe.input_contract(recipe.about_model("voice_ge2e_sim")["input"])(audio)
    x = silence_removal()(x)
    for layer in models.ge2e(weights).layers[1:]:
        layer.trainable = False
        x = layer(x)
    return keras.Model(audio, head.get_layer("adapted")(x), name="voice_ge2e_sim")


def silence_removal():
    """Returns the layer that removes silence from recordings, before they are scaled to
    Resemblyzer's level.
    """
    return layers.SilenceRemoval(speech.RATE_HZ, least=LEAST, name="silence")


def new_head(groups):
    """Builds the last layer of the encoder as a model of the vectors of windows, which it averages.

    The layer is initialized with the principal axes of the vectors. Each axis is divided by a power
    of its standard deviation, as a compromise between unscaled axes and whitening.

    Args:
        groups: Arrays of vectors, `(windows, 256)`, one for each data set. All data sets have the
            same weight.
    """
    head = keras.Sequential(
        [
            keras.Input((None, VECTOR)),
            layers.SequencePooling("mean"),
            keras.layers.UnitNormalization(),
            keras.layers.Dense(EMBEDDING, name="adapted"),
        ]
    )
    center = np.mean([group.mean(axis=0) for group in groups], axis=0)
    weighed = [(group - center) / np.sqrt(len(group) * len(groups)) for group in groups]
    _, scales, axes = np.linalg.svd(np.concatenate(weighed), full_matrices=False)
    kernel = axes[:EMBEDDING].T / scales[:EMBEDDING] ** WHITENING
    head.get_layer("adapted").set_weights([kernel, -center @ kernel])
    return head


def window_vectors(people, model):
    """Computes Resemblyzer's unit vectors of the windows of each recording, including silence.

    Vectors of recordings without their silence gave a worse last layer: an EER of 5.2 % instead of
    4.3 % on the people of the card, both measured after `SilenceRemoval` with a depth of 30 dB and
    a margin
    of 0.2 s.

    Args:
        people: `People` with recordings of raw audio.
        model: A model with the layers of `models.ge2e`.

    Returns:
        `People` with signals of shape `(windows, 256)`.
    """
    level, windowed = model.get_layer("level"), model.get_layer("embedding")
    unit, vectors = keras.layers.UnitNormalization(), []
    for sound in people.signals:
        windows = windowed.windows(level(ops.convert_to_tensor(sound[None])))[0]
        rows = windowed.network.predict(ops.convert_to_numpy(windows), BATCH, verbose=0)
        vectors.append(ops.convert_to_numpy(unit(rows)))
    return People(vectors, people.subjects, people.sessions)


def by_set(people):
    """Returns the vectors of the windows of each data set, a list of two arrays."""
    far = voices.is_telephone(people.subjects)
    return [np.concatenate(people.take(part).signals) for part in (~far, far)]
