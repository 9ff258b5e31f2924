"""Builds the network of `omniglot_proto_sim`, and joins several trained networks into one
classifier.

Networks that were trained with different seeds make errors on different drawings. Therefore the sum
of the similarities makes fewer errors than a single network.
"""

import numpy as np

from keras_dml import models
from keras_dml._backend import keras

SIDE, COARSE = 56, 16  # pixels per side; filters of the convolution that halves the image
WIDTHS = (64, 128, 256, 256)
# Shifts of a drawing in pixels, one per view. On five held-out alphabets, a network that was
# trained for 1,250 steps has an accuracy of 87.8 % with these five views and 87.2 % with one view.
VIEWS = ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))


def trunk(name):
    """Builds the encoder of prototypical networks with wider upper layers.

    Images have 56 x 56 pixels, and the first convolution halves their width and height. If the
    images had only 28 x 28 pixels, some strokes would merge, and a training step would be only
    slightly faster.

    The functional model maps `image` with shape `(batch, SIDE, SIDE, 1)` to embeddings with shape
    `(batch, 256)`.
    """
    image = keras.Input((SIDE, SIDE, 1), name="image")
    x = keras.layers.Conv2D(COARSE, 5, strides=2, padding="same", use_bias=False)(image)
    x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
    encoder = models.conv4(x.shape[1:], width=WIDTHS, early_pooling=True)
    return keras.Model(image, encoder(x), name=name)


def side_by_side(trunks):
    """Joins encoders into one encoder, which concatenates their unit vectors.

    Each encoder computes one unit vector per view of a drawing, adds these vectors and normalizes
    the sum. The cosine of two joined embeddings is the mean of the cosines of the single encoders.
    """
    image = keras.Input(trunks[0].input_shape[1:], name="image")
    views = keras.layers.Concatenate(axis=0)([_shifted(image, *shift) for shift in VIEWS])
    parts = [_sum_of_views(keras.layers.UnitNormalization()(trunk(views))) for trunk in trunks]
    return keras.Model(image, keras.layers.Concatenate(name="embedding")(parts), name="trunks")


def _shifted(image, down, right):
    """Shifts an image by some pixels, and fills the border with zeros."""
    if (down, right) == (0, 0):
        return image
    ends = [(max(steps, 0), max(-steps, 0)) for steps in (down, right)]
    padded = keras.layers.ZeroPadding2D(ends)(image)
    return keras.layers.Cropping2D([end[::-1] for end in ends])(padded)


def _sum_of_views(units):
    """Sums the unit vectors of all views of a drawing, and normalizes the sum. The batch contains
    all drawings in the first view, then all drawings in the second view, and so on.
    """
    views = keras.ops.reshape(units, (len(VIEWS), -1, units.shape[-1]))
    return keras.layers.UnitNormalization()(keras.ops.sum(views, axis=0))


def weights_of_sum(similarities):
    """Returns the weights of a single similarity that takes joined embeddings and equals the sum of
    the given similarities.

    Args:
        similarities: Weights of each similarity. A similarity takes `|x - y|` of unit vectors and
            has one hidden layer.
    """
    firsts, first_biases, lasts, last_biases = zip(*similarities, strict=True)
    length = np.sqrt(len(similarities))  # of joined unit vectors, which are scaled to length 1
    rows, columns = firsts[0].shape
    first = np.zeros((len(firsts), rows, len(firsts), columns), np.float32)
    for i, weights in enumerate(firsts):
        first[i, :, i] = length * weights
    first = first.reshape(len(firsts) * rows, -1)
    return [first, np.concatenate(first_biases), np.concatenate(lasts), sum(last_biases)]


def upright(classifiers, drawings, hidden, **similarity):
    """Builds the published classifier, which joins all networks.

    The classes of the classifier are the upright characters. The classifier has no auxiliary heads,
    because the heads would need weights for thousands of rotated classes, and these weights would
    triple the size of the file.

    Args:
        classifiers: A pair `(encoder, weights of the similarity)` for each network.
        drawings: `zoo.images.Drawings` of the training characters.
        hidden: Number of hidden units of a network's similarity.
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
