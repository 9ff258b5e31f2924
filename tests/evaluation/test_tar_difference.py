"""Tests `tar_difference`, the paired difference of two true accept rates at one false accept
rate."""

import numpy as np
import pytest

from keras_dml.evaluation import tar_difference, verification
from tests.evaluation.test_bootstrap import matrix

FAR = 0.1


def rate_by_sorting(scores, genuine):
    """Computes the TAR at `FAR` from the sorted imposter scores."""
    imposters = np.sort(scores[~genuine])
    return (scores[genuine] < imposters[int(FAR * len(imposters))]).mean()


def test_the_rates_are_those_of_the_sorted_scores_in_any_unit():
    scores, genuine, people = matrix()
    rival = matrix(seed=2)[0]
    result = tar_difference(scores, 100 * rival, genuine, FAR, people=people)
    rates = [rate_by_sorting(values, genuine) for values in (scores, rival)]
    assert (result.first, result.second) == pytest.approx(rates)
    assert result.value == pytest.approx(rates[0] - rates[1])
    assert result.ci95[0] < result.value < result.ci95[1]


def test_a_small_paired_difference_is_significant():
    """Tests two rates whose separate intervals overlap. The paired interval excludes 0."""
    scores, genuine, people = matrix(people=60)
    worse = scores + 0.6 * genuine
    result = tar_difference(scores, worse, genuine, 0.01, people=people)
    first, second = (
        verification(values, genuine, people=people, bootstrap=1000).intervals["tar_at_far_0.01"]
        for values in (scores, worse)
    )
    assert result.ci95[0] > 0 and first[0] < second[1]


def test_a_method_does_not_differ_from_itself():
    scores, genuine, people = matrix()
    assert tar_difference(scores, scores, genuine, FAR, people=people).ci95 == (0.0, 0.0)


def test_two_methods_that_reject_nobody_may_differ_by_the_rule_of_three():
    scores, genuine, people = matrix(shift=99)
    result = tar_difference(scores, 2 * scores, genuine, FAR, people=people, bootstrap=10)
    assert (result.value, result.ci95) == (0.0, (-3 / 24, 3 / 24))


def test_methods_with_different_trials_and_impossible_rates_are_refused():
    scores, genuine, people = matrix()
    with pytest.raises(ValueError, match="Expected equal shapes"):
        tar_difference(scores, scores[:3], genuine, FAR, people=people)
    for far in (0, 1, -0.1, "0.1"):
        with pytest.raises(ValueError, match="far"):
            tar_difference(scores, scores, genuine, far, people=people)
