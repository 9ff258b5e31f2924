"""What the recipes of prototypical classifiers share."""

import numpy as np

from keras_dml.layers import LearnedSimilarity
from zoo import classifiers


def test_a_new_similarity_begins_as_a_metric_of_the_differences(rng):
    layer = LearnedSimilarity((4,), symmetry="absdiff")
    x = rng.normal(size=(6, 3)).astype("float32")
    layer(x, x)
    classifiers.begin_as_a_metric(layer)
    table = np.asarray(layer(x, x + np.float32(0)))
    assert (table.argmax(axis=1) == np.arange(6)).all()
    assert (np.asarray(layer(x[:1], x[:1] + 2)) < np.asarray(layer(x[:1], x[:1] + 1))).all()


def test_a_similarity_begun_as_squares_ranks_as_the_cosine_does(rng):
    features = 75
    layer = LearnedSimilarity((classifiers.PIECES * features,), symmetry="absdiff", normalize=True)
    x, y = rng.normal(size=(2, 60, features)).astype("float32")
    y[:30] += x[:30]  # half of them more or less alike
    layer(x, y)
    classifiers.begin_as_squares(layer, gain=10.0)
    x, y = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    cosines = x @ y.T
    slope, _ = np.polyfit(cosines.ravel(), np.asarray(layer(x, y)).ravel(), 1)
    assert abs(slope - 20) < 2  # squared distances are 2 - 2 cos
    assert np.corrcoef(cosines.ravel(), np.asarray(layer(x, y)).ravel())[0, 1] > 0.99
