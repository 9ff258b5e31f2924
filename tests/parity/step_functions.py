"""Converts step functions, which POT and SciPy use as quantile functions, to knots and values.

In keras-dml, a quantile function is linear between knots. A step is a segment of width 0 between
two equal knots. For step functions of this form, the distances of keras-dml are exact.
"""

import numpy as np


def cumulative(weights, count):
    """Returns cumulative weights that end at 1, shape `(count,)`. If `weights` is None, all weights
    are equal.
    """
    weights = np.ones(count) if weights is None else np.asarray(weights, np.float64)
    sums = np.cumsum(weights)
    return sums / sums[-1]


def sorted_sample(sample, weights=None):
    """Sorts a sample, and returns it with its cumulative weights in the same order."""
    sample = np.asarray(sample, np.float64)
    order = np.argsort(sample, kind="stable")
    ordered_weights = None if weights is None else np.asarray(weights)[order]
    return sample[order], cumulative(ordered_weights, len(sample))


def as_quantile_functions(x, y, x_weights=None, y_weights=None):
    """Computes the quantile values of two samples at shared knots.

    Each knot occurs twice, once with the left limit and once with the right limit of a step.

    Args:
        x: First sample, shape `(n,)`.
        y: Second sample, shape `(m,)`.
        x_weights: Non-negative weights of `x`, shape `(n,)`. Default: equal weights.
        y_weights: Non-negative weights of `y`, shape `(m,)`. Default: equal weights.

    Returns:
        The values of the two samples, shape `(1, knots)`, and the knots, shape `(knots,)`.
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
