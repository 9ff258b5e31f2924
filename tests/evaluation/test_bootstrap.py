"""Tests bootstrap intervals that draw people or give people random weights."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.evaluation import (
    _error_curves,
    _intervals,
    accept_rates,
    equal_error_rate,
    verification,
)
from keras_dml.evaluation._error_curves import crossing, crossing_threshold
from tests.goldens import golden


def matrix(people=24, seed=1, shift=1.6):
    """Draws the scores of all probes compared with all claimed people, whether the trials are
    genuine, and the people."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(people, people)) - shift * np.eye(people)
    return scores, np.eye(people, dtype=bool), (np.arange(people)[:, None], np.arange(people))


def test_a_trial_counts_as_often_as_its_people_were_drawn():
    example = golden("bootstrap-weights-of-identities", "seeds_p2")
    enroll, test, multiplicities = map(np.array, example["inputs"].values())
    weights = _intervals.trial_weights(enroll == test, (enroll, test), multiplicities)
    np.testing.assert_array_equal(weights, example["expected"]["weights"])


def test_a_weighted_replicate_of_similarities_has_the_golden_rate_and_threshold():
    """Tests a worked example that accepts similarities s > t. The library accepts small scores, so
    the test exchanges genuine and imposter trials.
    """
    example = golden("eer-weighted-trials", "seeds_p2")
    scores, genuine, weights = map(np.array, example["inputs"].values())
    order = np.argsort(scores)
    assert (np.diff(scores[order]) > 0).all()
    imposter = ~genuine[order].astype(bool)
    every = np.arange(scores.size)
    far, tar = _error_curves.weighted_curves(weights[None, order].astype(float), imposter, every)
    rate, index = crossing(far, tar)
    assert rate[0] == pytest.approx(example["expected"]["eer"], rel=1e-9)
    thresholds = np.concatenate([[-np.inf], scores[order]])
    found = crossing_threshold(thresholds, far[0], tar[0], index[0])
    assert found == pytest.approx(example["expected"]["threshold"], rel=1e-9)


