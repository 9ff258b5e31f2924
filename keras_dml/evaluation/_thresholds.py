"""Thresholds that keep the false accept rate at or below a wanted one."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from keras_dml import _percents
from keras_dml.evaluation._checks import check_trials
from keras_dml.evaluation._equal_error_rate import ON_DIAGONAL, error_curve


@dataclass(frozen=True)
class TarAtFar:
    """The true accept rate at a wanted false accept rate; NaN where the trials are too few."""

    far: float
    tar: float
    threshold: float
    imposter: int

    @property
    def measurable(self):
        """Whether one false accept among the imposter trials stays within the wanted rate."""
        return self.imposter >= min_imposters(self.far)

    def __str__(self):
        if not self.measurable:
            return (
                f"TAR at FAR {100 * self.far:g} % not measurable: {self.imposter:,} imposter "
                f"trials, at least {min_imposters(self.far):,} needed"
            )
        return f"TAR {100 * self.tar:.1f} % at FAR {100 * self.far:g} %"


@dataclass(frozen=True)
class FarThreshold:
    """A threshold for a wanted false accept rate, with a confidence interval of the rate."""

    far: float
    value: float
    trials: int
    far_ci95: tuple[float, float]

    def __str__(self):
        return (
            f"threshold {self.value:.4g} for FAR {100 * self.far:g} % (95 % interval "
            f"{_percents.interval(self.far_ci95)}, {self.trials:,} imposter trials)"
        )


def check_far(far):
    """Raise unless a false accept rate is a fraction above 0 and below 1."""
    if not isinstance(far, numbers.Real) or not 0.0 < far < 1.0:
        raise ValueError(
            f"`far` must be a fraction above 0 and below 1, as 0.01 for 1 %. Received {far!r}."
        )


def min_imposters(far):
    """Smallest number of imposter trials of which one is at most the fraction `far`."""
    return math.ceil(1.0 / far - 1e-9)


def last_point_within(far, wanted):
    """Index of the last point of error curves whose FAR, shape `(..., points)`, is <= `wanted`."""
    return np.sum(far <= wanted + ON_DIAGONAL, axis=-1) - 1


def tar_at_far(thresholds, far, tar, wanted, imposter):
    """The highest true accept rate of an error curve whose FAR is at most `wanted`."""
    if imposter < min_imposters(wanted):
        return TarAtFar(wanted, math.nan, math.nan, imposter)
    index = last_point_within(far, wanted)
    return TarAtFar(wanted, float(tar[index]), float(thresholds[index]), imposter)


def threshold_at_far(scores, genuine, far):
    """The largest observed score that, as a threshold, accepts at most a fraction of the imposters.

    For the `thresholds` of a model card: `dataclasses.asdict(threshold_at_far(...))` has its keys.
    The interval is that of Clopper and Pearson for the rate of false accepts, from the imposters
    accepted at this threshold. It takes trials as independent; trials that share people carry
    less information, so give one trial for each pair of people, or use `certificate`.

    Args:
        scores: Distances of the trials, any shape; smaller is closer.
        genuine: Booleans of the same shape, True where probe and claim are one person.
        far: Wanted fraction of imposter trials accepted, above 0 and below 1.

    Returns:
        `FarThreshold` with `far`, `value` (in units of the scores), `trials` (imposter trials) and
        `far_ci95`.

    Raises:
        TypeError: `genuine` is not boolean.
        ValueError: `far` is not between 0 and 1, there are fewer than 1 / `far` imposter trials, or
            the smallest scores are tied among too many imposters.

    >>> import numpy as np
    >>> scores = np.r_[0.1, 0.3, np.arange(1, 21) / 10]
    >>> threshold_at_far(scores, np.arange(22) < 2, far=0.05).value
    0.1
    """
    check_far(far)
    scores, genuine = check_trials(scores, genuine)
    imposters = scores[~genuine]
    if imposters.size < min_imposters(far):
        raise ValueError(
            f"A threshold for FAR {100 * far:g} % needs at least {min_imposters(far):,} "
            f"imposter trials. Received {imposters.size:,}. Use more people, or a larger `far`."
        )
    thresholds, far_curve, _ = error_curve(scores, genuine)
    value = float(thresholds[last_point_within(far_curve, far)])
    if value == -math.inf:
        raise ValueError(
            f"No threshold keeps FAR at {100 * far:g} %: "
            f"{int((imposters == scores.min()).sum()):,} of {imposters.size:,} imposter trials "
            f"have the smallest score, {scores.min():g}. The scores do not separate people."
        )
    accepted = int((imposters <= value).sum())
    interval = binomtest(accepted, imposters.size).proportion_ci(0.95, method="exact")
    return FarThreshold(
        far=float(far),
        value=value,
        trials=int(imposters.size),
        far_ci95=(float(interval.low), float(interval.high)),
    )
