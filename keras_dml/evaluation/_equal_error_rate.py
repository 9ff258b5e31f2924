"""The error curve of a list of trials and its equal error rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_curve

from keras_dml.evaluation._checks import check_trials

ON_DIAGONAL = 1e-12  # FAR and FRR are ratios of counts below 1e9: closer than this is equal


@dataclass(frozen=True)
class EqualErrorRate:
    """The equal error rate, the threshold that reaches it, and how many trials it rests on."""

    rate: float
    threshold: float
    genuine: int
    imposter: int

    def __str__(self):
        return (
            f"EER {100 * self.rate:.1f} % at threshold {self.threshold:.4g} ({self.genuine:,} "
            f"genuine, {self.imposter:,} imposter trials)"
        )


def error_curve(scores, genuine):
    """FAR and TAR at -inf and at every distinct score, in ascending order of the threshold.

    FAR(t) is the fraction of imposter trials with score <= t, TAR(t) that of genuine trials and
    FRR(t) = 1 - TAR(t). No point is left out, so that lines between neighbors are the true curve.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.

    Returns:
        `(thresholds, far, tar)`, each of shape `(points,)`; from (-inf, 0, 0) to (max, 1, 1).
    """
    far, tar, negated = roc_curve(genuine, -scores, drop_intermediate=False)
    return -negated, far, tar


def crossing(far, tar):
    """Equal error rate on the straight lines between the points of error curves.

    Args:
        far: False accept rates, shape `(..., points)`, ascending along the last axis.
        tar: True accept rates, same shape, ascending.

    Returns:
        `(rate, index)`: the equal error rate and the first point at or after the crossing, both of
        shape `(...)`.
    """
    gap = far - (1.0 - tar)  # FAR - FRR, from -1 to 1
    index = np.argmax(gap > -ON_DIAGONAL, axis=-1)
    at = np.stack([index - 1, index], axis=-1)
    far, gap = np.take_along_axis(far, at, axis=-1), np.take_along_axis(gap, at, axis=-1)
    weight = gap[..., 0] / (gap[..., 0] - gap[..., 1])
    return far[..., 0] + weight * (far[..., 1] - far[..., 0]), index


def crossing_threshold(thresholds, far, tar, index):
    """Threshold of the equal error rate of one curve, which crosses the diagonal at point `index`.

    A point on the diagonal holds from its own score to the next at which the curve changes. The
    threshold is the middle of this interval, for separated trials the middle of the gap.
    Otherwise it is the score of the point.
    """
    behind = far + tar - 1.0 > ON_DIAGONAL
    if behind[index]:
        return thresholds[index]
    return (thresholds[index] + thresholds[np.argmax(behind)]) / 2


def equal_error_rate(scores, genuine):
    """The rate at which false accepts and false rejects are equally frequent.

    FAR = FRR on straight lines between the points (FAR, FRR) over all thresholds from -inf, (0, 1),
    to the largest score, (1, 0). Neither the nearest point nor the convex hull of the ROC: both
    give other numbers on short lists of trials.

    Args:
        scores: Distances of the trials, any shape; smaller is closer, accepted where
            `score <= threshold`. A similarity S enters as -S.
        genuine: Booleans of the same shape, True where probe and claim are one person.

    Returns:
        `EqualErrorRate` with `rate`, `threshold` (in units of the scores; the middle of the
        interval where the curve stands on the diagonal), and the numbers of trials.

    Raises:
        TypeError: `genuine` is not boolean.
        ValueError: Shapes differ, a score is not finite, or one kind of trial is missing.

    >>> import numpy as np
    >>> scores, genuine = np.array([0.1, 0.25, 0.75, 0.9]), np.array([1, 1, 0, 0], bool)
    >>> equal_error_rate(scores, genuine)
    EqualErrorRate(rate=0.0, threshold=0.5, genuine=2, imposter=2)
    """
    scores, genuine = check_trials(scores, genuine)
    thresholds, far, tar = error_curve(scores, genuine)
    rate, index = crossing(far, tar)
    count = int(genuine.sum())
    return EqualErrorRate(
        rate=float(rate),
        threshold=float(crossing_threshold(thresholds, far, tar, index)),
        genuine=count,
        imposter=genuine.size - count,
    )
