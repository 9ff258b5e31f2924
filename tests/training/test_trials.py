"""Tests that verification trials are computed correctly from distances between recordings."""

import numpy as np
import pytest

from keras_dml import models
from keras_dml.training import People, measure, trials

SUBJECTS, SESSIONS = ["a", "a", "a", "b", "b"], [0, 0, 1, 0, 2]


def test_every_probe_is_compared_with_everybodys_earlier_recordings(rng):
    table = rng.random((5, 5))
    found = trials.latest_against_earlier(table, SUBJECTS, SESSIONS)
    expected = [
        (min(table[probe, i] for i in earlier), SUBJECTS[probe], name, len(earlier), row)
        for row, probe in enumerate((2, 4))
        for name, earlier in {"a": (0, 1), "b": (3,)}.items()
    ]
    arrays = (found.scores, found.probes, found.claims, found.enrolled, found.recordings)
    for array, column in zip(arrays, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(array, column)
    np.testing.assert_array_equal(found.genuine, [True, False, False, True])


def test_a_models_trials_are_those_of_all_its_distances(rng):
    model = models.sequence_encoder(2, size="edge", knots=4, halvings=0)
    signals = [rng.normal(size=(12, 2)) for _ in SUBJECTS]
    found = trials.from_model(model, People(signals, SUBJECTS, SESSIONS))
    every = measure.pairwise_distances(model, signals)
    expected = trials.latest_against_earlier(every, SUBJECTS, SESSIONS)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)
    np.testing.assert_array_equal(found.probes, expected.probes)
    np.testing.assert_allclose(found.with_scores(every).scores, expected.scores, rtol=1e-5)


def test_another_method_is_scored_on_the_same_trials(rng):
    table, other = rng.random((2, 5, 5))
    found = trials.latest_against_earlier(table, SUBJECTS, SESSIONS)
    again = found.with_scores(other)
    expected = trials.latest_against_earlier(other, SUBJECTS, SESSIONS).scores
    np.testing.assert_array_equal(again.scores, expected)
    np.testing.assert_array_equal(again.claims, found.claims)
    np.testing.assert_array_equal(found.with_scores(expected).scores, expected)
    with pytest.raises(ValueError, match=r"shape \(3,\).*each of the 4 trials.*pair of recordings"):
        found.with_scores([1, 2, 3])


def test_trials_of_folds_have_no_recording_in_common(rng):
    fold = trials.latest_against_earlier(rng.random((5, 5)), SUBJECTS, SESSIONS)
    both = trials.concatenate([fold, fold])
    np.testing.assert_array_equal(both.recordings, [0, 0, 1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(both.scores, np.tile(fold.scores, 2))
    with pytest.raises(ValueError, match=r"shape \(5, 5\).*each of the 8 trials"):
        both.with_scores(np.zeros((5, 5)))


def test_a_pair_is_a_trial_of_one_recording_enrolled():
    found = trials.from_pairs([0.1, 0.2], [0, 0], [1, 2], ["a", "a", "b"])
    np.testing.assert_array_equal(found.genuine, [True, False])
    assert found.claims.tolist() == ["a", "b"] and found.enrolled.tolist() == [1, 1]
