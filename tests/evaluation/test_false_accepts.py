"""Tests `false_accepts`, which computes the false accept rate over pairs of people, with a
confidence interval."""

import numpy as np
import pytest

from keras_dml.evaluation import false_accepts
from keras_dml.evaluation._intervals import independent_pairs, interval_of_others
from keras_dml.evaluation._thresholds import ImposterPairs
from tests.evaluation.people import claims


def test_every_pair_of_people_has_the_same_weight():
    scores = [0.0, 0.0, 0.0, 9.0, 9.0]
    people = ["a", "b", "a", "a", "c"], ["b", "a", "b", "c", "b"]
    found = false_accepts(scores, people, 1.0)
    assert found.rate == pytest.approx(1 / 3)  # mean over three pairs; over trials it is 3 / 5
    assert (found.people, found.trials) == (3, 5)


def test_without_accepts_the_bound_is_that_of_the_additional_person():
    scores, people = claims(np.random.default_rng(0), 30)
    found = false_accepts(scores, people, -99.0)
    weights = np.random.default_rng(1).gamma(0.5, size=(5000, 31))
    first, second = np.triu_indices(31, 1)
    pairs = weights[:, first] * weights[:, second]
    share = pairs[:, second == 30].sum(axis=1) / pairs.sum(axis=1)
    assert (found.rate, found.ci95[0], found.independent) == (0.0, 0.0, 15)
    assert found.ci95[1] == pytest.approx(np.quantile(share, 0.975) * (1 / 4 + 1 / 30), rel=0.1)
    assert str(found).startswith("FAR 0 % [0 to 8.4 %]")


def test_if_everybody_is_accepted_the_interval_ends_at_1():
    scores, people = claims(np.random.default_rng(0), 10)
    found = false_accepts(scores, people, 99.0)
    assert found.rate == 1.0 and 0.2 < found.ci95[0] < 0.5
    assert found.ci95[1] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("is_complete", [True, False])
def test_the_interval_equals_a_loop_over_weighted_pairs(is_complete):
    rng = np.random.default_rng(2)
    members = np.stack(np.triu_indices(6, 1), axis=1)[: 15 if is_complete else 9]
    accepted = np.where(rng.uniform(size=len(members)) < 0.4, rng.uniform(size=len(members)), 0)
    low, high = [], []
    for weights in np.random.default_rng(0).gamma(0.5, size=(1000, 7)):
        counted = [weights[a] * weights[b] for a, b in members]
        rate = np.dot(counted, accepted) / np.sum(counted)
        more = weights[6] * weights[:6].sum()
        low.append(rate * np.sum(counted) / (np.sum(counted) + more))
        high.append(low[-1] + max(rate, 1 / 4 + 1 / 6) * more / (np.sum(counted) + more))
    expected = np.quantile(low, 0.025), np.quantile(high, 0.975)
    assert interval_of_others(accepted, members, 6) == pytest.approx(expected, rel=1e-9)


def test_errors_of_fewer_people_are_worth_fewer_pairs():
    found = []
    for resemblance in (0.0, 0.4, 0.8):
        rng = np.random.default_rng(0)
        worth = []
        for _ in range(20):
            scores, people = claims(rng, 30, resemblance)
            worth.append(false_accepts(scores, people, np.quantile(scores, 0.1)).independent)
        found.append(np.mean(worth))
    assert 30 / 2 < found[2] < found[1] < found[0] < 30 * 29 / 2


@pytest.mark.slow
def test_the_variance_equals_that_of_drawing_other_people():
    """Tests that the estimated variance is near the true variance between samples of people.

    The estimated variance may be larger than the true variance. If the variance is overestimated,
    the effective number of independent pairs is underestimated.
    """
    rng, rates, worth = np.random.default_rng(0), [], []
    for _ in range(400):
        scores, people = claims(rng, 20)
        found = false_accepts(scores, people, -1.2)
        rates.append(found.rate)
        worth.append(found.independent)
    rate = np.mean(rates)
    true = rate * (1 - rate) / np.var(rates)
    assert 0.5 * true < np.median(worth) < 1.1 * true


@pytest.mark.slow
@pytest.mark.parametrize("resemblance", [0.1, 0.4])
def test_as_many_other_people_have_a_rate_within_the_interval(resemblance):
    rng, inside = np.random.default_rng(0), []
    for _ in range(300):
        scores, people = claims(rng, 24, resemblance)
        low, high = false_accepts(scores, people, np.quantile(scores, 0.1)).ci95
        others, theirs = claims(rng, 24, resemblance)
        rate = false_accepts(others, theirs, np.quantile(scores, 0.1)).rate
        inside.append(low <= rate <= high)
    assert np.mean(inside) >= 0.92  # 1 % quantile for 300 draws with a coverage of 95 %


def test_two_people_are_one_pair():
    pairs = ImposterPairs([0.0, 1.0], (["a", "b"], ["b", "a"]))
    assert independent_pairs(pairs.accepted(0.5), pairs.members, pairs.people) == 1
    assert pairs.is_complete


@pytest.mark.parametrize("threshold", [float("nan"), "0.3", None])
def test_a_threshold_that_is_not_a_number_is_refused(threshold):
    with pytest.raises(ValueError, match="`threshold` must be a number"):
        false_accepts([0.0], (["a"], ["b"]), threshold)


def test_a_claim_to_be_oneself_is_refused():
    with pytest.raises(ValueError, match=r"Received 1 of 2 .*`scores\[probes != claims\]`"):
        false_accepts([0.0, 1.0], (["a", "b"], ["b", "b"]), 0.5)


def test_empty_scores_are_refused():
    with pytest.raises(ValueError, match="`scores` is empty"):
        false_accepts([], ([], []), 0.5)


def test_people_of_a_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="must be the pair"):
        false_accepts([0.0], (["a"],), 0.5)
    with pytest.raises(ValueError, match="shapes that broadcast"):
        false_accepts([0.0], (["a", "b"], ["b", "a"]), 0.5)
