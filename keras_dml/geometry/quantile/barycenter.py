"""Computes mixtures and Wasserstein barycenters of quantile functions, with NumPy in float64."""

import numpy as np

from keras_dml._arrays import real
from keras_dml._typing import ArrayLike
from keras_dml.geometry.weights import normalized

ROUNDING = 1e-12  # rounding error of a probability that is a sum of weights in float64


def mixture(values: ArrayLike, counts: ArrayLike, knots: ArrayLike) -> np.ndarray:
    """Computes the quantile function of a mixture. The mixture is the distribution of all steps in
    several segments of a recording.

    The distribution function F of the mixture is a weighted mean of the segments' distribution
    functions. The weight of a segment is its number of steps. The result holds the exact values of
    the quantile function, `inf {x : F(x) >= s_i}`, at the knots `s_i`.

    Args:
        values: Values of each segment's quantile function at the knots, shape
            `(segments, filters, knots)`, in the units of the filters' activations.
        counts: Number of steps of each segment, shape `(segments,)`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Values at the knots, shape `(filters, knots)`.

    Raises:
        ValueError: If the shapes do not fit together or a count is not positive.

    Example:
        >>> low, high = [[[0.0, 1.0, 2.0]], [[10.0, 11.0, 12.0]]]
        >>> mixture([low, high], counts=[300, 100], knots=[0, 0.5, 1])
        array([[ 0.        ,  1.33333333, 12.        ]])
    """
    values, counts, knots = (np.asarray(a, np.float64) for a in (values, counts, knots))
    if values.ndim != 3 or counts.shape != values.shape[:1] or knots.shape != values.shape[2:]:
        raise ValueError(
            "`values` must have shape (segments, filters, knots), `counts` shape (segments,) and "
            f"`knots` shape (knots,). Received {values.shape}, {counts.shape} and {knots.shape}."
        )
    if not (counts > 0).all():
        raise ValueError(
            "`counts` must hold the number of steps of each segment. All counts must be positive. "
            f"Received {counts.tolist()}."
        )
    fractions = counts / counts.sum()
    filters = range(values.shape[1])
    return np.stack([_mixture_quantiles(values[:, k], fractions, knots) for k in filters])


def barycenter(values: ArrayLike, weights: ArrayLike | None = None, p: int = 1) -> np.ndarray:
    """Computes the Wasserstein barycenter: the quantile function for which the weighted sum of the
    p-th powers of its distances to the embeddings is smallest.

    For p = 2 the barycenter is exactly the weighted mean at each knot. For p = 1 the barycenter is
    the weighted median at each knot. Between two knots, the result is exact unless two of the
    quantile functions cross between these knots. If every number between two values is a median,
    the result is the mean of the two values.

    Args:
        values: Values at shared knots, shape `(embeddings, filters, knots)`.
        weights: Non-negative weights, shape `(embeddings,)`. The weights are scaled so that their
            sum is 1. Default: equal weights.
        p: Order of the distance, 1 or 2.

    Returns:
        Values at the knots, shape `(filters, knots)`.

    Raises:
        TypeError: If the values or the weights are not real numbers.
        ValueError: If `p` is neither 1 nor 2, if `values` is empty, or if the weights do not fit
            the other arguments.

    Example:
        >>> barycenter([[[0.0, 1.0, 2.0]], [[3.0, 5.0, 10.0]]], p=2)
        array([[1.5, 3. , 6. ]])
    """
    values = real("`values`", values, np.float64)
    if values.ndim != 3 or not len(values):
        raise ValueError(
            "`values` must hold at least one embedding, shape (embeddings, filters, knots). "
            f"Received shape {values.shape}."
        )
    if p not in (1, 2):
        raise ValueError(f"`p` must be 1 or 2. Other orders have no closed form. Received p={p!r}.")
    weights = normalized(weights, len(values), "embeddings")
    if p == 2:
        return np.einsum("i,ijk->jk", weights, values)
    order = np.argsort(values, axis=0)
    mass = np.cumsum(weights[order], axis=0)
    halves = mass >= 0.5 - ROUNDING, mass > 0.5 + ROUNDING
    ranks = [np.argmax(half, axis=0) for half in halves]
    ends = [
        np.take_along_axis(values, np.take_along_axis(order, rank[None], axis=0), axis=0)[0]
        for rank in ranks
    ]
    lower, upper = ends  # equal unless the weights split in half
    return lower + (upper - lower) / 2


def _mixture_quantiles(values, fractions, knots):
    """Computes the quantile function of the mixture for one filter. `values` has shape
    `(segments, knots)`."""
    points = np.unique(values)
    below = sum(
        fraction * _distribution(v, knots, points, "left")
        for v, fraction in zip(values, fractions, strict=True)
    )
    up_to = sum(
        fraction * _distribution(v, knots, points, "right")
        for v, fraction in zip(values, fractions, strict=True)
    )
    mass = np.maximum.accumulate(np.stack([below, up_to], axis=1).ravel())
    points = np.repeat(points, 2)
    end = np.clip(np.searchsorted(mass, knots - ROUNDING), 1, len(mass) - 1)
    rise = mass[end] - mass[end - 1]
    missing = knots - mass[end - 1]
    fraction = np.divide(missing, rise, out=np.zeros(len(knots)), where=rise > ROUNDING)
    fraction = np.where(rise - missing <= ROUNDING, 1, np.clip(fraction, 0, 1))
    return points[end - 1] * (1 - fraction) + points[end] * fraction


def _distribution(values, knots, points, side):
    """Computes the distribution function of a piecewise-linear quantile function at the points x.
    `side` is `"left"` for the limit F(x-) from the left, and `"right"` for F(x)."""
    end = np.searchsorted(values, points, side=side)
    segment = np.clip(end, 1, len(values) - 1)
    rise = values[segment] - values[segment - 1]
    fraction = np.divide(
        points - values[segment - 1], rise, out=np.zeros(len(points)), where=rise > 0
    )
    mass = knots[segment - 1] + fraction * (knots[segment] - knots[segment - 1])
    return np.where(end == 0, 0.0, np.where(end == len(values), 1.0, mass))
