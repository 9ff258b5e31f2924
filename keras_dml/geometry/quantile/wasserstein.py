"""Computes p-Wasserstein distances between quantile functions that are linear between shared knots
(Abdelwahab2019, Eqs. 8-12).

Erratum: The first term in Eq. 10 of Abdelwahab2019 contains b instead of a. Eq. 12 is correct.
Another problem of Eq. 10 is a division by the difference between two slopes. The difference is 0 if
recordings are identical, shifted or constant. The functions of this module therefore use the
differences u and v at the ends of a segment. `G_p(u, v)` is the integral of `|u + t (v - u)|^p`
over t in [0, 1].
"""

import math

from keras_dml._backend import ops, xla
from keras_dml._backend.values import concrete
from keras_dml._typing import Tensor
from keras_dml.geometry import chunks
from keras_dml.geometry.numerics import absolute, divide, root, widest
from keras_dml.geometry.quantile.barycenter import barycenter, mixture
from keras_dml.geometry.quantile.pairwise import pairwise_1

__all__ = [
    "barycenter",
    "bounds",
    "check_order",
    "distance",
    "mixture",
    "pairwise",
    "segment",
    "trapezoid_weights",
]

BLOCK_BYTES = 2**20  # a block and its intermediates stay in the cache (tests/bench/pairwise.py)
# An eager call is compiled if it computes at least this many differences. Compiling then takes only
# as long as a few calls.
FUSED_FROM = 2**22
# If the slope is smaller than this value, the closed form for a real power p loses digits by
# cancellation. The series that replaces the closed form has an error of 2e-11 after four terms.
SERIES_BELOW = 0.1


def distance(x: Tensor, y: Tensor, knots: Tensor, p: float = 1) -> Tensor:
    """Computes p-Wasserstein distances and sums them over filters (Abdelwahab2019, Definition 2,
    Eq. 9).

    The values between two knots are interpolated linearly, as for a continuous signal. In contrast,
    POT's `emd2_1d` and SciPy's `wasserstein_distance` compare step functions. Therefore, the
    distances between small samples differ from the distances that POT and SciPy compute. For
    example, the quantile functions of the samples {0, 1} and {0, 0} have the values (0, 1, 1) and
    (0, 0, 0) at the knots (0, .5, 1). The distance between the samples {0, 1} and {0, 0} is .75
    here, and .5 in POT and SciPy.

    Unlike in SciPy, the distance is NaN if a value is infinite, because the difference of two
    infinities is undefined.

    Args:
        x: Values at the knots, shape `(..., filters, knots)`, in the units of the filters'
            activations.
        y: Values at the same knots, broadcastable to `x`.
        knots: Ascending knots, shape `(knots,)`.
        p: Order of the distance, a real number, at least 1.

    Returns:
        Non-negative distances, shape `(...)`, in the units of the filters' activations. If `x`
        equals `y`, the distance and its gradient are 0.

    Raises:
        ValueError: If `p` is below 1, because the distance is then not a metric.
    """
    check_order(p)
    x, y = widest(x, y)
    knots = ops.cast(knots, x.dtype)
    width = knots[1:] - knots[:-1]  # (segments,)
    gap = x - y  # (..., filters, knots)
    if p == 1:
        return ops.sum(segment(gap[..., :-1], gap[..., 1:], 1) * width, axis=(-2, -1))
    scale = ops.stop_gradient(ops.max(ops.abs(gap), axis=-1, keepdims=True, initial=0))
    scale = ops.where(scale > 0, scale, 1)  # without the scale u^p underflows
    gap = gap / scale
    power = ops.sum(segment(gap[..., :-1], gap[..., 1:], p) * width, axis=-1)
    return ops.sum(scale[..., 0] * root(power, p), axis=-1)


