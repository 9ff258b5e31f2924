"""Tests `certificate`, which computes a threshold for a false accept rate (FAR) with a confidence
interval, and the number of people that the rate needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import genpareto

from keras_dml._figures import percent_rounded_up
from keras_dml.evaluation import certificate, false_accepts
from keras_dml.evaluation._thresholds import Tail, fit_tail
from tests.evaluation.people import claims


def trials(people=40, resemblance=0.4, seed=0):
    return claims(np.random.default_rng(seed), people, resemblance)


@given(st.integers(0, 1000), st.sampled_from([0.1, 0.2, 0.5]))
def test_the_threshold_is_the_largest_that_keeps_the_rate_on_these_people(seed, far):
    scores, people = trials(25, 0.2, seed)
    found = certificate(scores, people, far)
    assert false_accepts(scores, people, found.threshold).rate <= far + 1e-9
    beyond = scores[scores > found.threshold].min()
    assert false_accepts(scores, people, beyond).rate > far
    assert found.ci95[0] < far < found.ci95[1] and found.strictest <= far


def test_a_rate_that_the_people_do_not_support_is_refused_with_the_number_needed():
    scores, people = trials()
    supported = certificate(scores, people, 0.1).strictest
    with pytest.raises(ValueError, match=r"0\.1 % is beyond what these 40 people support") as said:
        certificate(scores, people, 0.001)
    count = int(str(said.value).split("need about ")[1].split(" ")[0].replace(",", ""))
    assert 0.001 < supported and count > 40


@pytest.mark.slow
def test_the_number_of_people_needed_is_enough():
    scores, people = trials(20)
    with pytest.raises(ValueError, match="beyond what these 20") as said:
        certificate(scores, people, 0.01)
    fewest, most = str(said.value).split("need about ")[1].split(" people")[0].split(" to ")
    for seed in range(2):
        assert certificate(*trials(int(most), seed=seed), 0.01).strictest <= 0.01
        assert 20 < int(fewest) < int(most) == 600


def test_the_range_of_people_needed_contains_the_number_of_a_population():
    """Tests the number of people needed for a FAR of 1 %. A range for this number is computed from
    each of several groups of 15 people. Each range must contain the number that the population
    needs.
    """
    sizes, supported = np.arange(20, 201, 20), []
    for size in sizes:
        strictest = [false_accepts(*trials(size, seed=s), -2.3).strictest for s in range(3)]
        supported.append(np.mean(strictest) <= 0.01)
    enough = sizes[np.argmax(supported)]
    assert any(supported)
    for seed in range(10):
        fewest, most = false_accepts(*trials(15, seed=seed), -2.3).people_needed(0.01)
        assert fewest <= enough <= most


def test_more_people_narrow_the_range():
    ranges = [false_accepts(*trials(n), -1.5).people_needed(0.001) for n in (10, 40, 160)]
    assert ranges[0][0] <= ranges[1][0] <= ranges[2][0] and {most for _, most in ranges} == {6000}


def test_equal_smallest_scores_count_as_fully_dependent():
    scores, people = trials()
    with pytest.raises(ValueError, match="as 20 independent pairs .* about 154 to 600 people"):
        certificate(np.round(scores) * 0, people, 0.01)


def test_more_people_support_stricter_rates():
    strictest = [certificate(*trials(n), 0.3).strictest for n in (15, 30, 60)]
    assert strictest[0] > strictest[1] > strictest[2]


def test_it_prints_threshold_interval_and_support():
    found = certificate(*trials(), 0.05)
    said = str(found)
    assert said.startswith(f"threshold {found.threshold:.4g} for FAR 5 % [")
    assert "counted over people: 40 people, 4,680 imposter trials worth" in said
    fewest, most = found.people_needed(0.005)
    assert f"0.5 % would need about {fewest} to {most:,} people" in said


def test_a_tail_is_extrapolated_only_on_request_and_named():
    scores, people = trials()
    counted = certificate(scores, people, 0.05, extrapolate=True)
    assert counted.method == "counted over people"
    far = counted.strictest / 5
    found = certificate(scores, people, far, extrapolate=True)
    assert found.method == "extrapolated by a generalized Pareto tail"
    assert found.threshold < counted.threshold and found.ci95[0] <= far <= found.ci95[1]
    with pytest.raises(ValueError, match="`extrapolate=True` extrapolates a model"):
        certificate(scores, people, far)
    with pytest.raises(ValueError, match="cannot extrapolate below 1/10 of the supported rate"):
        certificate(scores, people, far / 10, extrapolate=True)


def test_tied_scores_without_a_tail_are_refused():
    scores, people = trials(12)
    tied = np.maximum(scores, np.quantile(scores, 0.15))
    tied[np.argsort(scores)[:3]] -= [3, 2, 1]
    with pytest.raises(ValueError, match="few of the lowest scores differ to fit a tail"):
        certificate(tied, people, 0.03, extrapolate=True)


@pytest.mark.slow
def test_an_extrapolated_rate_is_near_the_true_one():
    true = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        scores, people = claims(rng, 40, 0.1)
        found = certificate(scores, people, 0.002, extrapolate=True)
        assert found.method.startswith("extrapolated")
        true.append(false_accepts(*claims(rng, 100, 0.1), found.threshold).rate)
    assert 0.001 < np.mean(true) < 0.004


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.2])
def test_moments_estimate_the_tail_of_drawn_scores(shape):
    excess = genpareto.rvs(shape, scale=2.0, size=20_000, random_state=0)
    found = fit_tail(-excess, np.full(excess.size, 1 / excess.size), 0.0)
    assert (found.shape, found.scale) == pytest.approx((shape, 2.0), abs=0.1)
    assert found.far(found.threshold(0.01)) == pytest.approx(0.01)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 1e-9, 0.2])
def test_the_tail_is_a_generalized_pareto_distribution(shape):
    tail = Tail(start=5.0, rate=0.1, shape=shape, scale=2.0)
    for excess in (0.0, 0.5, 3.0, 6.0, 7.0, 20.0):  # with shape -0.3, the largest is 6.67
        expected = 0.1 * genpareto.sf(excess, shape, scale=2.0)
        assert tail.far(5 - excess) == pytest.approx(expected, rel=1e-9, abs=1e-15)
    for far in (0.1, 0.03, 1e-5):
        expected = 5 - genpareto.isf(far / 0.1, shape, scale=2.0)
        assert tail.threshold(far) == pytest.approx(expected, rel=1e-9)


def test_equal_scores_have_no_tail():
    scores = np.array([-1.0, -1.0, 0.0, 0.0])
    assert fit_tail(scores, np.full(4, 0.25), -1.0) is None


@pytest.mark.parametrize("far", [0.0, 1.0, -0.1, float("nan"), "0.1", None])
def test_an_invalid_rate_is_refused(far):
    with pytest.raises(ValueError, match="`far`.* a fraction above 0 and below 1"):
        certificate(*trials(), far)


@pytest.mark.parametrize(
    "rate, said", [(0.004561, "0.46 %"), (0.0046, "0.46 %"), (0.0101, "1.1 %"), (1.0, "100 %")]
)
def test_a_supported_rate_is_rounded_up(rate, said):
    assert percent_rounded_up(rate) == said


def test_moments_use_the_middle_of_the_rank_of_each_excess():
    """Tests the moments of the excesses 1, 2 and 6. Computed by hand, the moments are a0 = 3 and a1
    = 17/18.
    """
    fit = fit_tail(np.array([-6.0, 4.0, -1.0, -2.0]), np.full(4, 0.25), 0.0)
    assert (fit.start, fit.rate) == (0.0, 0.75)
    assert (fit.shape, fit.scale) == pytest.approx((-0.7, 5.1), rel=1e-12)


@given(st.integers(0, 1000))
def test_the_tail_of_weighted_scores_is_by_the_moments_of_hosking(seed):
    rng = np.random.default_rng(seed)
    excess, weights = rng.exponential(2, 6), rng.dirichlet(np.ones(7))
    fit = fit_tail(np.append(3 - excess, 5.0), weights, 3.0)
    mass, first, second = 0.0, 0.0, 0.0
    for i in np.argsort(excess):
        share = weights[i] / weights[:6].sum()
        first += share * excess[i]
        second += share * excess[i] * (1 - mass - share / 2)
        mass += share
    assert fit.rate == pytest.approx(weights[:6].sum())
    assert fit.shape == pytest.approx(2 - first / (first - 2 * second), rel=1e-6)
    assert fit.scale == pytest.approx(2 * first * second / (first - 2 * second), rel=1e-6)
