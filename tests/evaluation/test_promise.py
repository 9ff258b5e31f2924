"""Tests `promise`, which computes a threshold with a guaranteed false match rate for new people
(conformal prediction)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml.evaluation import false_accepts, promise
from keras_dml.evaluation._thresholds import ImposterPairs
from tests.evaluation import worlds
from tests.evaluation.people import claims


def rates_of_new_people(scores, far):
    """Computes the false match rates of two people who are left out when the threshold is set.

    Returns:
        The mean of the rates over all choices of two people, and the largest mean rate of a single
        person.
    """
    n = len(scores)
    rates = np.zeros((n, n))
    for a, b in itertools.combinations(range(n), 2):
        others = np.delete(np.arange(n), [a, b])
        found = promise_of(scores[np.ix_(others, others)], far)
        rates[a, b] = rates[b, a] = (scores[[a, b], [b, a]] <= found.threshold).mean()
    of_people = rates.sum(axis=1) / (n - 1)
    return of_people.mean(), of_people.max()


def promise_of(scores, far):
    apart = ~np.eye(len(scores), dtype=bool)
    return promise(scores[apart], np.nonzero(apart), far)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([0.15, 0.25, 0.4, 0.6]))
def test_two_new_people_are_matched_at_most_at_the_promised_rate(seed, far):
    """Tests the false match rate, averaged over all choices of two new people. The guaranteed bound
    holds exactly for this average.

    The mean rate exceeds `far` only if a new person is accepted in more than a quarter of the
    trials.
    """
    rng = np.random.default_rng(seed)
    people = 10
    lamb = rng.pareto(0.5, people) * rng.integers(0, 2, people)
    scores = -np.maximum(lamb[:, None], lamb) - rng.pareto(1.0) * rng.random((people, people))
    rate, most = rates_of_new_people(np.round(scores, int(rng.integers(0, 3))), far)
    beyond = max(0.0, min(1.0, 2 * most) - 0.5)
    assert rate <= far + 2 * beyond / people + 1e-9


@pytest.mark.slow
@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_the_promise_holds_for_people_who_differ_moderately(seed):
    rng = np.random.default_rng(seed)
    person = rng.normal(size=12)
    scores = 0.5 * (person[:, None] + person) + rng.normal(size=(12, 12))
    rate, most = rates_of_new_people(scores, 0.2)
    assert rate <= 0.2 or most > 0.25


@pytest.mark.slow
def test_the_promise_holds_if_few_people_resemble_everybody():
    """Tests samples in which a few people resemble everybody. The guaranteed rate holds for these
    samples without any assumption.

    The mean false match rate must also be at least 30 % of the guaranteed rate.
    """
    level = np.arange(22.0)
    scores = np.minimum(level[:, None], level)
    for far in (2 / 22, 6 / 22):
        rate, most = rates_of_new_people(scores, far)
        assert most > 0.9
        assert 0.3 * far < rate <= far


def test_the_threshold_is_the_largest_that_the_people_allow():
    scores, people = claims(np.random.default_rng(0), 60)
    found = promise(scores, people, 0.1)
    allowed = (0.1 * 62 / 2 - 0.5) / 60
    assert found.rate == false_accepts(scores, people, found.threshold).rate <= allowed
    beyond = scores[scores > found.threshold].min()
    assert false_accepts(scores, people, beyond).rate > allowed
    assert found.ci95[0] < found.rate < found.ci95[1]


def test_a_person_accepted_more_often_than_assumed_makes_the_threshold_stricter():
    scores, people = claims(np.random.default_rng(0), 60)
    usual = promise(scores, people, 0.1)
    scores = np.where((people[0] == 7) & (people[1] % 5 > 0), scores - 50, scores)
    after = promise(scores, people, 0.1)
    of_person = 0.5 * 47 / 59  # accepted as a probe, not as a claim, in 47 of 59 pairs
    assert after.rate <= (0.1 * 62 / 2 - 2 * of_person) / 60 < usual.rate


def test_at_the_strictest_rate_nobody_is_accepted():
    scores, people = claims(np.random.default_rng(0), 18)
    found = promise(scores, people, 0.05)
    assert found.strictest == 0.05 and found.rate == 0 and found.threshold < scores.min()


def test_38_people_accept_more_than_one_in_a_thousand_for_5_percent():
    """Tests that thresholds for a guaranteed rate of 5 %, set with 38 people, accept more than 0.1
    % of the imposter trials. The error rates of people differ much in some of the simulated
    populations, and hardly differ in others.
    """
    for world in ("strong", "mild"):
        rates, accepted = [], []
        for seed in range(30):
            drawn = [worlds.trials(world, 0.05, 38, 1, [seed, half]) for half in range(2)]
            apart = ~np.eye(38, dtype=bool)
            found = promise(drawn[0].scores[0][apart], np.nonzero(apart), 0.05)
            rates.append((drawn[1].scores[0][apart] <= found.threshold).mean())
            accepted.append((np.diag(drawn[1].scores[0]) <= found.threshold).mean())
        assert 0.005 < np.mean(rates) < 0.05
        assert np.mean(np.array(rates) <= 0.05) >= 0.8
        assert np.mean(accepted) > 0.7


def test_too_few_people_are_refused_with_the_number_that_can():
    scores, people = claims(np.random.default_rng(0), 17)
    with pytest.raises(ValueError, match=r"17 people cannot guarantee FAR 5 % .* needs 18 people"):
        promise(scores, people, 0.05)


def test_it_prints_the_promised_rate():
    found = promise(*claims(np.random.default_rng(0), 60), 0.1)
    assert "for FAR at most 10 %: " in str(found)
    assert str(found).endswith("enough to guarantee FAR 1.7 % or more")
    assert found.people_needed(0.02) == 48


def test_people_without_a_trial_are_refused():
    with pytest.raises(ValueError, match="Received trials of only 2 of 3 pairs of people"):
        promise([0.0, 1.0], (["a", "b"], ["b", "c"]), 0.5)


def test_the_weight_of_a_trial_is_a_share_of_its_pair():
    pairs = ImposterPairs([0.0, 1.0, 2.0], (["a", "b", "a"], ["b", "a", "c"]))
    np.testing.assert_allclose(pairs.weights, [0.25, 0.25, 0.5], rtol=1e-12)
    drawn = pairs.weights_of_draw(np.array([1, 2, 0]))
    np.testing.assert_allclose(drawn, [0.5, 0.5, 0.0], rtol=1e-12)
