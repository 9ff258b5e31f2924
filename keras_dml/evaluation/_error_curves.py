"""Computes error curves of verification trials (ROC, DET) and the point at which FAR equals FRR."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_curve

ON_DIAGONAL = 1e-12  # FAR and FRR are ratios of counts below 1e9, so closer values are equal


def error_curve(scores, genuine):
    """Computes FAR and TAR at the threshold -inf and at every distinct score, in ascending order.

    The false accept rate FAR(t), also called false match rate, is the fraction of imposter trials
    with score <= t. The true accept rate TAR(t) is the fraction of genuine trials with score <= t.
    The false reject rate is FRR(t) = 1 - TAR(t). The curve contains a point for every distinct
    score, so it is exact.

    Args:
        scores: Checked distances, shape `(trials,)`.
        genuine: Checked booleans, shape `(trials,)`.

    Returns:
        `(thresholds, far, tar)`, each of shape `(points,)`, from (-inf, 0, 0) to (max, 1, 1).
    """
    far, tar, negated = roc_curve(genuine, -scores, drop_intermediate=False)
    return -negated, far, tar


class WeightedCurves:
    """Weighted error curves of the same trials for many weight vectors.

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
        # index of the last trial of each run of equal scores
        self.ends = np.append(np.flatnonzero(np.diff(ordered)), scores.size - 1)

    def __call__(self, weights):
        return weighted_curves(weights[:, self.order], self.genuine, self.ends)


def weighted_curves(weights, genuine, ends):
    """Computes weighted FAR and TAR at -inf and at the end of each run of equal scores.

    Args:
        weights: Weights of the trials in ascending order of score, shape `(count, trials)`.
        genuine: Booleans in ascending order of score, shape `(trials,)`.
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
    """Computes the equal error rate by linear interpolation between the points of error curves.

    Args:
        far: False accept rates, shape `(..., points)`, ascending along the last axis.
        tar: True accept rates, same shape, ascending.

    Returns:
        `(rate, index)`: the equal error rate and the index of the first point with FAR >= FRR, both
        of shape `(...)`.
    """
    gap = far - (1.0 - tar)  # FAR - FRR, from -1 to 1
    index = np.argmax(gap > -ON_DIAGONAL, axis=-1)
    ends = np.stack([index - 1, index], axis=-1)
    far, gap = np.take_along_axis(far, ends, axis=-1), np.take_along_axis(gap, ends, axis=-1)
    weight = gap[..., 0] / (gap[..., 0] - gap[..., 1])
    return far[..., 0] + weight * (far[..., 1] - far[..., 0]), index


def crossing_threshold(thresholds, far, tar, index):
    """Returns the threshold at the equal error rate of one error curve.

    If FAR equals FRR at the point `index`, then FAR and FRR are the same at all thresholds up to
    the next score at which the curve changes. The result is the middle of this interval of
    thresholds. For genuine and imposter scores that do not overlap, the result is the middle of the
    gap between the scores. If FAR differs from FRR at the point `index`, the result is the score of
    this point.

    Args:
        thresholds, far, tar: Thresholds, false accept rates and true accept rates of an error
            curve, each of shape `(points,)`.
        index: Index of the first point with FAR >= FRR, which `crossing` returns.
    """
    behind = far + tar - 1.0 > ON_DIAGONAL
    if behind[index]:
        return thresholds[index]
    return (thresholds[index] + thresholds[np.argmax(behind)]) / 2


def last_point_within(far, limit):
    """Returns the index of the last point of each error curve with a FAR of at most `limit`.

    Args:
        far: False accept rates of error curves, shape `(..., points)`, ascending.
        limit: Largest false accept rate.
    """
    return np.sum(far <= limit + ON_DIAGONAL, axis=-1) - 1
