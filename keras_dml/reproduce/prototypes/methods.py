"""The rows of P2's Table 1: what is trained, and which head is attacked."""

import numpy as np

from keras_dml import models
from keras_dml._keras import keras

UNDEFENDED = "undefended"
ROWS = {  # name: how the network is trained, and its head
    "SIM": (UNDEFENDED, "sim"),
    "DOL": (UNDEFENDED, "dol"),
    "AT": ("at", "dol"),
    "ALP": ("alp", "dol"),
    "TLA": ("tla", "dol"),
    "TRADES": ("trades", "dol"),
    "DOL + AT": ("prototypes", "dol"),
    "SIM + AT": ("prototypes", "sim"),
}
TRAININGS = tuple(dict.fromkeys(training for training, _ in ROWS.values()))
CLASSES = 10
FEATURES, HIDDEN = 64, 128  # of the embedding, and of the similarity
STEEPNESS = 4.0  # of the first layer's ramps: from no ink to ink within a quarter of the scale
THRESHOLDS = (
    0.3,
    0.7,
)  # grey levels between which they lie: where epsilon 0.3 leaves a digit alone


def network(width, seed):
    """The one architecture of all rows: three convolutions, a hidden layer, a linear embedding.

    The first convolution starts as ramps of single pixels: digits are ink or paper, and a ramp in
    the middle of the scale turns an attack of 0.3 into nearly none. From a random start adversarial
    training has to find this first, and wastes epochs on it.

    Args:
        width: Filters of the first convolution, even; the others have two and four times as many.
        seed: Of all weights, the same for all rows.

    Returns:
        A `keras_dml.models.PrototypicalClassifier` of pictures of 28 by 28 pixels.
    """
    convolution, dense = keras.layers.Conv2D, keras.layers.Dense
    encoder = keras.Sequential(
        [
            keras.Input((28, 28, 1), name="image"),
            convolution(width, 3, padding="same", activation="relu", name="conv_1"),
            convolution(2 * width, 4, 2, padding="same", activation="relu", name="conv_2"),
            convolution(4 * width, 4, 2, padding="same", activation="relu", name="conv_3"),
            keras.layers.Flatten(name="flat"),
            dense(32 * width, activation="relu", name="hidden"),
            dense(FEATURES, name="embedding"),
        ],
        name="encoder",
    )
    classifier = models.PrototypicalClassifier(encoder, CLASSES, hidden=(HIDDEN,), dropout=0.0)
    _start(classifier, np.random.default_rng(seed))
    return classifier


def defended(classifier, training, recipe, steps_an_epoch, seed):
    """The classifier in its adversarial training.

    Args:
        classifier: Of `network`.
        training: One of `TRAININGS` but `UNDEFENDED`.
        recipe: Dict of `epsilon`, `attack_steps` and `ramp_epochs`.
        steps_an_epoch: Batches of an epoch.
        seed: Of the attacks' starts.
    """
    return models.AdversarialTraining(
        classifier,
        training,
        epsilon=recipe["epsilon"],
        steps=recipe["attack_steps"],
        ramp_steps=round(recipe["ramp_epochs"] * steps_an_epoch),
        seed=seed,
    )


def _start(classifier, rng):
    """Weights by Glorot's rule from a generator, biases 0, prototypes normal, ramps in front."""
    for variable in classifier.trainable_variables:
        shape = variable.shape
        receptive = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
        limit = np.sqrt(6 / (receptive * sum(shape[-2:]))) if len(shape) > 1 else 0.0
        variable.assign(rng.uniform(-limit, limit, size=shape))
    prototypes = classifier.prototypes_layer.prototypes
    prototypes.assign(rng.normal(size=prototypes.shape))
    first = classifier.encoder.get_layer("conv_1")
    signs = np.where(np.arange(first.filters) % 2, -1.0, 1.0)
    kernel = np.array(first.kernel) / 4
    kernel[1, 1, 0] += STEEPNESS * signs
    first.kernel.assign(kernel)
    first.bias.assign(-STEEPNESS * signs * np.linspace(*THRESHOLDS, first.filters))
