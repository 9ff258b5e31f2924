"""Tests `threshold_at_far`, which finds the largest observed score that accepts at most a wanted
fraction of imposters."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from keras_dml.evaluation import threshold_at_far, verification
from tests.evaluation import oracles

IMPOSTERS = st.lists(st.integers(0, 30).map(float), min_size=20, max_size=60)
GENUINE = st.lists(st.integers(-5, 20).map(float), min_size=1, max_size=20)


def trials(genuine, imposter):
    scores = np.array([*genuine, *imposter])
    return scores, np.arange(scores.size) < len(genuine)


@given(GENUINE, IMPOSTERS, st.sampled_from([0.05, 0.1, 0.3]))
def test_the_threshold_is_the_largest_score_that_keeps_the_rate(genuine, imposter, far):
    scores, labels = trials([-9.0, *genuine], imposter)
    found = threshold_at_far(scores, labels, far)
    assert oracles.rates(genuine, imposter, found.value)[0] <= far + 1e-12
    greater = [score for score in scores if score > found.value]
    assert not greater or oracles.rates(genuine, imposter, min(greater))[0] > far


def test_the_interval_is_that_of_clopper_and_pearson():
    scores, genuine = trials([0.0], np.arange(1, 501))
    found = threshold_at_far(scores, genuine, 0.01)
    assert (found.value, found.trials) == (5.0, 500)
    exact = beta.ppf(0.025, 5, 496), beta.ppf(0.975, 6, 495)
    np.testing.assert_allclose(found.far_ci95, exact, rtol=1e-9)


def test_zero_false_accepts_have_an_upper_bound_above_0():
    found = threshold_at_far(*trials([0.0], [1.0] * 300), 0.01)
    assert found.far_ci95[0] == 0.0
    assert found.far_ci95[1] == pytest.approx(1 - 0.025 ** (1 / 300))


def test_it_converts_to_an_entry_of_a_card():
    found = threshold_at_far(*trials([0.1, 0.2], np.linspace(0.3, 1, 200)), 0.01)
    entry = json.loads(json.dumps(dataclasses.asdict(found)))
    assert set(entry) == {"far", "value", "trials", "far_ci95"}
    assert "200 imposter trials" in str(found)


def test_too_few_imposters_are_refused_with_the_number_needed():
    with pytest.raises(ValueError, match="Received 999 .*FAR 0.1 % needs at least 1,000"):
        threshold_at_far(*trials([0.1], np.ones(999)), 0.001)


def test_one_false_accept_is_allowed_from_the_least_number_on():
    found = threshold_at_far(*trials([0.1], np.arange(1000) + 1.0), 0.001)
    assert found.value == 1.0


def test_smallest_scores_tied_among_imposters_are_refused():
    with pytest.raises(ValueError, match="40 of 100 imposter trials have the smallest score"):
        threshold_at_far(*trials([1.0, 2.0], [1.0] * 40 + [2.0] * 60), 0.05)


@pytest.mark.parametrize("far", [0.0, 1.0, 5])
def test_a_rate_that_is_not_a_fraction_is_refused(far):
    with pytest.raises(ValueError, match="fraction above 0 and below 1"):
        threshold_at_far([0.1, 0.2], [True, False], far)


def test_true_accept_rates_print_whether_there_are_enough_imposters():
    found = verification(*trials([0.1, 0.2, 0.9], np.linspace(0.3, 2, 150)))
    percent, permille = found.tar_at_far[0.01], found.tar_at_far[0.001]
    assert percent.measurable and percent.tar == pytest.approx(2 / 3)
    assert percent.threshold == 0.3
    assert not permille.measurable and math.isnan(permille.tar) and math.isnan(permille.threshold)
    assert "TAR 66.7 % at FAR 1 %" in str(found)
    assert "not measurable: 150 imposter trials, at least 1,000 needed" in str(found)


def test_a_rate_that_is_not_measurable_has_no_interval():
    found = verification(*trials([0.1, 0.2, 0.9], np.linspace(0.3, 2, 150)), bootstrap=20)
    assert set(found.intervals) == {"auc", "eer", "tar_at_far_0.01"}
