"""Error curves of verification trials (ROC and DET) and the point at which FAR equals FRR."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_curve

ON_DIAGONAL = 1e-12  # FAR and FRR are ratios of counts below 1e9: closer than this is equal


def error_curve(scores, genuine):
    """Computes FAR and TAR at -inf and at every distinct score, in ascending order of threshold.

    FAR(t) is the fraction of imposter trials with score <= t (false accept rate, also false match
    rate). TAR(t) is this fraction of genuine trials (true accept rate). FRR(t) = 1 - TAR(t) is the
    false reject rate. No point is left out, so lines between neighboring points are the true curve.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.

    Returns:
        `(thresholds, far, tar)`, each of shape `(points,)`, from (-inf, 0, 0) to (max, 1, 1).
    """
    far, tar, negated = roc_curve(genuine, -scores, drop_intermediate=False)
    return -negated, far, tar


class WeightedCurves:
    """Error curves of the same trials under many vectors of weights.

    A call takes weights of shape `(count, trials)` and returns FAR and TAR, both of shape
    `(count, points)`.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.
    """

    def __init__(self, scores, genuine):
        self.order = np.argsort(scores, kind="stable")
        ordered = scores[self.order]
        self.genuine = genuine[self.order]
        self.ends = np.append(np.flatnonzero(np.diff(ordered)), scores.size - 1)  # last of a run

    def __call__(self, weights):
        return weighted_curves(weights[:, self.order], self.genuine, self.ends)


def weighted_curves(weights, genuine, ends):
    """Computes FAR and TAR at -inf and at the end of each run of equal scores.

    Args:
        weights: Weights of the trials in ascending order of score, shape `(count, trials)`.
        genuine: Booleans in this order, shape `(trials,)`.
        ends: Index of the last trial of each run of equal scores, shape `(points - 1,)`.

    Returns:
        `[far, tar]`, both of shape `(count, points)`.
    """
    rates = []
    for kind in (~genuine, genuine):
        counted = np.cumsum(weights * kind, axis=1)[:, ends]
        accepted = np.pad(counted, ((0, 0), (1, 0)))
        rates.append(accepted / accepted[:, -1:])
    return rates


def crossing(far, tar):
    """Computes the equal error rate on straight lines between the points of error curves.

    Args:
        far: False accept rates, shape `(..., points)`, ascending along the last axis.
        tar: True accept rates, same shape, ascending.

    Returns:
        `(rate, index)`: the equal error rate and the first point at or after the crossing, both of
        shape `(...)`.
    """
    gap = far - (1.0 - tar)  # FAR - FRR, from -1 to 1
    index = np.argmax(gap > -ON_DIAGONAL, axis=-1)
    ends = np.stack([index - 1, index], axis=-1)
    far, gap = np.take_along_axis(far, ends, axis=-1), np.take_along_axis(gap, ends, axis=-1)
    weight = gap[..., 0] / (gap[..., 0] - gap[..., 1])
    return far[..., 0] + weight * (far[..., 1] - far[..., 0]), index


def crossing_threshold(thresholds, far, tar, index):
    """Returns the threshold of the equal error rate of one curve.

    If the point `index` lies on the diagonal, all thresholds from its score to the next score at
    which the curve changes have the same rates. The result is the middle of this interval; for
    separated trials it is the middle of the gap. Otherwise the result is the score of the point.

    Args:
        thresholds, far, tar: See `error_curve`.
        index: First point at or after the crossing, see `crossing`.
    """
    behind = far + tar - 1.0 > ON_DIAGONAL
    if behind[index]:
        return thresholds[index]
    return (thresholds[index] + thresholds[np.argmax(behind)]) / 2


def last_point_within(far, limit):
    """Returns the index of the last point whose FAR is at most `limit`.

    Args:
        far: False accept rates of error curves, shape `(..., points)`, ascending.
        limit: Largest false accept rate.
    """
    return np.sum(far <= limit + ON_DIAGONAL, axis=-1) - 1
