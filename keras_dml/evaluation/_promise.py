"""The threshold that keeps a false match rate on people who were never used."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

import numpy as np

from keras_dml import _percents
from keras_dml.evaluation._false_accepts import of_pairs, said_rate
from keras_dml.evaluation._imposter_pairs import ImposterPairs
from keras_dml.evaluation._people_weights import ACCEPTED_OF_ONE_MORE
from keras_dml.evaluation._thresholds import check_far

# Fraction of the trials with everybody else that a new person may have accepted: half as a probe.
OF_A_NEW_PERSON = ACCEPTED_OF_ONE_MORE / 2


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
        return strictest(self.people)

    def people_needed(self, far):
        """Number of people that can promise another rate."""
        return needed(far)

    def __str__(self):
        bounds = _percents.interval(self.ci95)
        return (
            f"threshold {self.threshold:.4g} for FAR at most {100 * self.far:g} %: "
            f"{100 * self.rate:.3g} % [{bounds}] of {self.trials:,} imposter trials of "
            f"{self.people} people, who can promise {said_rate(self.strictest)} and more"
        )


def promise(scores, people, far):
    """Computes the largest threshold that promises a false match rate to two new people.

    The rate is a mean over people. All n + 2 people are exchangeable: the n people at hand and the
    two people of a later trial. The scores may have any distribution. One thing is assumed: a new
    person is accepted in at most a fraction c of the trials with everybody else, on average over
    these others. If p is the largest fraction of the trials of the n people that a threshold may
    accept, the rate is at most `2 (n p + min(1, 2 c)) / (n + 2)`. The threshold is the largest one
    for which this bound is at most `far`.

    c is 1/4, the fraction of a person who is accepted in half of all claims to be somebody else, as
    in `false_accepts`. If one of the n people is accepted more often, c is this person's fraction.
    From c = 1/2 on the bound assumes nothing. To assume nothing from the start takes twice as many
    people, and their thresholds were some 50 times too strict: in simulations 38 people who were
    promised 5 % had a rate of .05 to .26 % and a true accept rate of 12 to 50 %. Now these rates
    are 1.3 to 2.0 % and 78 to 92 %. The rate was at most 5 % for 83 to 100 % of the groups of 38.

    The rate of the threshold of n particular people lies about the mean; see `ci95`.

    Proof. Of N = n + 2 exchangeable people take any two, e, for the new ones. The threshold t_e is
    set without them, and b_e is the fraction of their trials that it accepts. The rate is the mean
    of b_e over the `N (N - 1) / 2` pairs; W is the sum of b_e. Of two pairs e and f that share
    nobody with `t_f <= t_e`, f is among the pairs that t_e was set on, of which it accepts a sum of
    at most `m = p n (n - 1) / 2`. So b_e b_f adds at most `2 m W` over all ordered pairs of such e
    and f. Pairs that share a person add at most `sum(d_v^2)`, where d_v, the sum of b_e at person
    v, is at most `c (N - 1)` and sums to 2 W. Together `W^2 <= 2 m W + 2 c (N - 1) W`, which is
    `W <= p n (n - 1) + 2 c (n + 1)`. Without an assumption the matrix of pairs by shared people,
    whose eigenvalues are 2 (N - 1) for the mean and else N - 2 or 0, gives `sum(d_v^2) <= (N - 2)
    sum(b_e^2) + 2 W^2 / (N - 1)`, and with `sum(b_e^2) <= W` the bound `W <= (n + 1) (1 + n p)`.

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
        ValueError: If `far` is out of range, `scores` is empty, a score is not finite, a trial is
            of one person alone, two people have no trial, or so few people cannot promise the rate:
            the message says how many can.

    >>> import numpy as np
    >>> people = np.arange(40)
    >>> scores = np.random.default_rng(0).normal(size=(40, 40))
    >>> apart = people[:, None] != people
    >>> found = promise(scores[apart], np.nonzero(apart), 0.1)
    >>> round(found.rate, 3), round(found.strictest, 3), found.people_needed(0.01)
    (0.04, 0.024, 98)
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
            f"{needed(far):,}, and these can promise {said_rate(strictest(n))}. Give more people, "
            "or a larger `far`."
        )
    thresholds = np.unique(pairs.scores)
    below = float(np.nextafter(thresholds[0], -np.inf))
    count = bisect.bisect_right(
        thresholds, far * (1 + 1e-9), key=lambda threshold: _bound(pairs, threshold)
    )
    limit = of_pairs(pairs, float(thresholds[count - 1]) if count else below)
    return Promise(
        far=float(far),
        threshold=limit.threshold,
        rate=limit.rate,
        ci95=limit.ci95,
        people=n,
        trials=pairs.trials,
    )


def _bound(pairs, threshold):
    """Returns the rate of two new people that a threshold is bound to keep."""
    accepted, n = pairs.accepted(threshold), pairs.people
    of_people = np.bincount(pairs.members.ravel(), np.repeat(accepted, 2)) / (n - 1)
    of_a_new_person = max(OF_A_NEW_PERSON, of_people.max())
    return 2 * (n * accepted.mean() + min(1, 2 * of_a_new_person)) / (n + 2)


def strictest(people):
    """Returns the lowest rate that a number of people can promise."""
    return 4 * OF_A_NEW_PERSON / (people + 2)


def needed(far):
    """Returns the number of people who can promise a rate."""
    return max(2, math.ceil(4 * OF_A_NEW_PERSON / far * (1 - 1e-9)) - 2)
