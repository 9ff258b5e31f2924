"""Tests that scores of classes added after training are comparable with scores of old classes."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import PrototypeSimilarity
from keras_dml.layers.prototype_similarity import SHRINKAGE
from tests.geometry.perceptrons import numpy

FEATURES = 3


def examples(rng, classes, count, scale=(1.0, 0.2, 3.0)):
    """Draws embeddings around distant class means, with a different spread in each direction, and
    returns embeddings and classes."""
    labels = np.repeat(np.arange(classes), count)
    means = 6 * rng.normal(size=(classes, FEATURES))
    return means[labels] + rng.normal(size=(len(labels), FEATURES)) * scale, labels


@pytest.fixture
def layer():
    keras.utils.set_random_seed(1)
    layer = PrototypeSimilarity(4, hidden=(8,))
    layer.build((None, FEATURES))
    return layer


def scores(layer, z):
    return numpy(layer(ops.convert_to_tensor(np.asarray(z, "float32"))))


def similarities(layer, z):
    z = ops.convert_to_tensor(np.asarray(z, "float32"))
    return numpy(layer.similarity(z, ops.convert_to_tensor(layer.prototypes)))


def corrected_distances(layer, z, covariance, spread):
    """Computes squared Mahalanobis distances from class means, with slow loops. If a mean is
    computed from few examples, the expected distance is too large. The function subtracts this
    excess.
    """
    inverse = np.linalg.inv(covariance)
    counts = numpy(layer.counts)
    return np.array(
        [
            [(x - c) @ inverse @ (x - c) - spread / k for c, k in zip(rows, counts, strict=True)]
            for rows in [numpy(layer.prototypes).astype(float)]
            for x in z
        ]
    )


@pytest.mark.slow_on_jax
def test_added_class_wins_if_it_is_nearest_and_old_scores_do_not_change(rng, layer):
    z, labels = examples(rng, 6, 50)
    old, new = labels < 4, labels >= 4
    layer.refit(z[old], labels[old])
    before = scores(layer, z)
    layer.add_classes(["few", "many"], z[new][:53], np.where(labels[new] == 4, 1, 0)[:53])
    actual = scores(layer, z)
    np.testing.assert_array_equal(actual[:, :4], before)
    differences = z[old] - np.array([z[labels == k].mean(axis=0) for k in labels[old]])
    covariance = differences.T @ differences / (len(differences) - 4)
    equal = np.trace(covariance) / FEATURES * np.eye(FEATURES)
    shrinkage = SHRINKAGE
    shrunk = (1 - shrinkage) * covariance + shrinkage * equal
    spread = np.trace(np.linalg.solve(shrunk, covariance))
    distances = corrected_distances(layer, z, shrunk, spread)
    nearest = distances[:, :4].min(axis=1, keepdims=True)
    expected = before.max(axis=1, keepdims=True) + (nearest - distances[:, 4:]) / 2
    np.testing.assert_allclose(actual[:, 4:], expected, rtol=1e-3, atol=1e-2)
    wins = actual.argmax(axis=1) >= 4
    assert wins.any() and not wins.all()
    np.testing.assert_array_equal(wins, distances.argmin(axis=1) >= 4)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("count", [1, 3])
def test_few_examples_suffice_although_the_similarity_prefers_old_classes(rng, layer, count):
    z, labels = examples(rng, 6, 40, scale=(1, 1, 1))
    layer.refit(z[labels < 4], labels[labels < 4])
    support = np.concatenate([np.flatnonzero(labels == k)[:count] for k in (4, 5)])
    last = layer.similarity.kernels[-1]
    last.assign(np.zeros(last.shape))  # an uninformative similarity, so ties go to row 0
    layer.add_classes(["4", "5"], z[support], labels[support] - 4)
    probes = np.setdiff1d(np.arange(len(z)), support)
    predicted, new = scores(layer, z[probes]).argmax(axis=1), labels[probes] >= 4
    assert np.mean(predicted[new] == labels[probes][new]) > 0.9
    assert np.mean(predicted[~new] < 4) > 0.9


@pytest.mark.slow_on_jax
def test_spread_comes_from_the_support_until_refit(rng, layer):
    z, labels = examples(rng, 6, 30)
    means = [z[labels == k].mean(axis=0) for k in range(4)]
    layer.set_prototypes(means)
    assert not layer.has_spread
    layer.add_classes(["one"], z[labels == 4][:1], [0])
    assert float(numpy(layer.spread)) == 0
    np.testing.assert_array_equal(numpy(layer.whitening), np.eye(FEATURES))
    squares = ((z[:, None] - numpy(layer.prototypes)) ** 2).sum(axis=-1)
    np.testing.assert_array_equal(scores(layer, z).argmax(axis=1) == 4, squares.argmin(axis=1) == 4)
    layer.add_classes(["more"], z[labels == 5], np.zeros(30, int))
    of_support = float(numpy(layer.spread))
    assert 0 < of_support
    layer.add_classes(["again"], z[:9], np.zeros(9, int))
    assert float(numpy(layer.spread)) == of_support
    layer.refit(np.concatenate([z, z[:9] + 1]), [*labels, *[6] * 9])
    assert 0 < float(numpy(layer.spread)) != of_support
    assert numpy(layer.added).tolist() == [0, 0, 0, 0, 1, 1, 1]


@pytest.mark.slow_on_jax
def test_extending_an_added_class_measures_the_spread(rng, layer):
    z, labels = examples(rng, 5, 10)
    layer.set_prototypes([z[labels == k].mean(axis=0) for k in range(4)])
    layer.add_classes(["one"], z[-1:], [0])
    layer.extend_class("one", z[-9:-1])
    assert float(numpy(layer.spread)) > 0


def test_equal_examples_have_no_spread_and_give_finite_scores(layer):
    layer.set_prototypes(np.eye(4, FEATURES))
    layer.add_classes(["twin"], np.ones((2, FEATURES)), [0, 0])
    assert np.isfinite(scores(layer, np.eye(FEATURES))).all()
    layer.refit(np.ones((10, FEATURES)), np.arange(10) % 5)
    assert np.isfinite(scores(layer, np.eye(FEATURES))).all()


@pytest.mark.slow_on_jax
def test_without_old_classes_the_nearest_mean_decides(rng, layer):
    z, labels = examples(rng, 6, 20)
    layer.refit(z[labels < 4], labels[labels < 4])
    layer.add_classes(["4", "5"], z[labels > 3], labels[labels > 3] - 4)
    layer.remove_classes(["0", "1", "2", "3"])
    assert layer.class_names == ["4", "5"]
    predicted = scores(layer, z[labels > 3]).argmax(axis=1)
    assert np.mean(predicted == labels[labels > 3] - 4) > 0.9


@pytest.mark.slow_on_jax
def test_removing_and_replacing_classes_updates_added(rng, layer):
    z, labels = examples(rng, 6, 20)
    layer.refit(z[labels < 4], labels[labels < 4])
    layer.add_classes(["4", "5"], z[labels > 3], labels[labels > 3] - 4)
    layer.remove_classes(["1", "4"])
    assert numpy(layer.added).tolist() == [0, 0, 0, 1]
    layer.remove_classes(["5"])
    np.testing.assert_array_equal(scores(layer, z), similarities(layer, z))
    layer.add_classes(["6"], z[:2], [0, 0])
    layer.set_prototypes(numpy(layer.prototypes))
    np.testing.assert_array_equal(scores(layer, z), similarities(layer, z))


@pytest.mark.slow_on_jax
def test_training_uses_plain_similarities_and_clears_added(rng, layer):
    z, labels = examples(rng, 6, 20)
    layer.refit(z[labels < 4], labels[labels < 4])
    layer.add_classes(["4", "5"], z[labels > 3], labels[labels > 3] - 4)
    layer.update(ops.convert_to_tensor(z[:3].astype("float32")), ops.convert_to_tensor([0, 4, -1]))
    assert numpy(layer.added).tolist() == [0, 0, 0, 0, 0, 1]
    still = PrototypeSimilarity(4, hidden=(8,), dropout=0.0)
    still.refit(z[labels < 4], labels[labels < 4])
    still.add_classes(["4"], z[labels == 4], [0] * 20)
    trained = still(ops.convert_to_tensor(z.astype("float32")), training=True)
    np.testing.assert_array_equal(numpy(trained), similarities(still, z))


@pytest.mark.slow_on_jax
def test_hundreds_of_classes_are_added_at_once_and_one_by_one(rng, layer):
    z, labels = examples(rng, 304, 3, scale=(0.01, 0.01, 0.01))
    layer.refit(z[labels < 4], labels[labels < 4])
    names = [f"n{k}" for k in range(300)]
    new = labels >= 4
    layer.add_classes(names[:-5], z[new & (labels < 299)], labels[new & (labels < 299)] - 4)
    for k in range(299, 304):
        layer.add_classes([f"n{k - 4}"], z[labels == k], [0, 0, 0])
    assert layer.classes == 304
    assert np.mean(scores(layer, z).argmax(axis=1)[new] == labels[new]) > 0.95


@pytest.mark.slow_on_jax
def test_files_keep_scores_and_have_no_extra_weights_without_added_classes(tmp_path, rng, layer):
    z, labels = examples(rng, 6, 20)
    layer.set_prototypes([z[labels == k].mean(axis=0) for k in range(4)])
    assert "has_spread" not in layer.get_config() and len(layer.weights) == 3 + 4 + 0
    layer.refit(z[labels < 4], labels[labels < 4])
    layer.add_classes(["4", "5"], z[labels > 3], labels[labels > 3] - 4)
    inputs = keras.Input((FEATURES,))
    keras.Model(inputs, layer(inputs)).save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras").layers[-1]
    copy = PrototypeSimilarity.from_config(layer.get_config())
    copy.build((None, FEATURES))
    copy.set_weights(layer.get_weights())
    for second in (loaded, copy):
        assert second.get_config() == layer.get_config()
        np.testing.assert_array_equal(scores(second, z), scores(layer, z))
        second.add_classes(["again"], z[:1], [0])
        assert numpy(second.added).tolist() == [0, 0, 0, 0, 1, 1, 1]