def pairwise(
    x: Tensor, y: Tensor, knots: Tensor, p: float = 1, max_bytes: float | None = BLOCK_BYTES
) -> Tensor:
    """Computes all distances between two sets of embeddings in blocks, so that memory is bounded
    (Abdelwahab2019, Eq. 9).

    Args:
        x: Values at the knots, shape `(n, filters, knots)`.
        y: Values at the same knots, shape `(m, filters, knots)`.
        knots: Ascending knots, shape `(knots,)`.
        p: Order of the distance, a real number, at least 1.
        max_bytes: Largest size of one block of differences, in bytes. About ten blocks exist at the
            same time. For p = 1, the function uses XLA in a traced step and for many pairs, but not
            with TensorFlow on a GPU. XLA computes all distances in one pass without storing
            differences. The sizes of the sets are rounded up to a few sizes, and XLA compiles the
            computation once per size, which takes about a second. A SavedModel that was traced with
            XLA runs only with XLA. SavedModels that `keras_dml.export` writes do not need XLA.

    Returns:
        Distances, shape `(n, m)`.

    Raises:
        ValueError: If `p` is below 1, or if the shapes of the sets and the knots do not match.
    """
    check_order(p)
    x, y = widest(x, y)
    knots = ops.cast(knots, x.dtype)
    _check_sets(x, y, knots)
    rows = chunks.rows_per_block(x, y, max_bytes)
    if rows is None:
        return distance(x[:, None], y[None], knots, p)
    if p == 1 and _fused(x, y):
        return pairwise_1(x, y, knots)
    return chunks.map_rows(
        lambda block, y, knots: distance(block[:, None], y[None], knots, p), rows, x, y, knots
    )


def _check_sets(x, y, knots):
    shapes = tuple(tuple(array.shape) for array in (x, y, knots))
    ends = [(shapes[0][1:], shapes[1][1:]), (shapes[0][2:], shapes[2])]
    one_shape = all(a == b or None in (a, b) for pair in ends for a, b in zip(*pair, strict=False))
    if tuple(map(len, shapes)) != (3, 3, 1) or not one_shape:
        raise ValueError(
            "`x` and `y` must have shapes (n, filters, knots) and (m, filters, knots), and `knots` "
            "shape (knots,). Received shapes {}, {} and {}.".format(*shapes)
        )


def _fused(x, y):
    """Returns True if XLA computes all distances in one pass."""
    traced = concrete(x[:1]) is None  # the slice is in the graph even if x is a captured tensor
    return xla.is_used() and (traced or math.prod(x.shape) * y.shape[0] >= FUSED_FROM)


def bounds(x: Tensor, y: Tensor, knots: Tensor) -> tuple[Tensor, Tensor]:
    """Computes lower and upper bounds of the 1-Wasserstein distance from weighted differences
    between the values at the knots.

    With the trapezoid weights c, `upper = sum |c (x - y)|` and
    `lower = max(sum over filters |sum c (x - y)|, upper / 2)`. Since `upper` is the L1 distance
    between the weighted values `c x` and `c y`, a database with an index for L1 distances can find
    candidates. To find the n nearest embeddings, compute the distances to the candidates in
    ascending order of `upper`. Stop if `upper / 2` for the next candidate is at least as large as
    the n-th smallest distance.

    Args:
        x: Values at the knots, shape `(..., filters, knots)`.
        y: Values at the same knots, broadcastable to `x`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Lower and upper bounds, each of shape `(...)`, with
        `lower <= distance(x, y, knots) <= upper`.

    Example:
        >>> x, y, knots = np.array([[0.0, 1.0, 4.0]]), np.array([[2.0, 1.0, 3.0]]), [0, 0.5, 1]
        >>> [round(float(value), 3) for value in (*bounds(x, y, knots), distance(x, y, knots))]
        [0.375, 0.75, 0.75]
    """
    x, y = widest(x, y)
    weighted = (x - y) * trapezoid_weights(ops.cast(knots, x.dtype))  # (..., filters, knots)
    upper = ops.sum(ops.abs(weighted), axis=(-2, -1))
    means = ops.sum(ops.abs(ops.sum(weighted, axis=-1)), axis=-1)
    return ops.maximum(means, upper / 2), upper


