"""Tests `best_of_tries`, which computes false and true accept rates if a person may try several
times."""

import itertools

import numpy as np
import pytest

from keras_dml import evaluation
from tests.evaluation import worlds


def trials(people=8, recordings=5, seed=0):
    return worlds.trials("mild", 0.05, people, recordings, seed)


def loop(drawn, threshold, tries, is_genuine):
    """Computes the accept rate with a loop over all choices of `tries` recordings for each pair of
    people."""
    people = drawn.scores.shape[1]
    shares = []
    for probe, claimed in itertools.product(range(people), repeat=2):
        if (probe == claimed) != is_genuine:
            continue
        choices = itertools.combinations(drawn.scores[:, probe, claimed].tolist(), tries)
        shares.append(np.mean([min(choice) <= threshold for choice in choices]))
    return np.mean(shares)


@pytest.mark.parametrize("tries", [1, 2, 3, 5])
def test_rates_are_those_of_all_choices_of_recordings(tries):
    drawn = trials()
    result = evaluation.best_of_tries(*drawn[:2], 1.8, people=drawn.people, tries=tries)
    assert result.far == pytest.approx(loop(drawn, 1.8, tries, False))
    assert result.tar == pytest.approx(loop(drawn, 1.8, tries, True))
    assert result.far_once == pytest.approx(loop(drawn, 1.8, 1, False))
    assert result.tar_once == pytest.approx(loop(drawn, 1.8, 1, True))
    assert (result.people, result.pairs) == (8, 56)
    assert result.far_ci95[0] < result.far < result.far_ci95[1]
    assert result.tar_ci95[0] <= result.tar <= result.tar_ci95[1]


def test_one_try_has_the_rates_of_the_threshold_and_their_intervals():
    drawn = trials()
    result = evaluation.best_of_tries(*drawn[:2], 1.8, people=drawn.people, tries=1)
    rates = evaluation.accept_rates(*drawn[:2], 1.8, people=drawn.people)
    assert (result.far, result.tar) == pytest.approx((rates.far, rates.tar))
    assert result.far_ci95 == pytest.approx(rates.far_ci95)
    assert result.tar_ci95 == pytest.approx(rates.tar_ci95)


def test_three_tries_of_independent_recordings_have_nearly_three_times_the_far(rng):
    scores = rng.uniform(size=(30, 12, 12))
    genuine = np.broadcast_to(np.eye(12, dtype=bool), scores.shape)
    names = np.arange(12)
    result = evaluation.best_of_tries(scores, genuine, 0.01, people=(names[:, None], names))
    assert result.far_once == pytest.approx(0.01, rel=0.5)
    assert result.far == pytest.approx(1 - (1 - result.far_once) ** 3, rel=0.1)
    assert "best of 3: FAR" in str(result) and "% once)" in str(result)


def test_pairs_with_too_few_trials_are_left_out():
    drawn = trials(people=4, recordings=3)
    scores, genuine = drawn.scores.ravel(), drawn.genuine.ravel()
    sides = [np.broadcast_to(side, drawn.scores.shape).ravel() for side in drawn.people]
    rows = ~((sides[0] == 1) & (np.arange(scores.size) < 16))  # leaves out a recording of person 1
    people = tuple(side[rows] for side in sides)
    result = evaluation.best_of_tries(scores[rows], genuine[rows], 1.0, people=people)
    assert (result.people, result.pairs) == (3, 9)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (dict(tries=0), ValueError, "`tries` must be at least 1"),
        (dict(tries=6), ValueError, "number of genuine trials .* is 5. 6 tries need at least 6"),
        (dict(tries=1.5), TypeError, "`tries` must be an integer"),
        (dict(bootstrap=0), ValueError, "`bootstrap` must be at least 1"),
        (dict(people=None), TypeError, "`people` must be the pair"),
        (dict(threshold=np.nan), ValueError, "`threshold` must be a number"),
    ],
)
def test_invalid_arguments_of_best_of_tries_are_refused(changes, error, message):
    drawn = trials()
    options = dict(threshold=1.8, people=drawn.people) | changes
    with pytest.raises(error, match=message):
        evaluation.best_of_tries(*drawn[:2], **options)
