"""The threshold that keeps a rate on people never used."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.evaluation import false_accepts, promise
from keras_dml.evaluation._imposter_pairs import ImposterPairs
from tests.evaluation.people import claims


def of_new_people(scores, far):
    """Mean rate of two of the people under the threshold that the others promise."""
    n = len(scores)
    rates = []
    for a, b in itertools.combinations(range(n), 2):
        others = np.delete(np.arange(n), [a, b])
        found = promise_of(scores[np.ix_(others, others)], far)
        rates.append((scores[[a, b], [b, a]] <= found.threshold).mean())
    return np.mean(rates)


def promise_of(scores, far):
    apart = ~np.eye(len(scores), dtype=bool)
    return promise(scores[apart], np.nonzero(apart), far)


@given(st.integers(0, 10_000), st.sampled_from([0.25, 0.3, 0.4, 0.6]))
def test_whatever_the_scores_are_two_new_people_are_matched_at_most_as_often(seed, far):
    """Exact, for any matrix: the mean over all choices of the two new people."""
    rng = np.random.default_rng(seed)
    people = 10
    lamb = rng.pareto(0.5, people) * rng.integers(0, 2, people)
    scores = -np.maximum(lamb[:, None], lamb) - rng.pareto(1.0) * rng.random((people, people))
    assert of_new_people(np.round(scores, int(rng.integers(0, 3))), far) <= far


def test_where_single_people_resemble_everybody_the_promise_is_spent():
    """The worst case of the proof, but for rounding: no lower rate could be promised."""
    level = np.arange(22.0)
    scores = np.minimum(level[:, None], level)
    assert 0.8 * 2 / 22 < of_new_people(scores, 2 / 22) <= 2 / 22


def test_the_threshold_is_the_largest_that_the_people_allow():
    scores, people = claims(np.random.default_rng(0), 60)
    found = promise(scores, people, 0.1)
    allowed = (0.1 * 62 / 2 - 1) / 60
    assert found.rate == false_accepts(scores, people, found.threshold).rate <= allowed
    beyond = scores[scores > found.threshold].min()
    assert false_accepts(scores, people, beyond).rate > allowed
    assert found.ci95[0] < found.rate < found.ci95[1]


def test_at_the_strictest_rate_nobody_of_them_is_accepted():
    scores, people = claims(np.random.default_rng(0), 38)
    found = promise(scores, people, 0.05)
    assert found.strictest == 0.05 and found.rate == 0 and found.threshold < scores.min()


def test_too_few_people_are_refused_with_the_number_that_can():
    scores, people = claims(np.random.default_rng(0), 37)
    with pytest.raises(ValueError, match=r"37 people cannot promise FAR 5 % .* that takes 38, and"):
        promise(scores, people, 0.05)


def test_it_says_what_it_promises():
    found = promise(*claims(np.random.default_rng(0), 60), 0.1)
    assert "for FAR at most 10 %: " in str(found)
    assert str(found).endswith("who can promise 3.3 % and more")
    assert found.people_needed(0.02) == 98


def test_people_without_a_trial_are_refused():
    with pytest.raises(ValueError, match="Received trials of 2 of the 3 pairs of 3 people"):
        promise([0.0, 1.0], (["a", "b"], ["b", "c"]), 0.5)


def test_a_trial_s_weight_is_that_of_its_pair():
    pairs = ImposterPairs([0.0, 1.0, 2.0], (["a", "b", "a"], ["b", "a", "c"]))
    np.testing.assert_allclose(pairs.weights, [0.25, 0.25, 0.5], rtol=1e-12)
    drawn = pairs.weights_of_draw(np.array([1, 2, 0]))
    np.testing.assert_allclose(drawn, [0.5, 0.5, 0.0], rtol=1e-12)