def trapezoid_weights(knots: Tensor) -> Tensor:
    """Computes the weights of the knots in the trapezoid rule on [0, 1], shape `(knots,)`. The
    weights sum to 1."""
    half = (knots[1:] - knots[:-1]) / 2
    zero = ops.zeros((1,), half.dtype)
    return ops.concatenate([half, zero]) + ops.concatenate([zero, half])


def segment(u: Tensor, v: Tensor, p: float) -> Tensor:
    """Computes `G_p(u, v)`, the mean of `|u + t (v - u)|^p` over a segment. The arguments u and v
    are the differences at the two ends of the segment. The formula is a numerically stable form of
    Eq. 11 in Abdelwahab2019.

    Args:
        u: Differences at the left ends of the segments.
        v: Differences at the right ends of the segments, same shape.
        p: Order, a real number, at least 1.

    Returns:
        Means, same shape, in the unit of `u` to the power p.
    """
    half_sum, half_gap = absolute(u + v) / 2, absolute(v - u) / 2
    if p == 1:
        return _segment_1(half_sum, half_gap)
    if p == int(p):
        even = _segment_integer(half_sum, half_gap, int(p))
        if int(p) % 2 == 0:
            return even
        return ops.where(_opposite(u, v), _segment_opposite(u, v, p), even)
    return ops.where(
        _opposite(u, v), _segment_opposite(u, v, p), _segment_real(half_sum, half_gap, p)
    )


def _segment_1(half_sum, half_gap):
    # Let s be `half_sum` and g be `half_gap`. For equal signs of u and v, s >= g and the mean is s.
    # For opposite signs, the mean is (s^2 + g^2) / (2 g). If max(s, g) replaces g, the second
    # formula is correct for all signs.
    larger = ops.maximum(half_sum, half_gap)
    return (half_sum * divide(half_sum, larger) + larger) / 2


def _segment_integer(half_sum, half_gap, p):
    terms = (
        math.comb(p + 1, 2 * j + 1) * _power(half_sum, p - 2 * j) * _power(half_gap, 2 * j)
        for j in range(p // 2 + 1)
    )
    return sum(terms) / (p + 1)


def _power(x, exponent):
    return x**exponent if exponent else 1.0  # the gradient of 0 ** 0 is NaN


def _segment_real(half_sum, half_gap, p):
    is_zero = ops.equal(half_sum, 0)
    mean = ops.where(is_zero, 1, half_sum)
    slope = ops.where(is_zero, 0, half_gap) / mean
    flat = slope < SERIES_BELOW
    square = ops.where(flat, slope, 0) ** 2
    series = 1 + p * (p - 1) / 6 * square * (
        1 + (p - 2) * (p - 3) / 20 * square * (1 + (p - 4) * (p - 5) / 42 * square)
    )
    steep = ops.minimum(ops.where(flat, 1, slope), 1)
    closed = ((1 + steep) ** (p + 1) - (1 - steep) ** (p + 1)) / (2 * (p + 1) * steep)
    return ops.where(is_zero, 0, mean**p * ops.where(flat, series, closed))


def _segment_opposite(u, v, p):
    opposite = _opposite(u, v)
    u, v = ops.where(opposite, absolute(u), 1), ops.where(opposite, absolute(v), 1)
    total = u + v
    return (u**p * (u / total) + v**p * (v / total)) / (p + 1)


def _opposite(u, v):
    return ops.logical_or(ops.logical_and(u < 0, v > 0), ops.logical_and(v < 0, u > 0))


def check_order(p: float) -> None:
    """Checks the order of a Wasserstein distance.

    Raises:
        ValueError: If `p` is not a real number of at least 1.
    """
    if not (isinstance(p, (int, float)) and 1 <= p < math.inf):
        raise ValueError(
            "`p` must be a real number of at least 1. If `p` is below 1, the distance is not a "
            f"metric. Received p={p!r}."
        )
