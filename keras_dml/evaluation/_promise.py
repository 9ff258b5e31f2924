"""The threshold that keeps a false match rate on people never used, whatever the scores are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keras_dml.evaluation._false_accepts import of_pairs, said_interval, said_rate
from keras_dml.evaluation._imposter_pairs import ImposterPairs
from keras_dml.evaluation._thresholds import check_far


@dataclass(frozen=True)
class Promise:
    """A threshold whose false match rate is at most what was promised; printing it says so.

    Attributes:
        far: Rate that is promised, for two people who were never used, on average over the people
            that thresholds are set on.
        threshold: Accepted where `score <= threshold`.
        rate: Fraction of these people's imposter trials that it accepts, the mean over pairs.
        ci95: 95 % interval of the rate of as many other people.
        people: Number of people.
        trials: Number of imposter trials.
    """

    far: float
    threshold: float
    rate: float
    ci95: tuple[float, float]
    people: int
    trials: int

    @property
    def strictest(self):
        """The lowest rate that so many people can promise, a fraction."""
        return 2 / (self.people + 2)

    def people_needed(self, far):
        """Number of people that can promise another rate."""
        return needed(far)

    def __str__(self):
        return (
            f"threshold {self.threshold:.4g} for FAR at most {100 * self.far:g} %: "
            f"{100 * self.rate:.3g} % {said_interval(self)} of {self.trials:,} imposter trials of "
            f"{self.people} people, who can promise {said_rate(self.strictest)} and more"
        )


def promise(scores, people, far):
    """The largest threshold whose false match rate on two people never used is at most a fraction.

    Conformal, over people: nothing is assumed of the scores, only that people are exchangeable, the
    n given ones and the two of a later trial. With p the largest fraction of the trials between the
    n that the threshold may accept, the rate is at most `2 (1 + n p) / (n + 2)`, so the threshold
    is the largest with `p <= (far (n + 2) / 2 - 1) / n`, and `far` is at least `2 / (n + 2)`. Two
    people are new, who claims and who is claimed: with one fixed it would be `1 / (n + 1)`.

    The rate is a mean over who all n + 2 people are. That of the threshold of n given people lies
    about it, on either side; `ci95` says how far.

    Proof. Of N = n + 2 exchangeable people take any two, e, for the new ones: the threshold t_e is
    found without them, b_e is the fraction of their trials that it accepts. The rate is the mean of
    b_e over the `N (N - 1) / 2` pairs; W is its sum. Of two pairs e and f that share nobody with
    `t_f <= t_e`, f is among the pairs that t_e was found on, of which it accepts a sum of at most
    `m = p n (n - 1) / 2`; so `sum(b_e b_f) <= m W` over such e and f. Pairs that share a person add
    `(sum(d_v^2) - 2 sum(b_e^2)) / 2`, d_v the sum of b_e at person v. The matrix of pairs by
    shared people has the eigenvalues 2 (N - 1), of the mean, and N - 2 or 0, so that `sum(d_v^2) <=
    (N - 2) sum(b_e^2) + 2 W^2 / (N - 1)`, and `sum(b_e^2) <= W`. Together `W^2 <= 2 m W + (N - 3) W
    + 2 W^2 / (N - 1)`, which is `W <= (n + 1) (1 + n p)`.

    Args:
        scores: Distances of imposter trials, any shape; smaller is closer. Of a recording that is
            listened to while it grows, the least that it reaches.
        people: `(probe_ids, claimed_ids)`, the two people of each trial, each of a shape that
            broadcasts to that of `scores`; every two people have a trial.
        far: False match rate that is promised, above 0 and below 1.

    Returns:
        `Promise`.

    Raises:
        TypeError: If the scores are not real numbers, or names are of several kinds.
        ValueError: If `far` is none, there is no trial, a score is not finite, a trial is of one
            person alone, two people have no trial, or so few people cannot promise the rate: the
            message says how many can.

    >>> import numpy as np
    >>> people = np.arange(40)
    >>> scores = np.random.default_rng(0).normal(size=(40, 40))
    >>> apart = people[:, None] != people
    >>> found = promise(scores[apart], np.nonzero(apart), 0.1)
    >>> round(found.rate, 3), round(found.strictest, 3), found.people_needed(0.01)
    (0.027, 0.048, 198)
    """
    check_far(far)
    pairs = ImposterPairs(scores, people)
    n = pairs.people
    if not pairs.is_complete:
        raise ValueError(
            "`people` must make a trial of every two people. Received trials of "
            f"{len(pairs.members):,} of the {n * (n - 1) // 2:,} pairs of {n} people."
        )
    if n < needed(far):
        raise ValueError(
            f"{n} people cannot promise FAR {100 * far:g} % to people never used: that takes "
            f"{needed(far):,}, and these can promise {said_rate(2 / (n + 2))}. Give more people, "
            "or a larger `far`."
        )
    seen = max(0.0, (far * (n + 2) / 2 - 1) / n)
    found = of_pairs(pairs, pairs.threshold(seen))
    return Promise(
        far=float(far),
        threshold=found.threshold,
        rate=found.rate,
        ci95=found.ci95,
        people=n,
        trials=pairs.trials,
    )


def needed(far):
    """People who can promise a rate."""
    return max(2, math.ceil(2 / far * (1 - 1e-9)) - 2)
