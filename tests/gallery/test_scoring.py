"""Tests that a gallery decides by its scoring, and that the scoring cannot be changed."""

import importlib.util
import json

import numpy as np
import pytest

from keras_dml import Gallery, export, layers, scoring
from keras_dml._backend import keras
from keras_dml.gallery import web
from keras_dml.gallery.calibration import everybodys_claims, provisional
from keras_dml.gallery.device import export_tflite
from keras_dml.geometry import two_covariance
from keras_dml.training.two_covariance import two_covariance_model

NAMES = tuple(scoring.SCORINGS)
PEOPLE, COUNT, STEPS = 6, 4, 6


def walks(seed, people=PEOPLE, count=COUNT, steps=STEPS):
    """Draws recordings whose mean over time differs between people. The first people are the same
    for all seeds."""
    rng = np.random.default_rng(seed)
    centers = 6 * np.random.default_rng(7).normal(size=(40, 1, 1, 3))[:people]
    shape = (people, count, steps, 3)
    return (centers + rng.normal(size=(people, count, 1, 3)) + rng.normal(size=shape)).astype("f")


@pytest.fixture(scope="module")
def model():
    signal = keras.Input((None, 3), name="signal")
    vectors = keras.Model(signal, layers.SequencePooling("mean")(signal), name="means")
    recordings = np.concatenate(walks(1, people=40))
    return two_covariance_model(vectors, recordings, np.repeat(np.arange(40), COUNT))


@pytest.fixture
def open_gallery(model, tmp_path):
    """Returns a function that opens a gallery with a scoring and enrolls the people in it."""

    def gallery_of(name, **options):
        gallery = Gallery(tmp_path / f"{name}.db", model, scoring=name, **options)
        for person, recordings in enumerate(walks(2)):
            gallery.enroll(f"person {person}", list(recordings))
        return gallery

    return gallery_of


@pytest.mark.parametrize("name", NAMES)
def test_decisions_use_the_scoring_of_the_gallery(open_gallery, name):
    probes = list(walks(3)[2][:2])
    with open_gallery(name) as gallery:
        decision = gallery.verify("person 2", probes, threshold=1e9)
        answer = gallery.identify(probes, top=PEOPLE, threshold=1e9)
        embed, rule = gallery._model.embed, scoring.get(name)
        enrolled = np.concatenate([embed(list(recordings)) for recordings in walks(2)])
        expected = rule.scores(gallery._model, embed(probes), enrolled, np.full(PEOPLE, COUNT))
    assert decision.score == pytest.approx(expected[2], rel=1e-4)
    assert answer.person == "person 2"
    scores = {candidate.person: candidate.score for candidate in answer.candidates}
    assert len(scores) == PEOPLE
    for person, score in enumerate(expected):
        assert scores[f"person {person}"] == pytest.approx(score, rel=1e-4)


class Compared:
    """Compares embeddings of the two-covariance model with NumPy."""

    distance_name, has_mean = "two_covariance", True

    def distances(self, x, y):
        variances = x[0, 1].astype(float)
        return -two_covariance.log_likelihood_ratio(x[:, None, 0], y[None, :, 0], variances)

    def mean_points(self, embeddings):
        return embeddings.astype(float)

    def from_mean_point(self, point):
        return point


