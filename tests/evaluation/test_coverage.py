"""Tests that 95 % confidence intervals over people contain the true metric in about 95 % of the
simulated samples.

`python -m tests.bench.coverage` runs a larger simulation with 100 people.
"""

import numpy as np
import pytest

from keras_dml import evaluation
from keras_dml.evaluation._intervals import mean_interval
from tests.evaluation import fresh_worlds, worlds

DRAWS, REPLICATES = 200, 200
# With a true coverage of 95 %, 182 or fewer of 200 intervals hold with a probability of 1.9 %.
LEAST = 183
# The threshold of a TAR depends on the few lambs and wolves among the people.
LEAST_OF_TAR = 176


def covered(world, eer, people, recordings):
    """Counts how many intervals of each metric contain the metric of the whole population."""
    truth = worlds.truth(world, eer)
    counts = dict.fromkeys(("eer", "auc", "tar", "far at a threshold", "tar at a threshold"), 0)
    for seed in range(DRAWS):
        drawn = worlds.trials(world, eer, people, recordings, [seed, people])
        figures = evaluation.verification(
            drawn.scores, drawn.genuine, people=drawn.people, bootstrap=REPLICATES
        )
        rates = evaluation.accept_rates(
            drawn.scores, drawn.genuine, truth.threshold, people=drawn.people, bootstrap=REPLICATES
        )
        intervals = {
            "eer": (figures.intervals["eer"], truth.eer),
            "auc": (figures.intervals["auc"], truth.auc),
            "tar": (figures.intervals.get("tar_at_far_0.01", (0, 1)), truth.tar),
            "far at a threshold": (rates.far_ci95, 0.01),
            "tar at a threshold": (rates.tar_ci95, truth.tar),
        }
        for name, ((low, high), value) in intervals.items():
            counts[name] += low <= value <= high
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "eer", "people", "recordings"),
    [
        ("strong", 0.05, 10, 2),
        ("mild", 0.05, 10, 2),
        ("strong", 0.05, 25, 1),
        ("strong", 0.016, 25, 1),
    ],
)
def test_intervals_over_people_have_their_nominal_coverage(world, eer, people, recordings):
    counts = covered(world, eer, people, recordings)
    assert counts.pop("tar") >= LEAST_OF_TAR
    assert min(counts.values()) >= LEAST, counts


@pytest.mark.slow
@pytest.mark.parametrize("world", sorted(fresh_worlds.SHIFTS))
def test_intervals_cover_the_truth_in_worlds_without_tuning(world):
    people, draws = 12, 60
    truth = fresh_worlds.truth(world, people)
    counts = dict.fromkeys(("eer", "auc", "tar", "far at a threshold"), 0)
    for seed in range(draws):
        drawn = fresh_worlds.trials(world, people, 3, [seed, 1])
        figures = evaluation.verification(
            drawn.scores, drawn.genuine, people=drawn.people, bootstrap=REPLICATES
        )
        rates = evaluation.accept_rates(
            drawn.scores, drawn.genuine, truth.threshold, people=drawn.people, bootstrap=REPLICATES
        )
        for name, (low, high), value in (
            ("eer", figures.intervals["eer"], truth.eer),
            ("auc", figures.intervals["auc"], truth.auc),
            ("tar", figures.intervals["tar_at_far_0.01"], truth.tar),
            ("far at a threshold", rates.far_ci95, 0.01),
        ):
            counts[name] += low <= value <= high
    # 53 is the 1 % quantile of the number of 60 intervals that hold with a coverage of 95 %.
    assert min(counts.values()) >= 53, counts


@pytest.mark.slow
def test_the_worlds_have_the_rates_that_they_are_named_after():
    for world, eer in worlds.SHIFTS:
        assert worlds.truth(world, eer).eer == pytest.approx(eer, rel=0.02)


def test_an_interval_of_a_skewed_mean_over_people_covers_it():
    """Tests intervals for an accuracy of 97 %. Every eighth person fails in a quarter of the
    trials, and the other people never fail.
    """
    held = 0
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        right = np.where(rng.uniform(size=12) < 1 / 8, 0.75, 1.0)
        answers = rng.uniform(size=(12, 6)) < right[:, None]
        low, high = mean_interval(
            answers.ravel().astype(float), np.repeat(np.arange(12), 6), draws=REPLICATES
        )
        held += low <= 1 - 0.25 / 8 <= high
    assert held >= LEAST
