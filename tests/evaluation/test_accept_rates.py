"""Rates of a given threshold, and their intervals over people."""

import numpy as np
import pytest

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
        drawn = rng.integers(12, size=12)
        block = scores[np.ix_(drawn, drawn)][drawn[:, None] != drawn]
        rates.append((block <= 0.0).mean())
    np.testing.assert_allclose(found.far_ci95, np.percentile(rates, [2.5, 97.5]), rtol=0, atol=0.02)


def test_where_nobody_errs_the_bound_is_that_of_the_rule_of_three():
    scores, genuine, people = matrix(shift=99)
    found = accept_rates(scores, genuine, -50.0, people=people, bootstrap=20)
    assert (found.far, found.far_ci95) == (0.0, (0.0, 3 / 24))
    assert (found.tar, found.tar_ci95) == (1.0, (1 - 3 / 24, 1.0))
    assert str(found).startswith("FAR 0 % [0 to 12.5 %], TAR 100 % [88 to 100 %] at threshold -50")


def test_no_replicate_is_refused():
    with pytest.raises(ValueError, match="`bootstrap` must be at least 1"):
        accept_rates([0.0, 1.0], [True, False], 0.5, bootstrap=0)


@pytest.mark.parametrize("threshold", [float("nan"), "0.3", None])
def test_a_threshold_that_is_no_number_is_refused(threshold):
    """Nothing is below NaN: it would have a false accept rate of 0."""
    scores, genuine, _ = matrix()
    with pytest.raises(ValueError, match="`threshold` must be a number"):
        accept_rates(scores, genuine, threshold)
