"""Several quantile functions as one: their mixture and their barycenters. NumPy, in float64."""

import numpy as np

ROUNDING = 1e-12  # of a share of probability: sums of weighted shares in float64


def mixture(values, counts, knots):
    """Quantile function of the mixture of several segments of recordings.

    Mixes the distribution functions with the segments' shares of steps and reads the mixture's
    quantile function, which is exact, at the knots: `inf {x : F(x) >= s_i}`. Merging an embedding
    with itself gives itself.

    Args:
        values: Values at the knots of each segment, shape `(segments, filters, knots)`, in units of
            the filters.
        counts: Steps of each segment, shape `(segments,)`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Values at the knots, shape `(filters, knots)`.

    Raises:
        ValueError: If the shapes do not fit or a count is not positive.
    """
    values, counts, knots = (np.asarray(a, np.float64) for a in (values, counts, knots))
    if values.ndim != 3 or counts.shape != values.shape[:1] or knots.shape != values.shape[2:]:
        raise ValueError(
            "`values` must have shape (segments, filters, knots), `counts` (segments,), `knots` "
            f"(knots,). Received {values.shape}, {counts.shape} and {knots.shape}."
        )
    if not (counts > 0).all():
        raise ValueError(f"`counts` must be positive numbers of steps. Received {counts.tolist()}.")
    shares = counts / counts.sum()
    filters = range(values.shape[1])
    return np.stack([_mixture_quantiles(values[:, k], shares, knots) for k in filters])


def barycenter(values, weights=None, p=1):
    """Quantile function with the least weighted sum of p-th powers of distances to the given ones.

    For p = 2 the weighted mean at each knot, exact; for p = 1 the median (with weights the lower
    weighted median), exact up to changes of sign inside a segment.

    Args:
        values: Values at shared knots, shape `(embeddings, filters, knots)`.
        weights: Shape `(embeddings,)`, positive; None: equal.
        p: 1 or 2.

    Returns:
        Values at the knots, shape `(filters, knots)`.

    Raises:
        ValueError: If `p` is neither 1 nor 2, or the weights do not fit.
    """
    values = np.asarray(values, np.float64)
    if p not in (1, 2):
        raise ValueError(f"`p` must be 1 or 2; other orders have no closed form. Received p={p!r}.")
    if weights is None:
        return np.median(values, axis=0) if p == 1 else values.mean(axis=0)
    weights = np.asarray(weights, np.float64)
    if weights.shape != values.shape[:1] or not (weights > 0).all():
        raise ValueError(
            f"`weights` must be positive, one for each of the {len(values)} embeddings. Received "
            f"{weights.tolist()}."
        )
    if p == 2:
        return np.average(values, axis=0, weights=weights)
    order = np.argsort(values, axis=0)
    mass = np.cumsum(weights[order], axis=0) / weights.sum()
    median = np.argmax(mass >= 0.5 - ROUNDING, axis=0)  # (filters, knots)
    rank = np.take_along_axis(order, median[None], axis=0)
    return np.take_along_axis(values, rank, axis=0)[0]


def _mixture_quantiles(values, shares, knots):
    """`values` of one filter, shape `(segments, knots)`."""
    places = np.unique(values)
    below = sum(
        share * _distribution(v, knots, places, "left")
        for v, share in zip(values, shares, strict=True)
    )
    upto = sum(
        share * _distribution(v, knots, places, "right")
        for v, share in zip(values, shares, strict=True)
    )
    mass = np.maximum.accumulate(np.stack([below, upto], axis=1).ravel())
    places = np.repeat(places, 2)
    end = np.clip(np.searchsorted(mass, knots - ROUNDING), 1, len(mass) - 1)
    rise = mass[end] - mass[end - 1]
    share = np.divide(knots - mass[end - 1], rise, out=np.zeros(len(knots)), where=rise > ROUNDING)
    return places[end - 1] + np.clip(share, 0, 1) * (places[end] - places[end - 1])


def _distribution(values, knots, places, side):
    """F(x-) (`side="left"`) or F(x) (`"right"`) of the piecewise-linear quantile function at the
    places."""
    end = np.searchsorted(values, places, side=side)
    segment = np.clip(end, 1, len(values) - 1)
    rise = values[segment] - values[segment - 1]
    share = np.divide(places - values[segment - 1], rise, out=np.zeros(len(places)), where=rise > 0)
    mass = knots[segment - 1] + share * (knots[segment] - knots[segment - 1])
    return np.where(end == 0, 0.0, np.where(end == len(values), 1.0, mass))
