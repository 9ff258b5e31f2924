"""Tests the equal error rate, which is computed by linear interpolation between the points of the
error curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from sklearn.metrics import roc_curve

from keras_dml.evaluation import equal_error_rate
from tests.evaluation import oracles
from tests.goldens import golden

# Scores have few distinct values, so that ties of genuine and imposter scores are common.
SCORES = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=12)


def trials(genuine, imposter):
    scores = np.array([*genuine, *imposter])
    return scores, np.arange(scores.size) < len(genuine)


@pytest.mark.parametrize("name", ["scores_toy", "scores_separated"])
def test_goldens(name):
    example = golden(name)
    found = equal_error_rate(*trials(**example["inputs"]))
    assert found.rate == pytest.approx(example["expected"]["eer"], abs=example["tolerance"])


@given(SCORES, SCORES)
def test_rate_is_that_of_a_slow_walk_along_the_polyline(genuine, imposter):
    found = equal_error_rate(*trials(genuine, imposter))
    assert found.rate == pytest.approx(oracles.eer(genuine, imposter), abs=1e-12)


def test_rate_is_where_the_interpolated_roc_of_scikit_learn_meets_the_diagonal():
    rng = np.random.default_rng(3)
    scores, genuine = trials(rng.normal(0, 1, 40), rng.normal(2, 1, 300))
    far, tar, _ = roc_curve(genuine, -scores)
    expected = brentq(lambda x: x - (1 - np.interp(x, far, tar)), 0, 1, xtol=1e-14)
    assert equal_error_rate(scores, genuine).rate == pytest.approx(expected, abs=1e-9)


@given(SCORES, SCORES)
def test_rate_depends_on_the_order_of_scores_only(genuine, imposter):
    scores, labels = trials(genuine, imposter)
    stretched = equal_error_rate(np.exp(scores / 3) - 5, labels)
    assert stretched.rate == pytest.approx(equal_error_rate(scores, labels).rate, abs=1e-12)


@given(SCORES, SCORES)
def test_exchanging_kinds_and_sign_does_not_change_the_rate(genuine, imposter):
    scores, labels = trials(genuine, imposter)
    mirrored = equal_error_rate(-scores, ~labels)
    assert mirrored.rate == pytest.approx(equal_error_rate(scores, labels).rate, abs=1e-12)


@given(SCORES, SCORES, st.integers(2, 4))
def test_repeating_all_trials_changes_nothing_but_the_counts(genuine, imposter, times):
    scores, labels = trials(genuine, imposter)
    once = equal_error_rate(scores, labels)
    often = equal_error_rate(np.tile(scores, times), np.tile(labels, times))
    assert often.rate == pytest.approx(once.rate, abs=1e-12)
    assert often.threshold == pytest.approx(once.threshold)
    assert (often.genuine, often.imposter) == (times * once.genuine, times * once.imposter)


@given(SCORES, SCORES)
def test_at_its_threshold_the_two_errors_lie_on_both_sides_of_the_rate(genuine, imposter):
    found = equal_error_rate(*trials(genuine, imposter))
    far, frr = oracles.rates(genuine, imposter, found.threshold)
    just_below = np.nextafter(found.threshold, -np.inf)
    far_below, frr_below = oracles.rates(genuine, imposter, just_below)
    assert far >= found.rate - 1e-12 >= far_below - 2e-12
    assert frr <= found.rate + 1e-12 <= frr_below + 2e-12


@pytest.mark.parametrize(
    ("genuine", "imposter", "rate", "threshold"),
    [
        ([0.1, 0.2], [0.7, 0.9], 0.0, 0.45),  # separated scores: threshold in the middle of the gap
        ([2.0, 3.0], [0.0, 1.0], 1.0, 1.5),  # genuine scores above all imposter scores
        ([0.5, 0.5], [0.5, 0.5, 0.5], 0.5, 0.5),  # all scores tied: one step across the diagonal
        ([1.0, 3.0], [2.0, 4.0], 0.5, 2.5),  # FAR equals FRR at thresholds from 2 to 3
        ([7.0], [7.0], 0.5, 7.0),
    ],
)
def test_worked_cases(genuine, imposter, rate, threshold):
    found = equal_error_rate(*trials(genuine, imposter))
    assert found.rate == pytest.approx(rate, abs=1e-15)
    assert found.threshold == pytest.approx(threshold)


def test_single_precision_scores_keep_their_ties():
    scores, genuine = trials([0.1, 0.2, 0.2, 0.6], [0.2, 0.5, 0.6, 0.7, 0.9])
    assert equal_error_rate(scores.astype(np.float32), genuine).rate == pytest.approx(0.25)


def test_it_prints_the_rate_with_its_counts():
    found = equal_error_rate(*trials([0.1, 0.2], [0.7] * 1260))
    assert str(found) == "EER 0.0 % at threshold 0.45 (2 genuine, 1,260 imposter trials)"


def test_labels_that_are_not_boolean_are_refused():
    with pytest.raises(TypeError, match="int64.*booleans.*probe_ids == claimed_ids"):
        equal_error_rate([0.1, 0.2], np.array([1, 0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused_with_their_index(bad):
    scores = np.array([[0.1, bad], [0.3, 0.4]])
    with pytest.raises(ValueError, match=r"1 of 4 values are NaN or infinite.*\(0, 1\)"):
        equal_error_rate(scores, np.eye(2, dtype=bool))


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        equal_error_rate([0.1, 0.2, 0.3], [True, False])


@pytest.mark.parametrize(
    ("genuine", "counts"), [([True, True], "2 genuine and 0"), ([False, False], "0 genuine and 2")]
)
def test_a_missing_kind_of_trial_is_refused(genuine, counts):
    with pytest.raises(ValueError, match=counts):
        equal_error_rate([0.1, 0.2], genuine)
