"""Tests `eer_comparison`, which compares the equal error rates of methods, with confidence
intervals over people and training seeds."""

import numpy as np
import pytest

from keras_dml.evaluation import eer_comparison, eer_difference, verification
from tests.evaluation.test_bootstrap import matrix


def test_the_rates_are_means_over_seeds_and_the_first_is_compared_with_each_other():
    runs = {"a": [matrix(seed=seed)[0] for seed in (0, 1)], "b": [matrix(seed=2)[0]]}
    _, genuine, people = matrix()
    found = eer_comparison(runs, genuine, people=people, bootstrap=50)
    means = {
        name: np.mean([verification(one, genuine).eer for one in own]) for name, own in runs.items()
    }
    assert {name: one.value for name, one in found.items()} == pytest.approx(means)
    assert found["a"].difference is None and found["a"].difference_ci95 is None
    assert found["b"].difference == pytest.approx(means["a"] - means["b"])
    for one in found.values():
        assert one.ci95[0] < one.value < one.ci95[1]


def test_with_one_seed_it_is_the_paired_difference():
    scores, genuine, people = matrix()
    other = matrix(seed=2)[0]
    found = eer_comparison({"a": [scores], "b": [other]}, genuine, people=people)["b"]
    pair = eer_difference(scores, other, genuine, people=people)
    assert (found.difference, found.difference_ci95) == (pair.value, pair.ci95)


def test_seeds_that_differ_widen_the_interval_and_cancel_between_methods_that_share_them():
    scores, genuine, people = matrix(people=60)
    seeds = [scores + shift * genuine for shift in (0.0, 0.5, 1.0)]
    worse = [one + 0.4 * genuine for one in seeds]
    alone = eer_comparison({"a": [seeds[1]]}, genuine, people=people, bootstrap=200)["a"]
    found = eer_comparison({"a": seeds, "b": worse}, genuine, people=people, bootstrap=200)
    assert np.ptp(found["a"].ci95) > np.ptp(alone.ci95)
    assert found["b"].difference_ci95[1] < 0


def test_methods_without_error_may_differ_by_the_rule_of_three():
    scores, genuine, people = matrix(shift=99)
    runs = {"a": [scores], "b": [2 * scores]}
    found = eer_comparison(runs, genuine, people=people, bootstrap=10)
    assert (
        found["a"].ci95
        == verification(scores, genuine, people=people, bootstrap=10).intervals["eer"]
    )
    assert found["b"].difference_ci95 == (-3 / 24, 3 / 24)


def test_it_prints_a_sentence_for_each_method():
    scores, genuine, people = matrix(people=60)
    runs = {"a": [scores], "b": [scores + 0.6 * genuine], "c": [scores + 0.01 * genuine]}
    comparison = eer_comparison(runs, genuine, people=people, bootstrap=100)
    first, second, third = str(comparison).splitlines()
    rate, low, high = (100 * value for value in (comparison["a"].value, *comparison["a"].ci95))
    assert first == f"a has an EER of {rate:.1f} % (95 % interval: {low:.1f} to {high:.1f} %)."
    assert second.startswith("b has an EER of ") and "The EER of a is " in second
    assert "percentage points lower" in second
    assert second.endswith("This difference is significant.")
    assert third.endswith("This difference is not significant.")
    assert str(comparison["b"]).startswith("EER ") and "first method minus" in str(comparison["b"])


@pytest.mark.parametrize(
    "counts, message", [((), "at least one method"), ((2, 3), r"\{'a': 2, 'b': 3\}"), ((0,), "'a'")]
)
def test_methods_of_other_numbers_of_seeds_are_refused(counts, message):
    scores, genuine, _ = matrix()
    runs = {name: [scores] * count for name, count in zip("ab", counts, strict=False)}
    with pytest.raises(ValueError, match=message):
        eer_comparison(runs, genuine)


def test_no_replicates_are_refused():
    scores, genuine, _ = matrix()
    with pytest.raises(ValueError, match="at least 1. Received: 0"):
        eer_comparison({"a": [scores]}, genuine, bootstrap=0)
