"""Minimum detection cost of verification."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import number, positive
from keras_dml.evaluation._checks import check_trials
from keras_dml.evaluation._equal_error_rate import error_curve


@dataclass(frozen=True)
class DetectionCost:
    """The minimum normalized detection cost and its counts.

    Attributes:
        cost: At best 0; 1 is that of always accepting or always rejecting, whichever costs less.
        threshold: Threshold that reaches it, in units of the scores; the smallest of several, and
            -inf where nothing is better than accepting nobody.
        prior: Probability of a genuine trial.
        genuine: Number of genuine trials.
        imposter: Number of imposter trials.
    """

    cost: float
    threshold: float
    prior: float
    genuine: int
    imposter: int

    def __str__(self):
        return (
            f"minDCF {self.cost:.3f} at prior {self.prior:g} ({self.genuine:,} genuine, "
            f"{self.imposter:,} imposter trials)"
        )


def detection_cost(scores, genuine, *, prior=0.05, cost_miss=1.0, cost_false_accept=1.0):
    """Minimum detection cost (minDCF), as reported in speaker verification.

    `min_t [C_miss prior FRR(t) + C_fa (1 - prior) FAR(t)] / min(C_miss prior, C_fa (1 - prior))`.
    The threshold is chosen on the same trials, so the figure is a lower bound of what it costs.

    Args:
        scores: Distances of the trials, any shape; smaller is closer. A similarity S enters as -S.
        genuine: Booleans of the same shape, True where probe and claim are one person.
        prior: Probability that a trial is genuine, above 0 and below 1.
        cost_miss: Cost of rejecting a genuine trial, above 0.
        cost_false_accept: Cost of accepting an imposter, above 0.

    Returns:
        `DetectionCost`; printing it shows the cost and its counts.

    Raises:
        TypeError: `genuine` is not boolean.
        ValueError: Shapes differ, a score is not finite, one kind of trial is missing, or a prior
            or a cost is out of range.

    >>> detection_cost([0.1, 0.3, 0.2, 0.9], np.array([True, True, False, False])).cost
    0.5
    """
    miss, false_accept = _prices(prior, cost_miss, cost_false_accept)
    scores, genuine = check_trials(scores, genuine)
    thresholds, far, tar = error_curve(scores, genuine)
    costs = (miss * (1.0 - tar) + false_accept * far) / min(miss, false_accept)
    best = int(np.argmin(costs))
    count = int(genuine.sum())
    return DetectionCost(
        cost=float(costs[best]),
        threshold=float(thresholds[best]),
        prior=float(prior),
        genuine=count,
        imposter=genuine.size - count,
    )


def bayes_threshold(*, prior=0.05, cost_miss=1.0, cost_false_accept=1.0):
    """The similarity above which accepting costs less, if similarities are log likelihood ratios.

    `log(C_fa (1 - prior) / (C_miss prior))`. The pair term of Monteiro2020 (Eq. 3) aims at such
    ratios; whether a model's are must be seen on a development set before this threshold is used.

    Args:
        prior: Probability that a trial is genuine, above 0 and below 1.
        cost_miss: Cost of rejecting a genuine trial, above 0.
        cost_false_accept: Cost of accepting an imposter, above 0.

    Returns:
        Threshold of the similarity S; as a distance -S, minus that.

    Raises:
        ValueError: The prior or a cost is out of range.

    >>> round(bayes_threshold(prior=0.5, cost_false_accept=10.0), 3)
    2.303
    """
    miss, false_accept = _prices(prior, cost_miss, cost_false_accept)
    return math.log(false_accept / miss)


def _prices(prior, cost_miss, cost_false_accept):
    """Cost of rejecting all genuine trials and of accepting all imposters."""
    prior = number("prior", prior)
    if not 0.0 < prior < 1.0:
        raise ValueError(f"`prior` must be a probability above 0 and below 1. Received {prior!r}.")
    cost_miss = positive("cost_miss", cost_miss)
    return cost_miss * prior, positive("cost_false_accept", cost_false_accept) * (1.0 - prior)
