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