@pytest.mark.parametrize("sessions", [None, [0, 0, 1, 1, 0, 0, 0, 2, 2, 1, 0]])
@pytest.mark.parametrize("name", NAMES)
def test_claims_compare_each_recording_with_the_other_recordings(rng, name, sessions):
    """Tests the scores of all claims against a slow loop."""
    people = np.array([*"bbbbaaccccd"])
    z = np.stack([rng.normal(size=(11, 3)), np.full((11, 3), 4.0)], axis=1)
    model, rule = Compared(), scoring.get(name)
    scores, probes, claims = everybodys_claims(model, rule, z, people, sessions)
    expected = []
    days = np.zeros(11) if sessions is None else np.array(sessions)
    for i, person in enumerate(people):
        for claimed in "abcd":
            rows = (people == claimed) & (np.arange(11) != i)
            if claimed == person and len({*days[people == person]}) > 1:
                rows &= days != days[i]
            rows = np.flatnonzero(rows)
            if len(rows):
                score = rule.scores(model, z[i : i + 1], z[rows], [len(rows)])[0]
                expected.append((person, claimed, score))
    assert [*zip(probes, claims, strict=True)] == [row[:2] for row in expected]
    np.testing.assert_allclose(scores, [row[2] for row in expected], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_calibrated_threshold_belongs_to_the_scoring(open_gallery, name):
    recordings, people = walks(4, people=20), np.repeat(np.arange(20), COUNT).astype(str)
    with open_gallery(name) as gallery:
        threshold = gallery.calibrate(list(np.concatenate(recordings)), people, far=0.1)
        z, rule = gallery._model.embed(list(np.concatenate(recordings))), scoring.get(name)
        scores, probes, claims = everybodys_claims(gallery._model, rule, z, people)
    assert np.mean(scores[probes != claims] <= threshold.value) <= 0.1
    assert threshold.tar == pytest.approx(np.mean(scores[probes == claims] <= threshold.value))


@pytest.mark.parametrize("name", NAMES)
def test_listening_scores_each_window(open_gallery, name):
    people = np.repeat(np.arange(PEOPLE), COUNT).astype(str)
    recordings = list(np.concatenate(walks(4, steps=2 * STEPS)))
    with open_gallery(name) as gallery:
        gallery.calibrate_listening(recordings, people, far=0.3, window=STEPS)
        recording = walks(5, steps=2 * STEPS)[1, 0]
        heard = gallery.listen("person 1").add(recording[:STEPS])
        expected = gallery.verify("person 1", [recording[:STEPS]], threshold=1e9).score
    assert heard.score == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_removed_recording_leaves_no_trace_in_the_scores(open_gallery, name, model, tmp_path):
    probe, signals = list(walks(3)[0][:1]), walks(2)
    with Gallery(tmp_path / "fewer.db", model, scoring=name) as fewer:
        fewer.enroll("person 0", list(signals[0][1:]))
        expected = fewer.verify("person 0", probe, threshold=1e9).score
    with open_gallery(name) as gallery:
        before = gallery.verify("person 0", probe, threshold=1e9).score
        gallery.forget("person 0", gallery.recordings("person 0")[0])
        after = gallery.verify("person 0", probe, threshold=1e9).score
    assert after == expected and before != pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["mean", "two_covariance"])
def test_recordings_of_other_people_are_not_enrolled(open_gallery, name):
    people = np.repeat(np.arange(20), COUNT).astype(str)
    with open_gallery(name) as gallery:
        gallery.calibrate(list(np.concatenate(walks(4, people=20))), people, far=0.1)
        genuine, imposter = walks(5)[0, 0], walks(5)[3, 0]
        added = gallery.enroll("person 0", [genuine, imposter])
        assert added.kept == (0,) and "exceeds the threshold" in str(added.refused[1])
        new = gallery.enroll("person 9", [*walks(6)[1], walks(6)[2, 0]])
        assert new.kept == (0, 1, 2, 3) and [*new.refused] == [4]


@pytest.mark.parametrize("name", ["mean", "two_covariance"])
def test_a_stored_imposter_recording_denies_by_the_nearest_distance(open_gallery, name):
    probe = walks(3)[0, 0]
    with open_gallery(name) as gallery:
        gallery.reject("person 0", [probe + np.float32(1e-3)])
        decision = gallery.verify("person 0", [probe], threshold=1e9)
        assert decision.denied and not decision.accepted
        assert gallery.verify("person 1", [probe], threshold=1e9).accepted


def test_the_scoring_of_a_gallery_is_stored(open_gallery, model, tmp_path):
    with open_gallery("mean") as gallery:
        assert gallery.scoring == gallery.info().scoring == "mean"
    with Gallery(tmp_path / "mean.db", model) as gallery:
        assert gallery.scoring == "mean"
    with pytest.raises(ValueError, match="'nearest', but .*mean.db was made for .*'mean'"):
        Gallery(tmp_path / "mean.db", model, scoring="nearest")


