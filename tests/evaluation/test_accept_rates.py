"""Tests `accept_rates`, which computes the false and the true accept rate of a threshold, with
confidence intervals over people."""

import numpy as np
import pytest
import scipy.stats

from keras_dml.evaluation import accept_rates, verification
from tests.evaluation.test_bootstrap import matrix


def test_rates_are_those_of_the_curve_and_lie_in_their_intervals():
    scores, genuine, people = matrix()
    found = accept_rates(scores, genuine, 0.0, people=people)
    far, frr = verification(scores, genuine).errors_at(0.0)
    assert (found.far, found.tar) == pytest.approx((far, 1 - frr))
    assert found.far_ci95[0] < found.far < found.far_ci95[1]
    assert found.tar_ci95[0] < found.tar < found.tar_ci95[1]
    assert (found.genuine, found.imposter) == (24, 552)


def test_an_interval_over_people_is_that_of_drawing_them_one_by_one():
    scores, genuine, people = matrix(people=12)
    found = accept_rates(scores, genuine, 0.0, people=people, bootstrap=4000)
    rng, rates = np.random.default_rng(5), []
    for _ in range(4000):
        weights = rng.dirichlet(np.ones(13))
        pairs = np.outer(weights[:12], weights[:12])[~genuine]
        rate = np.average(scores[~genuine] <= 0.0, weights=pairs)
        rates.append([rate * (1 - weights[12]), rate * (1 - weights[12]) + weights[12] / 2])
    low, high = np.transpose(rates)
    expected = np.percentile(low, 2.5), np.percentile(high, 97.5)
    np.testing.assert_allclose(found.far_ci95, expected, rtol=0, atol=0.02)


def test_without_errors_the_bounds_are_those_of_the_additional_person():
    scores, genuine, people = matrix(shift=99)
    result = accept_rates(scores, genuine, -50.0, people=people, bootstrap=4000)
    bound = scipy.stats.binomtest(0, 24).proportion_ci(0.95, method="exact").high
    assert (result.far, result.tar) == (0.0, 1.0)
    assert result.far_ci95 == pytest.approx((0.0, bound / 2), abs=0.006)
    assert result.tar_ci95 == pytest.approx((1 - bound, 1.0), abs=0.012)
    by_trial = accept_rates(scores, genuine, -50.0, bootstrap=2000)
    assert by_trial.far_ci95 == pytest.approx((0, 1 - 0.025 ** (1 / 552)), abs=0.001)


def test_no_replicate_is_refused():
    with pytest.raises(ValueError, match="`bootstrap` must be at least 1"):
        accept_rates([0.0, 1.0], [True, False], 0.5, bootstrap=0)


@pytest.mark.parametrize("threshold", [float("nan"), "0.3", None])
def test_a_threshold_that_is_not_a_number_is_refused(threshold):
    """Tests that a threshold of NaN is refused. No score is below NaN, so the false accept rate
    would be 0."""
    scores, genuine, _ = matrix()
    with pytest.raises(ValueError, match="`threshold` must be a number"):
        accept_rates(scores, genuine, threshold)
