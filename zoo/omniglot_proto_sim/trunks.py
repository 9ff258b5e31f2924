"""The networks of `omniglot_proto_sim`: small encoders, each trained by itself.

They err on different drawings, so their mean errs less than any of them.
"""

import numpy as np

from keras_dml import models
from keras_dml._backend import keras

WIDTHS = ((64, True), (128, True), (256, True), (128, False))  # filters of `linear`; pooled or not
DROPOUT, EMBEDDING = 0.3, 256


def flat(name):
    """The encoder of prototypical networks, wider above: all that is left of the image is the
    embedding.

    Functional model: `image` (batch, 28, 28, 1) to (batch, 256).
    """
    encoder = models.conv4(width=(64, 128, 256, 256), early_pooling=True)
    return keras.Model(encoder.input, encoder.output, name=name)


def linear(name):
    """Four convolutions that end in a linear layer, as networks for faces do: it sees where in the
    image a stroke lies, and its embedding has both signs.

    Functional model: `image` (batch, 28, 28, 1) to (batch, EMBEDDING).
    """
    layers = keras.layers
    x = image = keras.Input((28, 28, 1), name="image")
    for filters, pooled in WIDTHS:
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.MaxPooling2D(padding="same")(x) if pooled else x  # early: a quarter to normalize
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Flatten()(layers.Dropout(DROPOUT)(x))
    x = layers.BatchNormalization()(layers.Dense(EMBEDDING, use_bias=False)(x))
    return keras.Model(image, x, name=name)


# How many of each, and the fraction of the steps that one takes: a linear layer fits sooner.
KINDS = {flat: (1, 1.0), linear: (2, 8 / 11)}


def side_by_side(trunks):
    """One encoder of several: their unit vectors, one behind the other, so that the cosine is the
    mean of theirs."""
    image = keras.Input(trunks[0].input_shape[1:], name="image")
    parts = [keras.layers.UnitNormalization()(one(image)) for one in trunks]
    return keras.Model(image, keras.layers.Concatenate(name="embedding")(parts), name="trunks")


def upright(model, drawings, **similarity):
    """The classifier that is published: of the characters as they stand, without the auxiliary
    head, whose thousands of turned classes would treble the file.

    Args:
        model: The trained `PrototypicalClassifier` of turned characters.
        drawings: `zoo.images.Drawings` of the training characters.
        **similarity: Arguments of the model's similarity.
    """
    characters, first = np.unique(drawings.labels, return_index=True)
    published = models.PrototypicalClassifier(
        model.encoder,
        len(characters),
        class_names=[f"{drawings.alphabets[i]} {drawings.labels[i]}" for i in first],
        aux=None,
        **similarity,
    )
    trained = model.prototypes_layer.similarity
    published.prototypes_layer.similarity.set_weights(trained.get_weights())
    published.refit_prototypes(drawings.images, np.searchsorted(characters, drawings.labels))
    return published
