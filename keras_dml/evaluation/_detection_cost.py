"""Computes the minimum and the actual detection cost (DCF) of verification, and the Bayes threshold
of similarities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import number, positive, whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._calibration import check_ratios
from keras_dml.evaluation._checks import PeopleOfTrials, check_trials, person_codes
from keras_dml.evaluation._error_curves import error_curve
from keras_dml.evaluation._intervals import cost_interval


@dataclass(frozen=True)
class DetectionCost:
    """Minimum normalized detection cost (minDCF) of a list of trials.

    Attributes:
        cost: Minimum cost. The best value is 0. The cost is normalized: it is divided by the cost
            of accepting every trial or by the cost of rejecting every trial, whichever is lower.
        threshold: Smallest threshold with the minimum cost, in units of the scores. The threshold
            is -inf if rejecting every trial costs least.
        prior: Probability that a trial is genuine.
        genuine: Number of genuine trials.
        imposter: Number of imposter trials.
        cost_ci95: 95 % confidence interval of the cost. None if no bootstrap was run.
    """

    cost: float
    threshold: float
    prior: float
    genuine: int
    imposter: int
    cost_ci95: tuple[float, float] | None = None

    def __str__(self) -> str:
        bounds = "" if self.cost_ci95 is None else " [{:.3f} to {:.3f}]".format(*self.cost_ci95)
        return (
            f"minDCF {self.cost:.3f}{bounds} at prior {self.prior:g} ({self.genuine:,} genuine, "
            f"{self.imposter:,} imposter trials)"
        )


def detection_cost(
    scores: ArrayLike,
    genuine: ArrayLike,
    *,
    prior: float = 0.05,
    cost_miss: float = 1.0,
    cost_false_accept: float = 1.0,
    people: PeopleOfTrials | None = None,
    bootstrap: int = 0,
) -> DetectionCost:
    """Computes the minimum detection cost (minDCF), as reported in speaker verification.

    `min_t [C_miss prior FRR(t) + C_fa (1 - prior) FAR(t)] / min(C_miss prior, C_fa (1 - prior))`.
    The threshold `t` is chosen on the evaluated trials. On other trials, the cost at the threshold
    `t` is usually higher.

    Args:
        scores: Distances of the trials, any shape. Smaller is closer. For a similarity `S`, pass
            `-S` as the scores.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.
        prior: Probability that a trial is genuine, above 0 and below 1.
        cost_miss: Cost of rejecting a genuine trial, above 0.
        cost_false_accept: Cost of accepting an imposter trial, above 0.
        people: Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial (see
            `verification`). If `people` is given, the bootstrap draws a random weight for each
            person. If `people` is None, the bootstrap draws a random weight for each trial.
        bootstrap: Number of replicates for the 95 % confidence interval (see `verification`). If
            `bootstrap` is 0, no interval is computed. A usual value is 1000. In each replicate, the
            cost is minimized over all thresholds again.

    Returns:
        `DetectionCost`.

    Raises:
        TypeError: If `genuine` is not boolean, or if `bootstrap` is not a whole number.
        ValueError: If shapes differ, if a score is not finite, if genuine trials or imposter trials
            are missing, if `people` contradicts `genuine`, or if `prior`, a cost or `bootstrap` is
            out of range.

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


def actual_detection_cost(
    log_likelihood_ratios: ArrayLike,
    genuine: ArrayLike,
    *,
    prior: float = 0.05,
    cost_miss: float = 1.0,
    cost_false_accept: float = 1.0,
) -> float:
    """Computes the detection cost of log likelihood ratios at the Bayes threshold (actual DCF).

    The cost is normalized as in `detection_cost`. The threshold depends only on the prior and the
    costs, not on the evaluated trials. The difference between the actual cost and the minimum cost
    of the same ratios, `detection_cost(-ratios, genuine, ...)`, is the loss due to calibration
    (Bruemmer2006).

    Args:
        log_likelihood_ratios: Natural logarithms of the likelihood ratios, any shape, from
            `logistic_calibration` for example. Values may be infinite.
        genuine: Booleans in the shape of `log_likelihood_ratios`, True if the probe person is the
            claimed person.
        prior: Probability that a trial is genuine, above 0 and below 1.
        cost_miss: Cost of rejecting a genuine trial, above 0.
        cost_false_accept: Cost of accepting an imposter trial, above 0.

    Returns:
        Normalized cost. A cost above 1 means that accepting or rejecting every trial costs less.

    Raises:
        TypeError: If `genuine` is not boolean.
        ValueError: If the ratios are invalid (see `cllr`), or if `prior` or a cost is out of range.

    >>> actual_detection_cost([2.0, -1.0, 1.0], np.array([True, True, False]), prior=0.5)
    1.5
    """
    miss, false_accept = _prices(prior, cost_miss, cost_false_accept)
    ratios, genuine = check_ratios(log_likelihood_ratios, genuine)
    accepted = ratios > math.log(false_accept / miss)
    cost = miss * np.mean(~accepted[genuine]) + false_accept * np.mean(accepted[~genuine])
    return float(cost / min(miss, false_accept))


def bayes_threshold(
    *, prior: float = 0.05, cost_miss: float = 1.0, cost_false_accept: float = 1.0
) -> float:
    """Computes the Bayes threshold of a similarity. If the similarity of a trial is above the
    threshold, accepting the trial costs less than rejecting it.

    The threshold `log(C_fa (1 - prior) / (C_miss prior))` is optimal if similarities are log
    likelihood ratios. The pair term of Monteiro2020 (Eq. 3) trains similarities toward log
    likelihood ratios. Check the calibration of a model on a development set before you use the
    Bayes threshold.

    Args:
        prior: Probability that a trial is genuine, above 0 and below 1.
        cost_miss: Cost of rejecting a genuine trial, above 0.
        cost_false_accept: Cost of accepting an imposter trial, above 0.

    Returns:
        Threshold of the similarity S. For the distance `-S`, negate the result.

    Raises:
        ValueError: If `prior` or a cost is out of range.

    >>> round(bayes_threshold(prior=0.5, cost_false_accept=10.0), 3)
    2.303
    """
    miss, false_accept = _prices(prior, cost_miss, cost_false_accept)
    return math.log(false_accept / miss)


def _prices(prior, cost_miss, cost_false_accept):
    """Returns two costs: for rejecting all genuine trials, and for accepting all imposter
    trials."""
    prior = number("prior", prior)
    if not 0.0 < prior < 1.0:
        raise ValueError(f"`prior` must be a probability above 0 and below 1. Received {prior!r}.")
    cost_miss = positive("cost_miss", cost_miss)
    return cost_miss * prior, positive("cost_false_accept", cost_false_accept) * (1.0 - prior)