@pytest.mark.filterwarnings("ignore:`scores` may be similarities:UserWarning")
@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 3)), min_size=4).filter(
        lambda rows: len({kind for _, kind, weight in rows if weight}) == 2
    )
)
def test_a_weighted_replicate_equals_repeated_trials(rows):
    scores, genuine, weights = (np.array(column) for column in zip(*rows, strict=True))
    order = np.argsort(scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    curves = _error_curves.weighted_curves(weights[None, order].astype(float), genuine[order], ends)
    auc, eer, tar = _intervals.curve_figures(*curves, (0.25,))[0]
    repeated = verification(np.repeat(scores, weights), np.repeat(genuine, weights))
    assert auc == pytest.approx(repeated.auc, abs=1e-12)
    assert eer == pytest.approx(repeated.eer, abs=1e-12)
    assert tar == pytest.approx(repeated.roc.tar[repeated.roc.far <= 0.25 + 1e-12].max())


@pytest.mark.parametrize("by_people", [True, False])
def test_intervals_contain_the_estimate_and_repeat_with_the_seed(by_people):
    scores, genuine, people = matrix()
    people = people if by_people else None
    first = verification(scores, genuine, people=people, bootstrap=200, seed=4)
    again = verification(scores, genuine, people=people, bootstrap=200, seed=4)
    other = verification(scores, genuine, people=people, bootstrap=200, seed=5)
    assert first.intervals == again.intervals != other.intervals
    for name in ("auc", "eer"):
        low, high = first.intervals[name]
        assert low < getattr(first, name) < high


def test_repeated_trials_do_not_narrow_the_interval_over_people():
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
    assert found.intervals["eer"][1] == pytest.approx(bound_without_errors(2), abs=0.1)


def bound_without_errors(count):
    """Returns the upper bound of the two-sided 95 % Clopper-Pearson interval for a sample without
    errors."""
    return scipy.stats.binomtest(0, count).proportion_ci(0.95, method="exact").high


def test_without_any_error_the_far_end_is_that_of_clopper_and_pearson():
    scores, genuine, people = matrix(shift=99)
    result = verification(scores, genuine, people=people, bootstrap=4000).intervals
    for name, end in (("eer", 0), ("auc", 1), ("tar_at_far_0.01", 1)):
        assert result[name][end] == end
        assert abs(end - result[name][1 - end]) == pytest.approx(bound_without_errors(24), abs=0.01)
    often = [np.tile(array, (4, 1)) for array in (scores, genuine)]
    by_trial = verification(*often, bootstrap=4000).intervals["eer"]
    assert by_trial == pytest.approx((0, bound_without_errors(96)), abs=0.004)


def slow_interval(scores, draws):
    """Computes the interval of the EER of a square matrix of scores by slow loops."""
    rng, size = np.random.default_rng(77), len(scores)
    ends = [], []
    for _ in range(draws):
        *weights, more = rng.dirichlet(np.ones(size + 1))
        for errs, rates in zip((False, True), ends, strict=True):
            share = more / (more + sum(weights))
            below, previous = 0.0, (0.0, 1.0 if errs else 1 - share)
            for threshold in np.sort(scores, axis=None):
                pairs = [(a, b) for a in range(size) for b in range(size) if a != b]
                passed = sum(weights[a] * weights[b] for a, b in pairs if scores[a, b] <= threshold)
                far = passed / sum(weights[a] * weights[b] for a, b in pairs)
                tar = sum(weights[a] for a in range(size) if scores[a, a] <= threshold)
                tar = (1 - share) * tar / sum(weights) + (0 if errs else share)
                if far >= 1 - tar:
                    below, above = previous[1] - previous[0], far - (1 - tar)
                    rates.append(previous[0] + below / (below + above) * (far - previous[0]))
                    break
                previous = far, 1 - tar
    return np.percentile(ends[0], 2.5), np.percentile(ends[1], 97.5)


def test_an_interval_of_the_eer_is_that_of_a_slow_loop():
    scores, genuine, people = matrix(people=5, seed=3)
    result = verification(scores, genuine, people=people, bootstrap=8000).intervals["eer"]
    assert result == pytest.approx(slow_interval(scores, 1500), abs=0.04)


def changed(rng, scores, genuine):
    """Makes the trials worse: one genuine distance becomes larger, or one imposter distance becomes
    smaller."""
    scores = scores.copy()
    row, column = rng.integers(len(scores), size=2)
    scores[row, column] += rng.exponential() * (1 if genuine[row, column] else -1)
    return scores


@pytest.mark.parametrize("by_people", [True, False])
def test_an_additional_error_never_improves_an_end_of_an_interval(by_people):
    """Tests a sequence of trials that starts without errors. In each step one score becomes
    worse."""
    scores, genuine, people = matrix(people=8, shift=8)
    options = {"people": people if by_people else None, "bootstrap": 100}
    rng, ends = np.random.default_rng(0), []
    for _ in range(150):
        intervals = verification(scores, genuine, **options).intervals
        rates = accept_rates(scores, genuine, -3.0, **options)
        worse = [*intervals["eer"], *rates.far_ci95]
        better = [*intervals["auc"], *rates.tar_ci95]
        ends.append([*worse, *(-value for value in better)])
        assert all(0 <= value <= 1 for value in (*worse, *better))
        scores = changed(rng, scores, genuine)
    assert (np.diff(ends, axis=0) >= -1e-12).all()
    assert (np.array(ends[-1]) > np.array(ends[0]) + 0.001).all()


@pytest.mark.parametrize("by_people", [True, False])
def test_the_order_of_the_trials_does_not_matter(by_people, rng):
    scores, genuine, people = matrix(people=9)
    scores = np.round(scores, 1)  # rounding makes ties
    sides = [np.broadcast_to(side, scores.shape).ravel() for side in people]
    order = rng.permutation(scores.size)
    results = []
    for rows in (np.arange(scores.size), order):
        named = tuple(side[rows] for side in sides) if by_people else None
        given_ = scores.ravel()[rows], genuine.ravel()[rows]
        rates = accept_rates(*given_, 0.0, people=named, bootstrap=200)
        figures = verification(*given_, people=named, bootstrap=200)
        results.append((figures.intervals, rates.far_ci95, rates.tar_ci95))
    assert results[0] == results[1]


def test_memory_at_once_does_not_change_the_replicates(monkeypatch):
    scores, genuine, people = matrix()
    whole = verification(scores, genuine, people=people, bootstrap=50)
    monkeypatch.setattr(_intervals, "VALUES_AT_ONCE", 7 * scores.size)
    chunked = verification(scores, genuine, people=people, bootstrap=50)
    assert chunked.intervals == whole.intervals


def test_without_a_bootstrap_there_are_no_intervals():
    scores, genuine, _ = matrix()
    assert verification(scores, genuine).intervals == {}


@pytest.mark.slow
def test_the_interval_has_about_its_nominal_coverage():
    truth = equal_error_rate(*matrix(people=1500, seed=99)[:2]).rate
    covered = 0
    for seed in range(40):
        scores, genuine, people = matrix(people=40, seed=seed)
        low, high = verification(scores, genuine, people=people, bootstrap=150).intervals["eer"]
        covered += low <= truth <= high
    # With a coverage of 95 %, 33 or fewer of 40 intervals hold with a probability below 1 %.
    assert covered >= 33
