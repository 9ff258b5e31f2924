"""Computes error curves of verification trials (ROC, DET) and the point at which FAR equals FRR."""

from __future__ import annotations

import numpy as np

ON_DIAGONAL = 1e-12  # FAR and FRR are ratios of counts below 1e9, so closer values are equal


def error_curve(scores, genuine):
    """Computes FAR and TAR at the threshold -inf and at every distinct score. Thresholds ascend.

    The false accept rate FAR(t), also called false match rate, is the fraction of imposter trials
    with score <= t. The true accept rate TAR(t) is the fraction of genuine trials with score <= t.
    The false reject rate is FRR(t) = 1 - TAR(t). The curve is exact, because it contains a point
    for every distinct score.

    Args:
        scores: Distances that `check_trials` returned, shape `(trials,)`.
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.

    Returns:
        Tuple `(thresholds, far, tar)` of arrays of shape `(points,)`. The first point is (-inf, 0,
        0) and the last point is (largest score, 1, 1).
    """
    curves = WeightedCurves(scores, genuine)
    (far,), (tar,) = curves(np.ones((1, scores.size)))
    return np.append(-np.inf, scores[curves.order][curves.ends]), far, tar


class WeightedCurves:
    """Function that computes one error curve of the same trials for each vector of trial weights.

    A call takes weights of shape `(count, trials)` and returns FAR and TAR, both of shape
    `(count, points)`.

    Args:
        scores: Distances that `check_trials` returned, shape `(trials,)`.
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.
    """

    def __init__(self, scores, genuine):
        self.order = np.argsort(scores, kind="stable")
        ordered = scores[self.order]
        self.genuine = genuine[self.order]
        # for each distinct score, the index of the last trial with this score
        self.ends = np.append(np.flatnonzero(np.diff(ordered)), scores.size - 1)

    def __call__(self, weights):
        return weighted_curves(weights[:, self.order], self.genuine, self.ends)


def weighted_curves(weights, genuine, ends):
    """Computes FAR and TAR of weighted trials, at the threshold -inf and at each distinct score.

    Args:
        weights: Weights of the trials, shape `(count, trials)`. Trials are sorted by ascending
            score.
        genuine: Booleans of the trials, shape `(trials,)`. Trials are sorted by ascending score.
        ends: For each distinct score, the index of the last trial with this score, shape
            `(points - 1,)`.

    Returns:
        `[far, tar]`, both of shape `(count, points)`.
    """
    rates = []
    for kind in (~genuine, genuine):
        counted = np.cumsum(weights * kind, axis=1)[:, ends]
        accepted = np.pad(counted, ((0, 0), (1, 0)))
        rates.append(accepted / accepted[:, -1:])
    return rates


def area(far, tar):
    """Computes the area under error curves by the trapezoidal rule (AUC).

    Args:
        far: False accept rates, shape `(..., points)`.
        tar: True accept rates in the shape of `far`.

    Returns:
        Areas, shape `(...)`.
    """
    return np.sum(np.diff(far) * (tar[..., 1:] + tar[..., :-1]) / 2, axis=-1)


def crossing(far, tar):
    """Computes the equal error rate by linear interpolation between the points of error curves.

    Args:
        far: False accept rates, shape `(..., points)`, ascending along the last axis.
        tar: True accept rates in the shape of `far`, ascending.

    Returns:
        Tuple `(rate, index)` of the equal error rate and the index of the first point with FAR >=
        FRR, both of shape `(...)`.
    """
    gap = far - (1.0 - tar)  # FAR - FRR, from -1 to 1
    index = np.argmax(gap > -ON_DIAGONAL, axis=-1)
    ends = np.stack([index - 1, index], axis=-1)
    far, gap = np.take_along_axis(far, ends, axis=-1), np.take_along_axis(gap, ends, axis=-1)
    weight = gap[..., 0] / (gap[..., 0] - gap[..., 1])
    return far[..., 0] + weight * (far[..., 1] - far[..., 0]), index


def crossing_threshold(thresholds, far, tar, index):
    """Returns the threshold at the equal error rate of one error curve.

    If FAR equals FRR at the point `index`, the two rates stay equal up to the next score at which
    the curve changes. The result is the middle between the score of the point and this next score.
    For example, if genuine and imposter scores do not overlap, the result is the middle of the gap
    between them. If FAR and FRR differ at the point `index`, the result is the score of this point.

    Args:
        thresholds, far, tar: Thresholds, false accept rates and true accept rates of an error
            curve, each of shape `(points,)`.
        index: Index of the first point with FAR >= FRR, as returned by `crossing`.
    """
    behind = far + tar - 1.0 > ON_DIAGONAL  # first at `index`, unless the rates are equal there
    return (thresholds[index] + thresholds[np.argmax(behind)]) / 2


def last_point_within(far, limit):
    """Returns, for each error curve, the index of the last point whose FAR is at most `limit`.

    Args:
        far: False accept rates of error curves, shape `(..., points)`, in ascending order.
        limit: Largest false accept rate.
    """
    return np.sum(far <= limit + ON_DIAGONAL, axis=-1) - 1
