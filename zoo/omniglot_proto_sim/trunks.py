"""The network of `omniglot_proto_sim`, and several of them as one classifier.

Networks of other seeds err on different drawings, so their sum errs less than any of them.
"""

import numpy as np

from keras_dml import models
from keras_dml._backend import keras

SIDE, COARSE = 56, 16  # pixels a side; filters that halve it
WIDTHS = (64, 128, 256, 256)
# Of a drawing, in pixels; of characters of five alphabets held out, one network after 1,250 steps
# has 87.8 % right by these five views and 87.2 % by one.
VIEWS = ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))


def trunk(name):
    """The encoder of prototypical networks, wider above, behind a convolution that halves the
    image: strokes that 28 pixels merge stay apart, and a step costs little more.

    Functional model: `image` (batch, SIDE, SIDE, 1) to (batch, 256).
    """
    image = keras.Input((SIDE, SIDE, 1), name="image")
    x = keras.layers.Conv2D(COARSE, 5, strides=2, padding="same", use_bias=False)(image)
    x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
    encoder = models.conv4(x.shape[1:], width=WIDTHS, early_pooling=True)
    return keras.Model(image, encoder(x), name=name)


def side_by_side(trunks):
    """One encoder of several: unit vectors of each, from the sum of those of a drawing's views, one
    behind the other, so that the cosine is the mean of theirs."""
    image = keras.Input(trunks[0].input_shape[1:], name="image")
    views = keras.layers.Concatenate(axis=0)([_shifted(image, *shift) for shift in VIEWS])
    parts = [_of_views(keras.layers.UnitNormalization()(one(views))) for one in trunks]
    return keras.Model(image, keras.layers.Concatenate(name="embedding")(parts), name="trunks")


def _shifted(image, down, right):
    """An image shifted by some pixels, without what leaves it."""
    if (down, right) == (0, 0):
        return image
    ends = [(max(steps, 0), max(-steps, 0)) for steps in (down, right)]
    padded = keras.layers.ZeroPadding2D(ends)(image)
    return keras.layers.Cropping2D([end[::-1] for end in ends])(padded)


def _of_views(units):
    """Unit vectors of drawings from those of their views, view by view in the batch."""
    seen = keras.ops.reshape(units, (len(VIEWS), -1, units.shape[-1]))
    return keras.layers.UnitNormalization()(keras.ops.sum(seen, axis=0))


def weights_of_sum(similarities):
    """Weights of the one similarity that is, on the embeddings side by side, the sum of several on
    their own.

    Args:
        similarities: Weights of each, from one hidden layer on `|x - y|` of unit vectors.
    """
    firsts, first_biases, lasts, last_biases = zip(*similarities, strict=True)
    longer = np.sqrt(len(similarities))  # unit vectors side by side, which are scaled to length 1
    rows, columns = firsts[0].shape
    first = np.zeros((len(firsts), rows, len(firsts), columns), np.float32)
    for i, one in enumerate(firsts):
        first[i, :, i] = longer * one
    first = first.reshape(len(firsts) * rows, -1)
    return [first, np.concatenate(first_biases), np.concatenate(lasts), sum(last_biases)]


def upright(classifiers, drawings, hidden, **similarity):
    """The classifier that is published: the networks together, of the characters as they stand,
    without the auxiliary heads, whose thousands of turned classes would treble the file.

    Args:
        classifiers: A pair `(encoder, weights of the similarity)` of each network.
        drawings: `zoo.images.Drawings` of the training characters.
        hidden: Hidden units of a network's similarity.
        **similarity: Further arguments of the similarities.
    """
    encoders, weights = zip(*classifiers, strict=True)
    characters, first = np.unique(drawings.labels, return_index=True)
    published = models.PrototypicalClassifier(
        side_by_side(encoders),
        len(characters),
        class_names=[f"{drawings.alphabets[i]} {drawings.labels[i]}" for i in first],
        aux=None,
        hidden=(len(encoders) * hidden,),
        **similarity,
    )
    published.prototypes_layer.similarity.set_weights(weights_of_sum(weights))
    published.refit_prototypes(drawings.images, np.searchsorted(characters, drawings.labels))
    return published
