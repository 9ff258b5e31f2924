"""Tests `eer_difference`, the paired difference of two equal error rates."""

import numpy as np
import pytest

from keras_dml.evaluation import eer_difference, verification
from tests.evaluation.test_bootstrap import matrix


def test_the_difference_does_not_depend_on_the_units():
    scores, genuine, people = matrix()
    other = matrix(seed=2)[0]
    found = eer_difference(scores, 100 * other, genuine, people=people)
    rates = [verification(one, genuine).eer for one in (scores, other)]
    assert (found.first, found.second) == pytest.approx(rates)
    assert found.value == pytest.approx(rates[0] - rates[1])
    assert found.ci95[0] < found.value < found.ci95[1]


def test_a_small_paired_difference_is_significant():
    """Tests two equal error rates whose separate intervals overlap. The paired interval of their
    difference excludes 0.
    """
    scores, genuine, people = matrix(people=60)
    worse = scores + 0.6 * genuine
    found = eer_difference(scores, worse, genuine, people=people)
    first, second = (
        verification(one, genuine, people=people, bootstrap=1000).intervals["eer"]
        for one in (scores, worse)
    )
    assert found.ci95[1] < 0 and first[1] > second[0]


def test_a_method_does_not_differ_from_itself():
    scores, genuine, people = matrix()
    assert eer_difference(scores, scores, genuine, people=people).ci95 == (0.0, 0.0)


def test_two_methods_without_error_may_differ_by_the_rule_of_three():
    scores, genuine, people = matrix(shift=99)
    found = eer_difference(scores, 2 * scores, genuine, people=people, bootstrap=10)
    assert (found.value, found.ci95) == (0.0, (-3 / 24, 3 / 24))


def test_methods_with_different_trials_are_refused():
    scores, genuine, people = matrix()
    with pytest.raises(ValueError, match="Expected equal shapes"):
        eer_difference(scores, scores[:3], genuine, people=people)
    with pytest.raises(ValueError, match="`bootstrap` must be at least 1"):
        eer_difference(scores, scores, genuine, bootstrap=0)


def test_it_prints_both_rates_and_the_interval():
    genuine = np.arange(8) < 4
    found = eer_difference(np.arange(8), np.arange(8), genuine, bootstrap=10)
    assert str(found) == "EER 0.0 % and 0.0 %, difference +0.0 % [-75.0 to +75.0 %]"
