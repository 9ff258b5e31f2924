"""How often a threshold takes one person for another, and what so few people say about it."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

import numpy as np

from keras_dml import _percents
from keras_dml.evaluation._bootstrap import RULE_OF_THREE
from keras_dml.evaluation._imposter_pairs import (
    ImposterPairs,
    independent_pairs,
    interval_of_others,
)


@dataclass(frozen=True)
class FalseAccepts:
    """False accept rate of a threshold, with its interval over people.

    Attributes:
        threshold: Accepted where `score <= threshold`.
        rate: Fraction of imposter trials accepted, the mean over pairs of people.
        ci95: 95 % interval of the rate of as many other people.
        people: Number of people.
        trials: Number of imposter trials.
        independent: Number of independent pairs of people that these trials are worth.
    """

    threshold: float
    rate: float
    ci95: tuple[float, float]
    people: int
    trials: int
    independent: float

    @property
    def strictest(self):
        """The lowest rate that these people support, a fraction."""
        return strictest(self.independent)

    def people_needed(self, far):
        """The fewest and the most people of another rate, see `Certificate.people_needed`."""
        return needed(far, self.people, self.independent)

    def __str__(self):
        bounds = _percents.interval(self.ci95)
        return f"FAR {100 * self.rate:.3g} % [{bounds}] at threshold {self.threshold:.4g}"


def false_accepts(scores, people, threshold):
    """The rate at which a threshold takes people for others, with its interval over people.

    Every pair of people counts alike, however many trials it has. The interval is wide enough for
    the rate of as many other people. It weights people at random and adds one more person, see
    `verification`. This person is accepted in half of the claims or more at the upper end, and in
    none at the lower end. An added false accept never lowers an end of the interval.

    Args:
        scores: Distances of imposter trials, any shape; smaller is closer. Give the trials of
            everybody who claims to be everybody else, or everybody else of a group.
        people: `(probe_ids, claimed_ids)`, the two people of each trial, each of a shape that
            broadcasts to that of `scores`.
        threshold: Threshold, in units of the scores.

    Returns:
        `FalseAccepts`.

    Raises:
        TypeError: If the scores are not real numbers, or names are of several kinds.
        ValueError: If there is no trial, a score is not finite, a trial is of one person alone, or
            `threshold` is not a number.

    >>> rng = np.random.default_rng(0)
    >>> people = np.arange(20)
    >>> scores = rng.normal(size=(20, 20))
    >>> apart = people[:, None] != people
    >>> probes, claims = np.nonzero(apart)
    >>> print(false_accepts(scores[apart], (probes, claims), -2.0))
    FAR 2.37 % [0.39 to 14 %] at threshold -2
    >>> print(false_accepts(scores[apart], (probes, claims), -9.0))
    FAR 0 % [0 to 13 %] at threshold -9
    """
    if not isinstance(threshold, numbers.Real) or np.isnan(threshold):
        raise ValueError(f"`threshold` must be a number, a distance. Received {threshold!r}.")
    return of_pairs(ImposterPairs(scores, people), threshold)


def of_pairs(pairs, threshold):
    """`false_accepts` of `ImposterPairs`."""
    accepted = pairs.accepted(threshold)
    independent = independent_pairs(accepted, pairs.members, pairs.people)
    rate = float(accepted.mean())
    return FalseAccepts(
        threshold=float(threshold),
        rate=rate,
        ci95=interval_of_others(accepted, pairs.members, pairs.people),
        people=pairs.people,
        trials=pairs.trials,
        independent=independent,
    )


def said_rate(rate):
    """A rate in percent, rounded up: what is said to be supported is."""
    digits = 1 - math.floor(math.log10(100 * rate))
    return f"{math.ceil(100 * rate * 10**digits - 1e-9) / 10**digits:g} %"


def strictest(independent):
    """The lowest rate that so many independent pairs of people support."""
    return min(1.0, RULE_OF_THREE / independent)


def needed(far, people, independent):
    """Returns the fewest and the most people whom a rate needs, where some are worth so many
    independent pairs.

    The fewest: pairs stay worth as much as those at hand, so that independent pairs grow as the
    square of the people. The most: people are worth one pair for every two of them, the least that
    they can be.

    Args:
        far: False accept rate.
        people: Number of people at hand.
        independent: Number of independent pairs that they are worth.
    """
    most = math.ceil(2 * RULE_OF_THREE / far * (1 - 1e-9))
    pairs = RULE_OF_THREE / far * people * (people - 1) / (2 * independent)
    fewest = math.ceil((1 + math.sqrt(1 + 8 * pairs)) / 2 * (1 - 1e-9))
    return min(fewest, most), most


def said_people(counts):
    """The fewest and the most people in words."""
    fewest, most = counts
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
