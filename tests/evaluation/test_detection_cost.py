"""Tests the minimum detection cost (minDCF)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.evaluation import bayes_threshold, detection_cost
from tests.evaluation import oracles
from tests.goldens import golden

SCORES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)
PRICES = st.sampled_from([(0.05, 1.0, 1.0), (0.01, 10.0, 1.0), (0.5, 1.0, 1.0), (0.9, 1.0, 3.0)])


def trials(genuine, imposter):
    return np.array([*genuine, *imposter]), np.arange(len(genuine) + len(imposter)) < len(genuine)


def test_golden_min_dcf():
    example = golden("min-dcf", "seeds_p2")
    inputs, expected = example["inputs"], example["expected"]
    trials_of = golden(inputs["scores_of"], "seeds_p2")["inputs"]
    scores, genuine = np.array(trials_of["scores"]), np.array(trials_of["genuine"], bool)
    costs = inputs["prior"], inputs["cost_miss"], inputs["cost_false_alarm"]
    prior, miss, false_accept = costs
    found = detection_cost(
        -scores, genuine, prior=prior, cost_miss=miss, cost_false_accept=false_accept
    )
    assert found.cost == pytest.approx(expected["min_dcf"], rel=1e-9)
    # Accepting s > t equals rejecting s <= t. With genuine and imposter exchanged, the result is
    # the printed strict threshold.
    other = detection_cost(
        scores, ~genuine, prior=1 - prior, cost_miss=false_accept, cost_false_accept=miss
    )
    assert other.cost == pytest.approx(expected["min_dcf"], rel=1e-9)
    assert other.threshold == expected["threshold"]
    if_ratios = bayes_threshold(prior=prior, cost_miss=miss, cost_false_accept=false_accept)
    wanted = expected["threshold_if_scores_were_log_likelihood_ratios"]
    assert if_ratios == pytest.approx(wanted, rel=1e-9)


@given(SCORES, SCORES, PRICES)
def test_it_is_the_least_over_all_thresholds_and_at_most_one(genuine, imposter, prices):
    prior, miss, false_accept = prices
    scores, labels = trials(genuine, imposter)
    found = detection_cost(
        scores, labels, prior=prior, cost_miss=miss, cost_false_accept=false_accept
    )

    def cost(threshold):
        far, frr = oracles.rates(genuine, imposter, threshold)
        prices = miss * prior, false_accept * (1 - prior)
        return (prices[0] * frr + prices[1] * far) / min(prices)

    every = [cost(threshold) for threshold in (-math.inf, *scores)]
    assert found.cost == pytest.approx(min(every), abs=1e-12)
    assert cost(found.threshold) == pytest.approx(found.cost, abs=1e-12)
    assert 0 <= found.cost <= 1


def test_separated_trials_cost_0_and_tied_trials_cost_1():
    found = detection_cost(*trials([0.1, 0.2], [0.7, 0.9]))
    assert (found.cost, found.threshold) == (0.0, 0.2)
    assert detection_cost(*trials([0.5] * 3, [0.5] * 4)).cost == pytest.approx(1.0)


def test_uninformative_scores_accept_nobody():
    found = detection_cost(*trials([3.0], [1.0, 2.0]))
    assert (found.cost, found.threshold) == (1.0, -math.inf)


def test_it_prints_the_cost_with_its_counts():
    found = detection_cost(*trials([0.1, 0.2], [0.7] * 1260))
    assert str(found) == "minDCF 0.000 at prior 0.05 (2 genuine, 1,260 imposter trials)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(prior=0.0), "`prior` must be a probability above 0 and below 1. Received 0.0"),
        (dict(prior=1.0), "`prior`"),
        (dict(cost_miss=0.0), "`cost_miss` must be a positive number"),
        (dict(cost_false_accept=math.inf), "`cost_false_accept` must be a positive number"),
    ],
)
def test_prices_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        detection_cost([0.1, 0.9], [True, False], **options)
    with pytest.raises(ValueError, match=message):
        bayes_threshold(**options)


def test_trials_without_figures_are_refused():
    with pytest.raises(ValueError, match="2 genuine and 0"):
        detection_cost([0.1, 0.2], [True, True])
    with pytest.raises(ValueError, match="must be finite"):
        detection_cost([0.1, np.nan], [True, False])
