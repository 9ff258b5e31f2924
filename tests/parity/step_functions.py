"""Writes the quantile functions of POT and SciPy, which are steps, in the form that ours have.

Here a quantile function is linear between knots. A step is a segment of width 0, so that the same
distance takes both forms exactly.
"""

import numpy as np


def cumulative(weights, count):
    """Cumulative weights, from above 0 to 1, shape `(count,)`; None: equal weights."""
    weights = np.ones(count) if weights is None else np.asarray(weights, np.float64)
    sums = np.cumsum(weights)
    return sums / sums[-1]


def sorted_sample(sample, weights=None):
    """Sample in ascending order and the cumulative weights in this order."""
    sample = np.asarray(sample, np.float64)
    order = np.argsort(sample, kind="stable")
    ordered_weights = None if weights is None else np.asarray(weights)[order]
    return sample[order], cumulative(ordered_weights, len(sample))


def as_quantile_functions(x, y, x_weights=None, y_weights=None):
    """Values of two samples at shared knots, each knot doubled: left and right limit.

    Args:
        x: Sample, shape `(n,)`.
        y: Sample, shape `(m,)`.
        x_weights: Non-negative weights, shape `(n,)`; None: equal.
        y_weights: Non-negative weights, shape `(m,)`; None: equal.

    Returns:
        Two arrays of shape `(1, knots)` and the knots, shape `(knots,)`.
    """
    (x, x_ends), (y, y_ends) = sorted_sample(x, x_weights), sorted_sample(y, y_weights)
    ends = np.union1d(x_ends, y_ends)
    middles = (ends + np.concatenate([[0.0], ends[:-1]])) / 2
    knots = np.repeat(np.concatenate([[0.0], ends]), 2)[1:-1]
    places = (
        np.minimum(np.searchsorted(side, middles), len(side) - 1) for side in (x_ends, y_ends)
    )
    values = (np.repeat(sample[place], 2) for sample, place in zip((x, y), places, strict=True))
    return *(value[None] for value in values), knots
