"""Tests the entries of a model card that are written when a model is published or measured."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import typer
from scipy.linalg import logm
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance
from typer.testing import CliRunner

from keras_dml import inference, models
from keras_dml._backend import keras
from keras_dml.training import People, measure, pooled
from keras_dml.training.answers import Answers
from keras_dml.training.trials import against_gallery
from zoo import baselines, classifiers, evidence, image_evidence, patches, voice_evidence
from zoo import measure as command
from zoo.images import Drawings
from zoo.omniglot_proto_sim import evidence as omniglot

ABOUT = {"headline": {"trials": "all of them", "repeats": "days"}, "data": {"test_subjects": ["a"]}}


@pytest.fixture
def measured(rng):
    names = np.repeat(list("abcdefghijkl"), 2)
    distances = rng.normal(size=(24, 24)) + 2 * (names[:, None] != names)
    return measure.Measurement([], against_gallery(distances, names, names))


def test_a_card_has_words_headline_baselines_and_thresholds(measured):
    others = {"noise": ("random", pooled.NO_NETWORK, np.sin(9 * measured.trials.scores))}
    found = evidence.Evidence(measured, lambda: others).card(ABOUT)
    assert found["headline"] == {**ABOUT["headline"], **measured.headline}
    assert [one["name"] for one in found["baselines"]] == ["noise"]
    assert found["thresholds"] == pooled.thresholds(measured.trials)


def test_a_card_names_its_scoring_and_the_rival_scorings(measured):
    rivals = {"mean": ("another scoring", pooled.SAME_MODEL, np.sin(measured.trials.scores))}
    scoring = evidence.ChosenScoring("two_covariance", "Chosen on others.", lambda: rivals)
    card = evidence.Evidence(measured, scoring=scoring, fars=(0.1,)).card(ABOUT)
    assert card["scoring"]["name"] == "two_covariance"
    assert [row["name"] for row in card["scoring"]["rivals"]] == ["mean"]
    assert [(row["far"], row["scoring"]) for row in card["thresholds"]] == [(0.1, "two_covariance")]
    assert "log likelihood ratio" in card["thresholds"][0]["score"]


def test_a_file_that_has_seen_everybody_has_no_thresholds(measured):
    found = evidence.Evidence(measured).card({"data": {"test_subjects": []}})
    assert found["thresholds"] == [] and found["headline"]["repeats"] == pooled.BLOCKS


def test_thresholds_of_folds_are_carried_over_to_the_distances_of_the_published_file(measured):
    """Tests thresholds that are converted to the distance unit 4 and the smallest distance -1.

    The false and true accept rates must stay the same as in the folds of the cross-validation.
    """
    found = evidence.Evidence(measured, unit=lambda: (4.0, 1.0)).card(ABOUT)
    in_file = dataclasses.replace(measured.trials, scores=4 * measured.trials.scores - 1)
    for row, expected in zip(found["thresholds"], pooled.thresholds(in_file), strict=True):
        assert row.pop("carried") and row.pop("value") == pytest.approx(expected.pop("value"))
        assert row == expected
    assert found["imposters"] == pytest.approx(pooled.imposter_statistics(in_file))


@pytest.mark.parametrize(("distance", "offset"), [("cosine", 1.0), ("euclidean", 0.0)])
def test_the_unit_of_a_file_is_the_median_distance_between_two_people(rng, distance, offset):
    signals = [rng.normal(size=(5, 2)).astype(np.float32) for _ in range(6)]
    people = People(signals, list("aabbcc"), [1, 2] * 3)
    means = np.array([signal.mean(axis=0) for signal in signals])
    pooling = keras.layers.GlobalAveragePooling1D()
    model = keras.Sequential([keras.Input((None, 2)), pooling])
    model.distance = distance
    between = cdist(means, means, distance)
    apart = np.array(people.subjects)[:, None] != np.array(people.subjects)
    unit = evidence.unit_of(model, people)
    assert unit == (pytest.approx(np.median(between[apart]), rel=1e-5), offset)


def test_answers_on_images_have_no_thresholds():
    found = evidence.Evidence(Answers(np.ones(9, bool))).card(ABOUT)
    assert "thresholds" not in found and found["headline"]["images"] == 9


@pytest.mark.slow
def test_models_of_folds_are_kept_in_their_order_and_replace_others(tmp_path, monkeypatch):
    folds = [models.sequence_encoder(3, size="edge", knots=4, halvings=0) for _ in range(2)]
    monkeypatch.setattr(evidence, "ZOO", tmp_path)
    monkeypatch.setattr(evidence.zoo, "load", keras.saving.load_model)
    (tmp_path / "some").mkdir()
    named = {f"fold_{i}": fold for i, fold in enumerate(folds, start=1)}
    evidence.save_beside(tmp_path / "some", "folds", {**named, "fold_3": folds[0]})
    evidence.save_beside(tmp_path / "some", "folds", named)
    paths = sorted((tmp_path / "some" / "folds").iterdir())
    assert [path.name for path in paths] == ["fold_1.keras", "fold_2.keras"]
    for path, fold in zip(paths, folds, strict=True):
        kept = keras.saving.load_model(path).get_weights()
        for one, other in zip(kept, fold.get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_controls_of_a_published_model_are_known_by_their_names(tmp_path, monkeypatch):
    image = keras.Input((4, 4, 1))
    control = keras.Model(image, keras.layers.Dense(3)(keras.layers.Flatten()(image)))
    monkeypatch.setattr(evidence, "ZOO", tmp_path)
    monkeypatch.setattr(evidence.zoo, "load", lambda path: str(path))
    assert evidence.published("some").controls == {}
    evidence.save_beside(tmp_path / "some", evidence.CONTROLS, {"softmax": control})
    found = evidence.published("some")
    assert found.folds == [] and list(found.controls) == ["softmax"]
    assert found.controls["softmax"].endswith("controls/softmax.keras")


def test_a_control_stands_on_the_card_as_what_one_would_take_instead(rng):
    x = rng.random((40, 4, 4, 1)).astype("float32")
    y = np.arange(40) % 2
    image = keras.Input((4, 4, 1))
    encoder = keras.Model(image, keras.layers.Flatten()(image))
    model = models.PrototypicalClassifier(encoder, 2, hidden=(4,))
    model.refit_prototypes(x, y)
    control = classifiers.logits(classifiers.softmax(encoder, 2, 5))
    trained = evidence.Trained(model, controls={"softmax": control})
    found = image_evidence.of_classifier(lambda split: (x, y), trained).card(ABOUT)
    kinds = {one["name"]: one["kind"] for one in found["baselines"]}
    assert kinds["softmax"] == pooled.INSTEAD and kinds["cosine"] == pooled.SAME_MODEL
    said = next(one for one in found["baselines"] if one["name"] == "softmax")
    named = np.argmax(control(x), axis=1) == y
    assert said["rows"][0]["value"] == pytest.approx(named.mean())


def test_stripes_are_named_by_their_direction_without_a_network(rng, monkeypatch):
    monkeypatch.setattr(patches, "PATCHES", 20)
    waves = np.sin(np.arange(16)[None] * 1.3 + rng.uniform(0, 6, (80, 1)))
    lying = np.broadcast_to(waves[:, :, None, None], (80, 16, 16, 3))
    labels = np.arange(80) % 2
    images = np.where(labels[:, None, None, None], lying, lying.transpose(0, 2, 1, 3))
    images = np.clip(0.5 + 0.3 * images + rng.normal(scale=0.05, size=images.shape), 0, 1)
    found = patches.classify(images[:60], labels[:60], images[60:])
    assert np.mean(found == labels[60:]) > 0.9


def test_voices_are_confounded_within_a_sex_and_within_each_set():
    actors, callers = ["01", "02"], ["F1298697715", "M1298636292"]
    groups = voice_evidence.confounders([*actors, *callers])
    sexes = groups.pop("people of the same sex")
    assert sexes["02"] == sexes["F1298697715"] != sexes["01"]
    held = [[name for name, mark in group.items() if mark is not None] for group in groups.values()]
    assert held == [actors, callers]
    assert list(voice_evidence.confounders(callers)) == ["people of the same sex"]


def test_closed_forms_of_voices_are_about_the_mean_of_those_that_teach(rng):
    names = np.repeat([f"voice {i}" for i in range(8)], 4)
    own = rng.normal(size=(8, 9))
    known = np.repeat(own, 4, axis=0) + rng.normal(scale=0.3, size=(32, 9))
    asked, rows = rng.normal(size=(6, 9)), np.triu_indices(6, 1)
    here, moved = (
        voice_evidence.closed_forms(known + shift, names, asked + shift, rows) for shift in (0, 9)
    )
    assert {kind for _, kind, _ in here.values()} == {pooled.NO_NETWORK}
    plain, *about_the_mean = here
    assert np.abs(here[plain][2] - moved[plain][2]).max() > 0.1
    assert about_the_mean == ["centered log covariance", "linear discriminants"]
    for name in about_the_mean:
        np.testing.assert_allclose(here[name][2], moved[name][2], rtol=0, atol=1e-9)


def test_the_command_rewrites_card_and_page_and_not_the_file(
    tiny_zoo, measured, tmp_path, monkeypatch
):
    folder = tmp_path / "tiny"
    shutil.copytree(tiny_zoo / "tiny", folder)
    file = (folder / "model.keras").read_bytes()
    others = {"noise": ("random numbers", "no network", np.sin(9 * measured.trials.scores))}
    found = evidence.Evidence(measured, lambda: others)
    monkeypatch.setattr(evidence, "ZOO", tmp_path)
    monkeypatch.setattr(evidence, "of_published", lambda _: found)
    monkeypatch.setattr(command.recipe, "about_model", lambda _: ABOUT)
    app = typer.Typer()
    app.command()(command.main)
    done = CliRunner().invoke(app, ["tiny"])
    assert done.exit_code == 0 and "noise: auc" in done.output, done.output
    card = json.loads((folder / "card.json").read_text())
    assert card["headline"]["rows"] == measured.headline["rows"]
    assert card["thresholds"][0]["people"] == 12
    assert "| noise (no network): random numbers |" in (folder / "README.md").read_text()
    assert (folder / "model.keras").read_bytes() == file


def test_the_log_euclidean_distance_is_that_of_the_covariances_that_a_network_begins_with(rng):
    model = models.spdnet((4, 3), output="spd", estimator="oas", normalization="difference")
    signals = [rng.normal(size=(steps, 4)).cumsum(axis=0) for steps in (60, 80, 90)]
    found = baselines.log_euclidean(model, signals)
    covariance = keras.Model(model.input, model.get_layer("covariance").output)
    logs = [logm(one) for one in inference.embed(covariance, signals).astype(float)]
    expected = [[np.linalg.norm(a - b) for b in logs] for a in logs]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_the_quantile_baseline_is_the_wasserstein_distance_of_scipy(rng):
    signals = [rng.gamma(shape, 1, (400, 2)) for shape in (2, 3, 5)]
    low, middle, high = np.quantile(np.concatenate(signals), (0.25, 0.5, 0.75), axis=0)
    bounded = np.tanh((np.stack(signals) - middle) / (high - low) * 1.349)
    expected = [[sum(map(wasserstein_distance, x.T, y.T)) for y in bounded] for x in bounded]
    actual = baselines.quantile_distances(signals, signals)
    # The quantile functions are linear between 18 levels, and SciPy compares step functions.
    np.testing.assert_allclose(actual, expected, rtol=0.05, atol=0.01)


def test_images_are_shrunk_by_means_over_blocks():
    image = np.arange(16.0).reshape(1, 4, 4, 1)
    np.testing.assert_array_equal(image_evidence.pixels(image, 2), [[2.5, 4.5, 10.5, 12.5]])
    assert image_evidence.pixels(image).shape == (1, 16)


def test_a_task_has_characters_of_one_alphabet_by_two_hands_each():
    labels = np.repeat(np.arange(50), 3)
    alphabets = np.where(labels < 25, "first", "second")
    shown, asked, names = omniglot.tasks(Drawings(None, labels, alphabets, None))
    assert shown.shape == (10, 20) and names.tolist() == ["first"] * 5 + ["second"] * 5
    np.testing.assert_array_equal(labels[shown], labels[asked])
    assert (shown != asked).all() and (alphabets[shown] == names[:, None]).all()
    assert all(len(set(row)) == 20 for row in labels[shown].tolist())
    right = omniglot.answers(lambda a, b: np.equal.outer(labels[a], labels[b]), shown, asked)
    assert right.shape == (200,) and right.all()
