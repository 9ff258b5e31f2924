"""The threshold of a false accept rate, with what so few people support."""

from __future__ import annotations

from dataclasses import dataclass

from keras_dml import _percents
from keras_dml.evaluation import _tail
from keras_dml.evaluation._bootstrap import RULE_OF_THREE
from keras_dml.evaluation._false_accepts import (
    needed,
    of_pairs,
    said_people,
    said_rate,
    strictest,
)
from keras_dml.evaluation._imposter_pairs import ImposterPairs
from keras_dml.evaluation._thresholds import check_far

COUNTED = "counted over people"
EXTRAPOLATED = "extrapolated by a generalized Pareto tail"
REACH = 10  # a tail is followed to a tenth of the rate that is supported


@dataclass(frozen=True)
class Certificate:
    """What people support of a false accept rate; printing it says so in words.

    Attributes:
        far: Rate that was asked for.
        threshold: Accepted where `score <= threshold`.
        ci95: 95 % interval of the false accept rate of as many other people; where it is
            extrapolated, of the modeled rate over drawn people.
        people: Number of people.
        trials: Number of imposter trials.
        independent: Number of independent pairs of people that these trials are worth.
        method: Whether the threshold was counted over people, or extrapolated by a model.
    """

    far: float
    threshold: float
    ci95: tuple[float, float]
    people: int
    trials: int
    independent: float
    method: str

    @property
    def strictest(self):
        """The lowest rate that these people support, a fraction."""
        return strictest(self.independent)

    def people_needed(self, far):
        """Returns the fewest and the most people whom another rate would need.

        The first number suffices if pairs of more people stay worth as much as these pairs. The
        second number suffices however much people differ. The range is wide because few people say
        little about how people differ: estimates of one number from 15 people ranged from 86 to
        1,200.

        Args:
            far: False accept rate.

        Returns:
            `(fewest, most)`.
        """
        return needed(far, self.people, self.independent)

    def __str__(self):
        stricter = self.far / 10
        bounds = _percents.interval(self.ci95)
        return (
            f"threshold {self.threshold:.4g} for FAR {100 * self.far:g} % [{bounds}], "
            f"{self.method}: {self.people} people, {self.trials:,} imposter trials worth "
            f"{self.independent:,.0f} independent pairs of people, which support FAR "
            f"{said_rate(self.strictest)} and more; {100 * stricter:g} % would need about "
            f"{said_people(self.people_needed(stricter))} people"
        )


def certificate(scores, people, far, *, extrapolate=False):
    """The threshold that accepts a fraction of the imposters, and what so few people support.

    Trials that share a person are not independent, and everybody is in many trials. The variance
    between people says how many independent pairs of people N the trials are worth: from n / 2
    pairs that share nobody to all n (n - 1) / 2. `false_accepts` computes the interval. In
    simulations it held the rate of as many other people also for thresholds chosen from the same
    scores, see `tests/evaluation/test_monotone.py`.

    Were nobody of N accepted, the rate could still be 3 / N (rule of three, Jovanovic1997). A lower
    rate is beyond what the people support, and refused.

    Args:
        scores: Distances of imposter trials, any shape; smaller is closer. Give the trials of
            everybody who claims to be everybody else, or everybody else of a group.
        people: `(probe_ids, claimed_ids)`, the two people of each trial, each of a shape that
            broadcasts to that of `scores`.
        far: False accept rate, above 0 and below 1.
        extrapolate: Whether a rate beyond what the people support, to a tenth of it, is read off a
            generalized Pareto tail of the lowest tenth of the scores, as ISO/IEC 5152:2024 does by
            extreme values. No trial shows such a rate: that is a model, not a promise. In splits of
            walkers and voices others had 1.1 to 2.5 times the rate, and the intervals held in 81 to
            99 %.

    Returns:
        `Certificate`.

    Raises:
        TypeError: If the scores are not real numbers, or names are of several kinds.
        ValueError: If `far` is none, there is no trial, a score is not finite, a trial is of one
            person alone, or the rate is beyond what the people support: the message says how many
            people it would take.

    >>> import numpy as np
    >>> people = np.arange(40)
    >>> scores = np.random.default_rng(0).normal(size=(40, 40))
    >>> apart = people[:, None] != people
    >>> found = certificate(scores[apart], np.nonzero(apart), 0.05)
    >>> round(found.threshold, 2), found.people, found.people_needed(0.005)
    (-1.57, 40, (41, 1200))
    >>> certificate(scores[apart], np.nonzero(apart), 0.001)
    Traceback (most recent call last):
    ValueError: FAR 0.1 % is beyond what these 40 people support, ...
    """
    check_far(far)
    pairs = ImposterPairs(scores, people)
    finest = min(1.0, RULE_OF_THREE / len(pairs.members))  # were all pairs independent
    found = of_pairs(pairs, pairs.threshold(max(far, finest)))
    least = strictest(found.independent)
    if far >= least:
        return _certificate(pairs, far, found, found.threshold, found.ci95, COUNTED)
    if not extrapolate:
        instead = "`extrapolate=True` gives what a model of the tail says, which is no promise"
        raise ValueError(_refusal(far, found, instead))
    if far * REACH < least:
        raise ValueError(_refusal(far, found, f"a tail is followed to a {REACH}th of that"))
    model = _model(pairs, far, least)
    if model is None:
        raise ValueError(_refusal(far, found, "too few of the lowest scores differ to show a tail"))
    threshold = model.threshold(far)
    interval = _tail.far_interval(pairs, threshold, model.start)
    return _certificate(pairs, far, found, threshold, interval, EXTRAPOLATED)


def _certificate(pairs, far, found, threshold, interval, method):
    return Certificate(
        far=float(far),
        threshold=threshold,
        ci95=interval,
        people=pairs.people,
        trials=pairs.trials,
        independent=found.independent,
        method=method,
    )


def _model(pairs, far, least):
    """The tail from which a rate is read; None where ties leave fewer scores below its start."""
    start = pairs.threshold(max(_tail.FRACTION, least))
    found = _tail.tail(pairs.scores, pairs.weights, start)
    return None if found is None or found.rate < far else found


def _refusal(far, found, instead):
    count = said_people(needed(far, found.people, found.independent))
    return (
        f"FAR {100 * far:g} % is beyond what these {found.people} people support, "
        f"{said_rate(strictest(found.independent))}: their {found.trials:,} imposter trials are "
        f"worth {found.independent:,.0f} independent pairs of people. It would take about "
        f"{count} people. Give more people, or a larger `far`; {instead}."
    )
