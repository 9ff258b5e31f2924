"""Computes how much each segment of the quantile functions and each time step contributes to a
Wasserstein distance, with NumPy in float64.

In one dimension, the optimal transport plan moves the mass at the quantile Q(r) of one distribution
to the quantile Q'(r) of the other distribution. The cost `|Q(r) - Q'(r)|^p` is the sum
`f(Q(r)) + g(Q'(r))` of two potentials, where the derivative of f is
`f' = p |Q - Q'|^(p - 1) sign(Q - Q')` (Villani2009, Theorem 5.10). The potentials show which steps
make two recordings different. To first order, removing a step lowers the distance by the step's
potential.
"""

import numpy as np

from keras_dml._backend import ops
from keras_dml._typing import ArrayLike
from keras_dml.geometry.quantile.function import evaluate
from keras_dml.geometry.quantile.wasserstein import segment

NEAR = 1e-7  # relative difference of two gaps below which the derivative replaces the quotient


def segment_parts(x: ArrayLike, y: ArrayLike, knots: ArrayLike, p: float = 1) -> np.ndarray:
    """Computes how much each segment between two knots contributes to the distance, for each
    filter.

    Args:
        x: Values at the knots, shape `(filters, knots)`.
        y: Values at the same knots, same shape.
        knots: Ascending knots, shape `(knots,)`.
        p: Order of the distance, a real number, at least 1.

    Returns:
        Non-negative array of shape `(filters, knots - 1)`. The sum of all entries is the distance.
        The p-th power of a filter's distance is a sum with one term per segment. The filter's
        entries are proportional to these terms.

    Example:
        >>> segment_parts([[0.0, 1.0, 4.0]], [[2.0, 1.0, 3.0]], [0, 0.5, 1])
        array([[0.5 , 0.25]])
    """
    gap, scale = _scaled(x, y, p)
    costs = _mean(gap[:, :-1], gap[:, 1:], p) * np.diff(np.asarray(knots, np.float64))
    return costs * _per_cost(costs, scale, p)


def rank_parts(
    x: ArrayLike, y: ArrayLike, knots: ArrayLike, steps: int, p: float = 1
) -> np.ndarray:
    """Computes how much each time step of one recording contributes to the distance, for each
    filter.

    A constant is added to the potentials, so that the contributions of all steps of a recording sum
    to half the distance. A contribution may be negative. For p = 1, let c be the contribution of a
    step, and m the filter's mean contribution. To first order, removing the step lowers the
    distance by c - m.

    Args:
        x: Values of the recording at the knots, shape `(filters, knots)`.
        y: Values of the other recording at the same knots, same shape.
        knots: Ascending knots, shape `(knots,)`.
        steps: Number of time steps of the recording. The step with the j-th smallest activation,
            counted from 0, covers the levels j / steps to (j + 1) / steps.
        p: Order of the distance, a real number, at least 1.

    Returns:
        Array of shape `(filters, steps)`. The sum of all entries is half the distance. Steps are
        sorted by ascending activation.

    Example:
        >>> rank_parts([[0.0, 0.0, 8.0]], [[0.0, 0.0, 0.0]], [0, 0.5, 1], steps=2)
        array([[-0.5,  1.5]])
    """
    knots = np.asarray(knots, np.float64)
    levels = np.union1d(knots, np.arange(steps + 1) / steps)
    gap, scale = _scaled(x, y, p)
    gap = evaluate(gap, knots, levels)  # (filters, levels)
    rise = np.diff(evaluate(np.asarray(x, np.float64) / scale, knots, levels))
    width = np.diff(levels)
    u, v = gap[:, :-1], gap[:, 1:]
    mean = _mean(u, v, p)  # (filters, pieces)
    to_end, to_mean = _slopes(u, v, mean, p)
    potential = np.cumsum(to_end * rise, axis=1) - (to_end - to_mean) * rise
    parts, costs = potential * width, mean * width
    shift = costs.sum(axis=1) / 2 - parts.sum(axis=1)
    parts = (parts + shift[:, None] * width) * _per_cost(costs, scale, p)
    middle = (levels[:-1] + levels[1:]) / 2
    first = np.searchsorted(middle, np.arange(steps) / steps)
    return np.add.reduceat(parts, first, axis=1)


def _scaled(x, y, p):
    """Divides the gaps of each filter by the filter's largest gap, because powers of small gaps
    underflow. Returns the scaled gaps and the divisors. For p = 1, the divisors are 1."""
    gap = np.asarray(x, np.float64) - np.asarray(y, np.float64)
    largest = np.abs(gap).max(axis=1, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0) if p > 1 else np.ones_like(largest)
    return gap / scale, scale


def _per_cost(costs, scale, p):
    """Returns a factor for each filter. A filter's costs sum to the p-th power of the scaled
    distance. Multiplied by the factor, the costs sum to the filter's distance."""
    power = costs.sum(axis=1, keepdims=True)
    return scale * np.where(power > 0, power, 1.0) ** (1 / p - 1)


def _mean(u, v, p):
    return np.asarray(ops.convert_to_numpy(segment(u, v, p)), np.float64)


def _slopes(u, v, mean, p):
    """Computes `(|v|^p - |u|^p) / (v - u)` and `(mean - |u|^p) / (v - u)`. If u equals v, the
    function computes the limits of the two quotients."""
    change, middle = v - u, (u + v) / 2
    near = np.abs(change) <= NEAR * np.maximum(np.abs(u), np.abs(v))
    change = np.where(near, 1.0, change)
    slope = p * np.abs(middle) ** (p - 1) * np.sign(middle)
    start = np.abs(u) ** p
    to_end = np.where(near, slope, (np.abs(v) ** p - start) / change)
    return to_end, np.where(near, slope / 2, (mean - start) / change)
