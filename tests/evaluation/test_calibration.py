"""Tests calibration of scores to log likelihood ratios against lir and slow loops."""

import math

import numpy as np
import pytest

from keras_dml import evaluation
from keras_dml.evaluation import (
    actual_detection_cost,
    cllr,
    detection_cost,
    empirical_cross_entropy,
    logistic_calibration,
    min_cllr,
    pav_calibration,
)
from tests.goldens import load

CASES = load("lir")["cases"]


def trials(case):
    """Returns distances, booleans, and the natural logarithms of the ratios that lir computes."""
    ratios = math.log(10) * np.array(case["logistic"])
    return -np.array(case["scores"]), np.array(case["genuine"]), ratios


@pytest.mark.parametrize("case", CASES)
def test_calibrations_agree_with_lir(case):
    scores, genuine, ratios = trials(case)
    np.testing.assert_allclose(
        logistic_calibration(scores, genuine)(scores), ratios, rtol=0, atol=1e-5
    )
    expected = math.log(10) * np.array([float(value) for value in case["pav"]])
    np.testing.assert_allclose(
        pav_calibration(scores, genuine)(scores), expected, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("case", CASES)
def test_costs_agree_with_lir(case):
    scores, genuine, ratios = trials(case)
    assert cllr(ratios, genuine) == pytest.approx(case["cllr"], rel=1e-9)
    assert min_cllr(-ratios, genuine) == pytest.approx(case["cllr_min"], rel=1e-9)
    assert min_cllr(scores, genuine) == pytest.approx(case["cllr_min"], rel=1e-9)
    priors = np.array(case["priors"])
    costs = empirical_cross_entropy(ratios, genuine, np.log(priors / (1 - priors)))
    np.testing.assert_allclose(costs, case["ece"], rtol=1e-9)


def test_the_prior_moves_the_weight_but_not_the_meaning_of_a_ratio():
    rng = np.random.default_rng(0)
    genuine = np.arange(40_000) < 20_000
    scores = rng.normal(np.where(genuine, -1.0, 1.0))  # the log likelihood ratio is -2 times it
    for prior in (0.05, 0.5, 0.9):
        calibration = logistic_calibration(scores, genuine, prior=prior)
        assert calibration.slope == pytest.approx(-2, abs=0.1)
        assert calibration.offset == pytest.approx(0, abs=0.15)
        assert (calibration.genuine, calibration.imposter) == (20_000, 20_000)


def test_the_unit_of_the_scores_does_not_matter():
    scores, genuine, ratios = trials(CASES[0])
    moved = logistic_calibration(1e6 + 1e-3 * scores, genuine)
    np.testing.assert_allclose(moved(1e6 + 1e-3 * scores), ratios, rtol=0, atol=1e-4)


def test_pav_is_constant_beyond_the_scores_and_infinite_beyond_one_kind():
    calibration = pav_calibration([1.0, 2, 3, 4, 5], np.array([1, 0, 1, 0, 0], bool))
    assert calibration([0.0, 1.0]).tolist() == [math.inf, math.inf]
    assert calibration([4.0, 9.0]).tolist() == [-math.inf, -math.inf]
    # scores 2 and 3 are pooled; genuine weight 1/2, imposter weight 1/3
    np.testing.assert_allclose(calibration([2.0, 3.0]), math.log(3 / 2))


def test_no_increasing_map_is_better_than_pav():
    scores, genuine, _ = trials(CASES[0])
    best, rng = min_cllr(scores, genuine), np.random.default_rng(1)
    for _ in range(50):
        steps = np.sort(rng.normal(scale=3, size=8))[::-1]
        ratios = steps[np.digitize(scores, np.sort(rng.choice(scores, 7, replace=False)))]
        assert cllr(ratios, genuine) >= best - 1e-12


def test_the_entropy_of_the_prior_is_the_cost_without_evidence():
    genuine, odds = np.array([True, False, False]), np.array([-3.0, 0.0, 1.0])
    p = 1 / (1 + np.exp(-odds))
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    np.testing.assert_allclose(empirical_cross_entropy(np.zeros(3), genuine, odds), entropy)
    assert cllr(np.zeros(3), genuine) == 1


def test_the_actual_cost_is_that_of_bayes_decisions():
    scores, genuine, ratios = trials(CASES[0])
    for prices in ((0.05, 1, 1), (0.5, 1, 10), (0.9, 2, 3)):
        options = dict(zip(("prior", "cost_miss", "cost_false_accept"), prices, strict=True))
        prior, miss, false_accept = prices
        total = 0.0
        for is_genuine, ratio in zip(genuine, ratios, strict=True):
            odds = prior / (1 - prior) * math.exp(ratio)
            accepts = odds * miss > false_accept  # accepting costs less on average
            if is_genuine and not accepts:
                total += prior * miss / genuine.sum()
            if not is_genuine and accepts:
                total += (1 - prior) * false_accept / (~genuine).sum()
        actual = actual_detection_cost(ratios, genuine, **options)
        assert actual == pytest.approx(total / min(prior * miss, (1 - prior) * false_accept))
        assert actual >= detection_cost(-ratios, genuine, **options).cost - 1e-12
    pav = pav_calibration(scores, genuine)(scores)
    least = detection_cost(scores, genuine, prior=0.3).cost
    assert actual_detection_cost(pav, genuine, prior=0.3) == pytest.approx(least)


def test_infinite_ratios_cost_nothing_if_they_are_right():
    genuine = np.array([True, False])
    assert str(cllr([math.inf, -math.inf], genuine)) == "0.0"
    assert cllr([-math.inf, -math.inf], genuine) == math.inf


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: logistic_calibration([0.1, 0.9], np.array([True, False])), "separates"),
        (lambda: logistic_calibration([0.9, 0.1, 0.1], np.array([1, 1, 0], bool)), "-scores"),
        (lambda: logistic_calibration([0.5, 0.5], np.array([True, False])), "are equal"),
        (lambda: logistic_calibration([0, 1], np.array([True, False])), "two different values"),
        (lambda: logistic_calibration([0.1, 0.9], np.array([True, False]), prior=1.0), "prior"),
        (lambda: pav_calibration([0.1, 0.9], np.array([True, True])), "0 imposter"),
        (lambda: cllr([math.nan, 0.9], np.array([True, False])), "NaN"),
        (lambda: empirical_cross_entropy([1, 0], np.array([True, False]), [math.inf]), "finite"),
        (lambda: empirical_cross_entropy([1, 0], np.array([True, False]), [[0.0]]), "shape"),
        (lambda: cllr([1, 0, 2], np.array([True, False])), "log_likelihood_ratios"),
    ],
)
def test_trials_that_cannot_be_calibrated_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_prior_must_be_a_number():
    with pytest.raises(TypeError, match="prior"):
        logistic_calibration([0.1, 0.9], np.array([True, False]), prior=".5")


