"""Tests the additional tasks on which classifiers of the zoo are evaluated."""

import types

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from keras_dml._backend import keras
from keras_dml.models import PrototypicalClassifier
from zoo import tasks

CLASSES, FEATURES = 4, 40


@pytest.fixture
def model():
    """Builds a classifier with simple parts.

    The embedding of an image is the vector of its pixels. At its start, the learned similarity
    computes a distance. The prototypes are the first unit vectors.
    """
    signal = keras.Input((1, FEATURES, 1))
    encoder = keras.Model(signal, keras.layers.Flatten()(signal))
    built = PrototypicalClassifier(encoder, CLASSES, hidden=(8,), aux="am", symmetry="absdiff")
    tasks.classifiers.begin_as_a_metric(built.prototypes_layer.similarity)
    built.set_prototypes(np.eye(FEATURES, dtype="float32")[:CLASSES])
    return built


def corners(rng, classes, each, first=0):
    labels = np.repeat(np.arange(classes), each)
    images = 0.9 * np.eye(FEATURES)[first + labels] + rng.uniform(0, 0.02, (len(labels), FEATURES))
    return images.reshape(-1, 1, FEATURES, 1).astype("float32"), labels


def test_images_that_are_far_apart_leave_nothing_to_confuse(model, rng, monkeypatch):
    monkeypatch.setattr(tasks, "PROBES", 20)
    monkeypatch.setattr(tasks, "EPISODES", 3)
    x, y = corners(rng, CLASSES, 15)
    order = rng.permutation(len(y))
    found = tasks.rows(model, x[order], y[order], *corners(rng, 20, 20, first=CLASSES))
    by_kind = {(row["protocol"], row["metric"], row["head"], row["n"]): row for row in found}
    for head in ("sim", "cosine"):
        assert by_kind["verification", "eer", head, 1]["value"] == pytest.approx(0)
        assert by_kind["verification", "eer", head, 1]["trials"] == 20 * 40
        assert by_kind["retrieval", "map_at_r", head, 1]["value"] == pytest.approx(1)
        assert by_kind["few_shot", "accuracy", head, 5]["value"] == pytest.approx(1)
    assert by_kind["novelty", "auc", "sim", 1]["value"] == pytest.approx(1)


def test_images_without_a_trait_of_their_class_are_at_chance(model, rng, monkeypatch):
    monkeypatch.setattr(tasks, "PROBES", 100)
    x = rng.normal(size=(400, 1, FEATURES, 1)).astype("float32")
    z = x.reshape(400, FEATURES)
    rows = tasks.compared(model, z, rng.integers(4, size=400))
    found = {(row["metric"], row["head"]): row["value"] for row in rows}
    assert abs(found["eer", "sim"] - 0.5) < 0.05 and abs(found["auc", "cosine"] - 0.5) < 0.05
    assert all(0 < row["stderr"] < 0.1 for row in rows)


def test_the_difference_of_the_heads_is_that_on_the_same_images(model, rng, monkeypatch):
    monkeypatch.setattr(tasks, "PROBES", 100)
    labels = rng.integers(CLASSES, size=400)
    x = np.eye(FEATURES)[labels] + rng.normal(0, 0.4, size=(400, FEATURES))
    rows = tasks.compared(model, x.astype("float32"), labels)
    found = {(row["metric"], row["head"]): row for row in rows}
    for metric in ("eer", "auc", "recall_at_1", "map_at_r"):
        sim, cosine, less = (found[metric, head] for head in ("sim", "cosine", "sim less cosine"))
        low, high = less["ci95"]
        assert less["value"] == pytest.approx(sim["value"] - cosine["value"])
        assert low < less["value"] < high


def test_a_similarity_that_is_the_cosine_differs_from_it_on_no_image(rng, monkeypatch):
    monkeypatch.setattr(tasks, "PROBES", 100)
    model = types.SimpleNamespace(similarity=lambda a, b: normalize(a) @ normalize(b).T)
    rows = tasks.compared(model, rng.normal(size=(400, FEATURES)), rng.integers(4, size=400))
    less = [row for row in rows if row["head"] == "sim less cosine"]
    assert len(less) == 4
    for row in less:
        assert [row["value"], row["stderr"], *row["ci95"]] == pytest.approx([0] * 4, abs=1e-9)


def test_too_few_images_to_compare_are_refused(model, rng, monkeypatch):
    monkeypatch.setattr(tasks, "PROBES", 100)
    x = rng.normal(size=(100, 1, FEATURES, 1)).astype("float32")
    with pytest.raises(ValueError, match="100 images with the other.*Give more than 100"):
        tasks.known_classes(model, x, rng.integers(CLASSES, size=100))
