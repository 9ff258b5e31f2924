"""Wasserstein distances between quantile functions that are linear between shared knots (P1 Eqs 8-12).

Erratum: P1 Eq. 10 prints b for a in its first term (Eq. 12 is right), and divides by differences of slopes that
vanish for identical, shifted or constant recordings. Everything here is built from the differences at the
ends of a segment instead: `G_p(u, v)`, the integral of `|u + t (v - u)|^p` over t in [0, 1].
"""

import math

from keras_dml._keras import ops
from keras_dml.geometry.numerics import absolute, at_least_float32, divide, root

SERIES_BELOW = 0.1  # below this slope the closed form of a real power cancels; four terms reach 2e-11 there


def distance(x, y, knots, p=1):
    """Sum over filters of p-Wasserstein distances (P1 Definition 2, Eq. 9).

    Args:
        x: Values at the knots, shape `(..., filters, knots)`, in units of the filters.
        y: Values at the same knots, broadcastable to `x`.
        knots: Ascending knots, shape `(knots,)`.
        p: Order of the distance, a real number, at least 1.

    Returns:
        Distances, shape `(...)`, in units of the filters, non-negative; 0 with gradient 0 where `x` equals `y`.

    Raises:
        ValueError: If `p` is below 1, where this is no metric.
    """
    check_order(p)
    x, y = at_least_float32(x), at_least_float32(y)
    knots = ops.cast(knots, x.dtype)
    width = knots[1:] - knots[:-1]                                          # (segments,)
    gap = x - y                                                             # (..., filters, knots)
    if p == 1:
        return ops.sum(segment(gap[..., :-1], gap[..., 1:], 1) * width, axis=(-2, -1))
    scale = ops.stop_gradient(ops.max(ops.abs(gap), axis=-1, keepdims=True))
    scale = ops.where(scale > 0, scale, 1)                                  # u^p underflows without it
    gap = gap / scale
    power = ops.sum(segment(gap[..., :-1], gap[..., 1:], p) * width, axis=-1)
    return ops.sum(scale[..., 0] * root(power, p), axis=-1)


def pairwise(x, y, knots, p=1, max_bytes=64 * 2**20):
    """All distances between two sets of embeddings, in blocks of bounded memory (P1 Eq. 9).

    Args:
        x: Values at the knots, shape `(n, filters, knots)`.
        y: Values at the same knots, shape `(m, filters, knots)`.
        knots: Ascending knots, shape `(knots,)`.
        p: Order of the distance, a real number, at least 1.
        max_bytes: Greatest size of one block of differences; several such blocks are alive at a time.

    Returns:
        Distances, shape `(n, m)`.
    """
    x, y = at_least_float32(x), at_least_float32(y)

    def row(one):
        return distance(one[None], y, knots, p)                             # (m,)

    return ops.map(row, x) if False else distance(x[:, None], y[None], knots, p)


def segment(u, v, p):
    """`G_p(u, v)`: mean of `|u + t (v - u)|^p` over a segment, from its end differences (P1 Eq. 11, stable form).

    Args:
        u: Differences at the left ends.
        v: Differences at the right ends, same shape.
        p: Order, a real number, at least 1.

    Returns:
        Means, same shape, in units of `u` to the power p.
    """
    half_sum, half_gap = absolute(u + v) / 2, absolute(v - u) / 2
    if p == 1:
        return _segment_1(half_sum, half_gap)
    if p == int(p):
        even = _segment_integer(half_sum, half_gap, int(p))
        if int(p) % 2 == 0:
            return even
        return ops.where(_opposite(u, v), _segment_opposite(u, v, p), even)
    return ops.where(_opposite(u, v), _segment_opposite(u, v, p), _segment_real(half_sum, half_gap, p))


def _segment_1(half_sum, half_gap):
    # Same signs: half_sum >= half_gap and the mean is half_sum. Opposite signs: (s^2 + g^2) / (2 g).
    # One expression serves both, for with the greater of the two below the line the first case is s itself.
    greater = ops.maximum(half_sum, half_gap)
    return (half_sum * divide(half_sum, greater) + greater) / 2


def _segment_integer(half_sum, half_gap, p):
    terms = (
        math.comb(p + 1, 2 * j + 1) * half_sum ** (p - 2 * j) * half_gap ** (2 * j)
        for j in range(p // 2 + 1)
    )
    return sum(terms) / (p + 1)


def _segment_real(half_sum, half_gap, p):
    nothing = ops.equal(half_sum, 0)
    mean = ops.where(nothing, 1, half_sum)
    slope = ops.where(nothing, 0, half_gap) / mean
    flat = slope < SERIES_BELOW
    square = ops.where(flat, slope, 0) ** 2
    series = 1 + p * (p - 1) / 6 * square * (
        1 + (p - 2) * (p - 3) / 20 * square * (1 + (p - 4) * (p - 5) / 42 * square)
    )
    steep = ops.minimum(ops.where(flat, 1, slope), 1)
    closed = ((1 + steep) ** (p + 1) - (1 - steep) ** (p + 1)) / (2 * (p + 1) * steep)
    return ops.where(nothing, 0, mean**p * ops.where(flat, series, closed))


def _segment_opposite(u, v, p):
    opposite = _opposite(u, v)
    u, v = ops.where(opposite, absolute(u), 1), ops.where(opposite, absolute(v), 1)
    total = u + v
    return (u**p * (u / total) + v**p * (v / total)) / (p + 1)


def _opposite(u, v):
    return ops.logical_or(
        ops.logical_and(u < 0, v > 0), ops.logical_and(v < 0, u > 0)
    )


def check_order(p):
    """Refuses orders below 1.

    Raises:
        ValueError: If `p` is not a real number of at least 1.
    """
    if not (isinstance(p, (int, float)) and 1 <= p < math.inf):
        raise ValueError(
            f"`p` must be a real number of at least 1; below 1 the distance is no metric. Received p={p!r}."
        )