def test_similarities_are_refused_by_the_logistic_calibration():
    scores, genuine, _ = trials(CASES[0])
    with pytest.raises(ValueError, match="-scores"):
        logistic_calibration(-scores, genuine)


@pytest.mark.parametrize("unit", [1e-200, 1e-12, 1e12, 1e200])
def test_calibrations_do_not_depend_on_the_unit_of_the_scores(unit):
    scores, genuine, ratios = trials(CASES[0])
    line = logistic_calibration(unit * scores, genuine)
    np.testing.assert_allclose(line(unit * scores), ratios, rtol=0, atol=1e-4)
    steps = pav_calibration(unit * scores, genuine)(unit * scores)
    np.testing.assert_array_equal(steps, pav_calibration(scores, genuine)(scores))
    assert min_cllr(unit * scores, genuine) == min_cllr(scores, genuine)


@pytest.mark.filterwarnings("error")
def test_the_cross_entropy_of_extreme_odds_is_finite():
    genuine = np.array([True, False])
    costs = empirical_cross_entropy([math.inf, -math.inf], genuine, [-800.0, 0.0, 800.0])
    assert costs.tolist() == [0, 0, 0]
    costs = empirical_cross_entropy([-math.inf, 0.0], genuine, [-800.0, 800.0])
    assert costs.tolist() == [0, math.inf]
    np.testing.assert_allclose(empirical_cross_entropy([0.0, 0.0], genuine, [-800, 800]), 0)


def test_all_names_are_public():
    names = ("LogisticCalibration", "PavCalibration", "actual_detection_cost", "min_cllr")
    assert {*names} <= {*evaluation.__all__}
