"""Tests functions that the recipes of prototypical classifiers share."""

import numpy as np

from keras_dml.layers import LearnedSimilarity
from keras_dml.models import PrototypicalClassifier, conv4
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
    y[:30] += x[:30]  # makes half of the pairs similar
    layer(x, y)
    classifiers.begin_as_squares(layer, gain=10.0)
    x, y = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    cosines = x @ y.T
    slope, _ = np.polyfit(cosines.ravel(), np.asarray(layer(x, y)).ravel(), 1)
    assert abs(slope - 20) < 2  # squared distances of unit vectors are 2 - 2 cos
    assert np.corrcoef(cosines.ravel(), np.asarray(layer(x, y)).ravel())[0, 1] > 0.99


def test_batches_hold_each_class_as_often_in_varied_images(rng):
    x, y = rng.random((40, 4, 4, 1)), np.arange(40) % 5
    batches = classifiers.batches(
        x, y, ways=5, per_class=3, seed=1, vary=lambda batch, rng: batch + 10
    )
    images, labels = batches[0]
    assert images.shape == (15, 4, 4, 1) and (images >= 10).all()
    assert np.bincount(labels).tolist() == [3] * 5
    assert len(batches) == classifiers.STEPS_PER_EPOCH


def test_few_shot_rows_are_of_the_same_episodes_by_similarity_and_by_cosine(rng):
    model = PrototypicalClassifier(conv4((16, 16, 1), width=4, blocks=2), 2, hidden=(4,), aux=None)
    x, y = rng.random((80, 16, 16, 1)).astype("float32"), np.arange(80) % 4
    rows = classifiers.few_shot(model, x, y, ((2, 1), (3, 2)), episodes=3)
    settings = [(row["ways"], row["shots"], row["head"]) for row in rows]
    assert settings == [(2, 1, "sim"), (2, 1, "cosine"), (3, 2, "sim"), (3, 2, "cosine")]
    assert all(0 <= row["value"] <= 1 and row["n"] == row["shots"] for row in rows)
    assert [row["trials"] for row in rows[::2]] == [3 * 2 * 15, 3 * 3 * 15]
