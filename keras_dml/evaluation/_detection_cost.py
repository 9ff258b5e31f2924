"""Minimum detection cost of verification."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import number, positive, whole
from keras_dml.evaluation._checks import check_trials, person_codes
from keras_dml.evaluation._equal_error_rate import error_curve
from keras_dml.evaluation._people_weights import cost_interval


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
        cost_ci95: 95 % interval of the cost; None if no bootstrap was asked for.
    """

    cost: float
    threshold: float
    prior: float
    genuine: int
    imposter: int
    cost_ci95: tuple[float, float] | None = None

    def __str__(self):
        bounds = "" if self.cost_ci95 is None else " [{:.3f} to {:.3f}]".format(*self.cost_ci95)
        return (
            f"minDCF {self.cost:.3f}{bounds} at prior {self.prior:g} ({self.genuine:,} genuine, "
            f"{self.imposter:,} imposter trials)"
        )


def detection_cost(
    scores,
    genuine,
    *,
    prior=0.05,
    cost_miss=1.0,
    cost_false_accept=1.0,
    people=None,
    bootstrap=0,
):
    """Minimum detection cost (minDCF), as reported in speaker verification.

    `min_t [C_miss prior FRR(t) + C_fa (1 - prior) FAR(t)] / min(C_miss prior, C_fa (1 - prior))`.
    The threshold is chosen on the same trials, so the figure is a lower bound of what it costs.

    Args:
        scores: Distances of the trials, any shape; smaller is closer. A similarity S enters as -S.
        genuine: Booleans of the same shape, True where probe and claim are one person.
        prior: Probability that a trial is genuine, above 0 and below 1.
        cost_miss: Cost of rejecting a genuine trial, above 0.
        cost_false_accept: Cost of accepting an imposter, above 0.
        people: As in `verification`: with them the bootstrap weights people.
        bootstrap: Number of replicates for the 95 % interval, see `verification`; 0 for none, 1000
            is usual. Each replicate chooses the threshold anew.

    Returns:
        `DetectionCost`; printing it shows the cost and its counts.

    Raises:
        TypeError: `genuine` is not boolean, or `bootstrap` is not a whole number.
        ValueError: Shapes differ, a score is not finite, one kind of trial is missing, `people`
            contradicts `genuine`, or a prior, a cost or `bootstrap` is out of range.

    >>> detection_cost([0.1, 0.3, 0.2, 0.9], np.array([True, True, False, False])).cost
    0.5
    """
    miss, false_accept = _prices(prior, cost_miss, cost_false_accept)
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    shape = np.shape(scores)
    scores, genuine = check_trials(scores, genuine)
    codes = person_codes(people, genuine, shape)
    thresholds, far, tar = error_curve(scores, genuine)
    costs = (miss * (1.0 - tar) + false_accept * far) / min(miss, false_accept)
    best = int(np.argmin(costs))
    count, bounds = int(genuine.sum()), None
    if bootstrap:
        prices = {"miss": miss, "false_accept": false_accept}
        bounds = cost_interval(scores, genuine, people=codes, draws=bootstrap, **prices)
    return DetectionCost(
        cost=float(costs[best]),
        threshold=float(thresholds[best]),
        prior=float(prior),
        genuine=count,
        imposter=genuine.size - count,
        cost_ci95=bounds,
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
