"""Bootstrap intervals that draw people."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.evaluation import _bootstrap, equal_error_rate, verification
from keras_dml.evaluation._equal_error_rate import crossing, crossing_threshold
from tests.goldens import golden


def matrix(people=24, seed=1, shift=1.6):
    """Scores of all probes against all claims, their kind, and the people of both."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(people, people)) - shift * np.eye(people)
    return scores, np.eye(people, dtype=bool), (np.arange(people)[:, None], np.arange(people))


def test_a_trial_counts_as_often_as_its_people_were_drawn():
    example = golden("bootstrap-weights-of-identities", "seeds_p2")
    enroll, test, multiplicities = map(np.array, example["inputs"].values())
    weights = _bootstrap.trial_weights(enroll == test, (enroll, test), multiplicities)
    np.testing.assert_array_equal(weights, example["expected"]["weights"])


def test_a_weighted_replicate_of_similarities_has_the_golden_rate_and_threshold():
    """Similarities enter with the kinds exchanged, since accepting s > t is rejecting s <= t."""
    example = golden("eer-weighted-trials", "seeds_p2")
    scores, genuine, weights = map(np.array, example["inputs"].values())
    order = np.argsort(scores)
    assert (np.diff(scores[order]) > 0).all()
    imposter = ~genuine[order].astype(bool)
    every = np.arange(scores.size)
    far, tar = _bootstrap._weighted_curves(weights[None, order].astype(float), imposter, every)
    rate, index = crossing(far, tar)
    assert rate[0] == pytest.approx(example["expected"]["eer"], rel=1e-9)
    thresholds = np.concatenate([[-np.inf], scores[order]])
    found = crossing_threshold(thresholds, far[0], tar[0], index[0])
    assert found == pytest.approx(example["expected"]["threshold"], rel=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 3)), min_size=4).filter(
        lambda rows: len({kind for _, kind, weight in rows if weight}) == 2
    )
)
def test_a_weighted_replicate_is_the_trials_repeated_so_often(rows):
    scores, genuine, weights = (np.array(column) for column in zip(*rows, strict=True))
    order = np.argsort(scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    curves = _bootstrap._weighted_curves(weights[None, order].astype(float), genuine[order], ends)
    auc, eer, tar = _bootstrap._figures(*curves, (0.25,))[0]
    repeated = verification(np.repeat(scores, weights), np.repeat(genuine, weights))
    assert auc == pytest.approx(repeated.auc, abs=1e-12)
    assert eer == pytest.approx(repeated.eer, abs=1e-12)
    assert tar == pytest.approx(repeated.roc.tar[repeated.roc.far <= 0.25 + 1e-12].max())


@pytest.mark.parametrize("by_people", [True, False])
def test_intervals_hold_the_estimate_and_repeat_with_the_seed(by_people):
    scores, genuine, people = matrix()
    people = people if by_people else None
    first = verification(scores, genuine, people=people, bootstrap=200, seed=4)
    again = verification(scores, genuine, people=people, bootstrap=200, seed=4)
    other = verification(scores, genuine, people=people, bootstrap=200, seed=5)
    assert first.intervals == again.intervals != other.intervals
    for name in ("auc", "eer"):
        low, high = first.intervals[name]
        assert low < getattr(first, name) < high


def test_trials_said_over_again_do_not_narrow_the_interval_of_people():
    scores, genuine, people = matrix()
    often = [np.tile(array, (4, 1, 1)) for array in (scores, genuine)]
    once = verification(scores, genuine, people=people, bootstrap=300).intervals["auc"]
    again = verification(*often, people=people, bootstrap=300).intervals["auc"]
    by_trial = verification(*often, bootstrap=300).intervals["auc"]
    np.testing.assert_allclose(again, once, rtol=0, atol=1e-12)
    assert np.ptp(by_trial) < 0.7 * np.ptp(once)


def test_replicates_without_both_kinds_are_drawn_again():
    scores, genuine, people = matrix(people=2, shift=9.0)
    found = verification(scores, genuine, people=people, bootstrap=100)
    assert found.intervals["eer"] == (0.0, 1.0)  # of two people the rule of three says nothing


def test_without_any_error_the_far_end_is_that_of_the_rule_of_three():
    scores, genuine, people = matrix(shift=99)
    found = verification(scores, genuine, people=people, bootstrap=20).intervals
    assert found["eer"] == (0.0, 3 / 24)
    assert found["auc"] == found["tar_at_far_0.01"] == (1 - 3 / 24, 1.0)
    by_trial = verification(np.tile(scores, (4, 1)), np.tile(genuine, (4, 1)), bootstrap=20)
    assert by_trial.intervals["eer"] == (0.0, 3 / 96)


def test_memory_at_once_does_not_change_the_replicates(monkeypatch):
    scores, genuine, people = matrix()
    whole = verification(scores, genuine, people=people, bootstrap=50)
    monkeypatch.setattr(_bootstrap, "VALUES_AT_ONCE", 7 * scores.size)
    chunked = verification(scores, genuine, people=people, bootstrap=50)
    assert chunked.intervals == whole.intervals


def test_no_bootstrap_no_intervals():
    scores, genuine, _ = matrix()
    assert verification(scores, genuine).intervals == {}


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    truth = equal_error_rate(*matrix(people=1500, seed=99)[:2]).rate
    covered = 0
    for seed in range(40):
        scores, genuine, people = matrix(people=40, seed=seed)
        low, high = verification(scores, genuine, people=people, bootstrap=150).intervals["eer"]
        covered += low <= truth <= high
    assert covered >= 33  # of 40 at 95 %: 33 or fewer has a chance below 1 %