def test_the_scoring_of_a_new_gallery_is_the_scoring_of_the_card(open_gallery, model, monkeypatch):
    card = {"scoring": {"name": "two_covariance"}}
    monkeypatch.setattr("keras_dml.gallery.keras_model.KerasModel.card", card)
    with open_gallery(None) as gallery:
        assert gallery.scoring == "two_covariance"


def test_a_model_that_cannot_be_scored_is_refused_and_no_file_is_left(model, tmp_path):
    signal, path = keras.Input((None, 3)), tmp_path / "new.db"
    other = keras.Model(signal, layers.QuantileLayer(3)(signal))
    with pytest.raises(ValueError, match="'two_covariance' needs a model whose distance"):
        Gallery(path, other, scoring="two_covariance")
    with pytest.raises(ValueError, match="Unknown scoring 'plda'"):
        Gallery(path, model, scoring="plda")
    assert not path.exists()


def test_thresholds_of_a_card_count_for_their_scoring_only():
    row = dict(value=1.0, far_ci95=[0, 1], tar=1.0, tar_ci95=[0, 1], people=9, trials=9, enrolled=1)
    card = {
        "thresholds": [{"far": 0.1, **row}, {"far": 0.01, "scoring": "mean", **row}],
        "imposters": {"mean": 3.0, "stddev": 1.0},
    }
    assert [*provisional(scoring.card_for(card, "nearest"))] == [0.1]
    assert [*provisional(scoring.card_for(card, "mean"))] == [0.01]
    assert "imposters" in scoring.card_for(card, "nearest") and "imposters" not in scoring.card_for(
        card, "mean"
    )
    assert scoring.card_for(None, "mean") is None


@pytest.mark.slow
def test_a_device_makes_the_decisions_of_keras(open_gallery, model, tmp_path):
    from keras_dml import edge

    file = export.tflite(model, tmp_path / "model.tflite", None).path
    probes = list(walks(3)[2][:2])
    for name in NAMES:
        with open_gallery(name) as gallery:
            expected = gallery.identify(probes, top=PEOPLE)
        with edge.Gallery(tmp_path / f"{name}.db", str(file)) as gallery:
            assert gallery.scoring == name
            answer = gallery.identify(probes, top=PEOPLE)
        people = [[candidate.person for candidate in x.candidates] for x in (answer, expected)]
        assert people[0] == people[1]
        scores = [[candidate.score for candidate in x.candidates] for x in (answer, expected)]
        np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_folder_for_a_device_has_the_scoring(open_gallery, tmp_path, name):
    people = np.repeat(np.arange(20), COUNT).astype(str)
    probes = list(walks(3)[2][:2])
    with open_gallery(name) as gallery:
        gallery.calibrate(list(np.concatenate(walks(4, people=20))), people, far=0.1)
        export_tflite(gallery, tmp_path / "device", None)
        expected = gallery.identify(probes, top=PEOPLE)
    spec = importlib.util.spec_from_file_location("decide", tmp_path / "device" / "decide.py")
    decide = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(decide)
    device = decide.Gallery(tmp_path / "device")
    actual, allowed = device.scores(*probes), {"rtol": 1e-4, "atol": 1e-4}
    for candidate in expected.candidates:
        np.testing.assert_allclose(actual[candidate.person], candidate.score, **allowed)
    assert device.identify(*probes) == expected.person == "person 2"
    about = json.loads((tmp_path / "device" / "gallery.json").read_text())
    assert about["scoring"] == name


@pytest.mark.parametrize("name", ["mean", "two_covariance"])
def test_a_web_page_refuses_scorings_that_it_cannot_compute(open_gallery, name):
    with open_gallery(name) as gallery, pytest.raises(ValueError, match=f"scoring {name!r}, but"):
        web._Source(gallery, None, None)


@pytest.mark.parametrize("name", ["mean", "two_covariance"])
def test_recordings_are_kept_only_with_the_scoring_nearest(model, tmp_path, name):
    with Gallery(tmp_path / "family.db", model, scoring=name, key=bytes(32)) as gallery:
        for inbox in (gallery.proposals, gallery.strangers):
            with pytest.raises(ValueError, match=f"{name!r}.*'nearest'"):
                inbox.keep(7)
            assert inbox.days is None
            inbox.keep(None)
