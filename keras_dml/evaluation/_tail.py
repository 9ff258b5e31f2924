"""The lower tail of imposter scores, beyond those seen: a generalized Pareto distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import genpareto, norm

FRACTION = 0.1  # of the imposter trials, the lowest: those that the tail is fitted to
DRAWS, SEED = 1000, 0
# Percentiles of the rate of as many other people, which differs by twice the variance.
OF_OTHERS = 100 * norm.cdf(np.sqrt(2) * norm.ppf([0.025, 0.975]))


@dataclass(frozen=True)
class Tail:
    """Model of the scores below a start: `P(score <= t) = rate * sf(start - t)`.

    Attributes:
        start: Score from which the model holds downward.
        rate: Fraction of the imposters that are there.
        shape: Shape of the generalized Pareto distribution; below 0 it ends.
        scale: Its scale, in units of the scores.
    """

    start: float
    rate: float
    shape: float
    scale: float

    def far(self, threshold):
        """False accept rate of a threshold at or below the start."""
        beyond = genpareto.sf(self.start - threshold, self.shape, scale=self.scale)
        return float(self.rate * beyond)

    def threshold(self, far):
        """Threshold of a false accept rate at or below that of the start."""
        return float(self.start - genpareto.isf(far / self.rate, self.shape, scale=self.scale))


def tail(scores, weights, start):
    """The tail of weighted scores, by probability-weighted moments (Hosking1987).

    With excesses x over the start, `a0 = mean(x)` and `a1 = mean(x (1 - F(x)))` give the shape
    `2 - a0 / (a0 - 2 a1)` and the scale `2 a0 a1 / (a0 - 2 a1)`; they hold for few excesses, where
    the likelihood often has no maximum.

    Args:
        scores: Shape `(trials,)`.
        weights: Weight of each, 1 in all.
        start: Score from which the model holds downward; some scores are below it.

    Returns:
        `Tail`, or None where the scores below the start are all one.
    """
    below = scores < start
    order = np.argsort(-scores[below], kind="stable")
    excess, share = (start - scores[below])[order], weights[below][order]
    rate = share.sum()
    if rate == 0:
        return None
    share = share / rate
    beyond = 1 - np.cumsum(share) + share / 2
    first, second = share @ excess, share @ (excess * beyond)
    spread = first - 2 * second
    if spread <= 0:
        return None
    return Tail(
        float(start), float(rate), float(2 - first / spread), float(2 * first * second / spread)
    )


def far_interval(pairs, threshold, start):
    """95 % interval of the modeled rate of a threshold: percentiles over drawn people.

    Args:
        pairs: `ImposterPairs`.
        threshold: Threshold below the start.
        start: See `tail`.
    """
    rng, rates = np.random.default_rng(SEED), []
    while len(rates) < DRAWS:
        drawn = np.bincount(rng.integers(pairs.people, size=pairs.people), minlength=pairs.people)
        if drawn[pairs.members].all(axis=1).any():
            found = tail(pairs.scores, pairs.weights_of_draw(drawn), start)
            rates.append(0.0 if found is None else found.far(threshold))
    low, high = np.percentile(rates, OF_OTHERS)
    return float(low), float(high)
