"""Tests the accuracy and the AUC that the export scripts measure for a file."""

import sys
import types

import numpy as np
import pytest

from export import judges, quality, report, saved_model, tflite
from keras_dml import distances, export, models, zoo
from keras_dml._backend import keras
from keras_dml.training import measure, publish
from keras_dml.training.trials import from_pairs
from keras_dml.zoo import lookup
from tests.zoo.cards import CARD, IMAGES

LEARNED = {"shape": [6], "distance": "learned_similarity", "symmetry": "none"}


@pytest.fixture(scope="module")
def file(classifier, tmp_path_factory):
    path = tmp_path_factory.mktemp("judge") / "model.tflite"
    return export.tflite(classifier, path, None).path


@pytest.fixture
def measured(images):
    x, y = images
    return quality.Recordings(list(x), y, np.arange(len(y)))


@pytest.fixture
def recipe(images, monkeypatch, tmp_path):
    """Adds a recipe for a model `pictures`, and makes the examples of the recipe available."""
    made = types.ModuleType("zoo.pictures.train")
    made.examples = lambda split: images if split == "test" else (images[0][:6], images[1][:6])
    monkeypatch.setitem(sys.modules, "zoo.pictures.train", made)
    monkeypatch.setattr(quality.recordings, "data_dir", lambda: tmp_path)


def test_metric_comes_from_the_figures_of_the_card():
    assert quality.metric_name(IMAGES) == "accuracy"
    assert quality.metric_name(CARD) == "auc"


def test_accuracy_is_the_share_of_right_classes(measured):
    scores = np.eye(3)[measured.people]
    assert quality.accuracy(scores, measured) == 1
    scores[:12] = scores[:12, ::-1]  # the scores of the middle class stay the same
    assert quality.accuracy(scores, measured) == pytest.approx(1 - 8 / 48)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "auc"])
def test_a_float_file_has_the_figure_of_its_model(classifier, file, measured, metric):
    by_keras = quality.by_keras(classifier, measured, metric)
    assert quality.by_file(file, classifier, measured, metric) == pytest.approx(by_keras, abs=1e-4)
    assert by_keras > 0.6  # ten steps taught it something


def test_file_of_matrices_is_measured_by_the_device_distance():
    matrices = models.spdnet((5, 3), output="spd")
    assert isinstance(quality.device_distance(matrices), distances.LogEuclidean)
    assert quality.device_distance(models.spdnet((5, 3), output="tangent")) is None


def test_vectors_of_matrices_are_compared_by_their_distance(monkeypatch, rng):
    """Tests a model that takes matrices and returns vectors, which are compared by their angles."""
    directions = rng.standard_normal((2, 6))
    lengths = rng.permutation(np.geomspace(0.01, 100, 12))[:, None]
    z = lengths * (np.repeat(directions, 6, axis=0) + 0.01 * rng.standard_normal((12, 6)))
    model = models.spdnet((5, 3), output="tangent")
    model.distance = "cosine"
    measured = quality.Recordings(list(z), np.repeat(["a", "b"], 6), np.arange(12))
    monkeypatch.setattr(quality.litert, "embed", lambda file, signals: np.stack(signals))
    assert quality.by_file(None, model, measured, "auc") == 1
    assert quality.auc(distances.Euclidean(), z, measured) < 0.9


def test_examples_come_from_the_models_recipe(recipe, monkeypatch):
    card = {**IMAGES, "embedding": LEARNED}
    monkeypatch.setattr(quality, "MAX_EXAMPLES", 12)
    actual = quality.test_recordings(card)
    np.testing.assert_array_equal(np.bincount(actual.people), [4, 4, 4])
    assert actual.signals[0].shape == (8, 8, 1)
    assert len(quality.calibrating(card)) == 6
    monkeypatch.setattr(quality.recordings, "data_dir", lambda: None)
    assert quality.test_recordings(card) is None and quality.calibrating(card) is None


@pytest.mark.slow
def test_the_scripts_write_the_change_in_accuracy_into_the_card(
    classifier, images, recipe, monkeypatch, tmp_path
):
    publish(tmp_path / "zoo" / "pictures", classifier, IMAGES, list(images[0][:1]))
    monkeypatch.setenv("KERAS_DML_ZOO", str(tmp_path / "zoo"))
    monkeypatch.setattr(lookup, "_PACKAGE", tmp_path / "elsewhere")
    rows = tflite.export_model("pictures", tmp_path, ["dynamic"])
    rows.append(saved_model.export_model("pictures", tmp_path))
    report.write_cards(rows)
    exports = zoo.card("pictures")["exports"]
    assert [(item["format"], item["quantization"]) for item in exports] == [
        ("tflite", "dynamic"),
        ("saved_model", None),
    ]
    assert all(abs(item["accuracy_change"]) <= 0.05 for item in exports)
    assert exports[1]["accuracy_change"] == 0


@pytest.fixture
def folds(monkeypatch, tmp_path, rng):
    """Adds a cross-validation of a model `tiny` with two networks.

    Each network is measured on other matrices.
    """
    keras.utils.set_random_seed(4)
    networks = [models.spdnet((5, 3), output="spd") for _ in range(2)]
    factors = rng.standard_normal((2, 16, 5, 5)).astype(np.float32)
    matrices = factors @ factors.transpose(0, 1, 3, 2) + np.eye(5, dtype=np.float32)
    people = np.repeat(["a", "b"], 8)
    rows = np.triu_indices(16, k=1)

    def over_folds(between):
        tables = [first(list(matrix)) for first, matrix in zip(between, matrices, strict=True)]
        scores = np.concatenate([table[rows] for table in tables])
        stacked = [np.concatenate([first, first + 16]) for first in rows]
        return measure.Measurement([], from_pairs(scores, *stacked, np.tile(people, 2)))

    made = types.ModuleType("zoo.tiny.evidence")
    made.over_folds = over_folds
    monkeypatch.setitem(sys.modules, "zoo.tiny.evidence", made)
    trained = judges.evidence.Trained(networks[0], networks)
    monkeypatch.setattr(judges.evidence, "published", lambda name: trained)
    monkeypatch.setattr(quality.recordings, "data_dir", lambda: tmp_path)
    return networks


@pytest.mark.slow
def test_model_trained_on_everybody_is_measured_by_its_cross_validation(folds):
    card = {**CARD, "data": {**CARD["data"], "test_subjects": []}}
    judge = judges.judge_of(folds[0], card)
    assert isinstance(judge, judges.FoldsJudge)
    by_keras = judge.by_keras(quality.device_distance(folds[0]))
    assert judge.by_file(None, None) == pytest.approx(by_keras, abs=1e-6)
    assert judge.by_keras() != by_keras  # the affine-invariant distance orders pairs otherwise
