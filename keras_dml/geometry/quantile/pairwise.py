"""Computes all 1-Wasserstein distances between two sets, and their gradient, in few passes over
memory.

The distance between two embeddings is a sum with one term for each segment of each filter. Let u be
the difference between the two embeddings at one end of a segment, and v the difference at the other
end. With `q = |u| + |v|` and `ratio = (u + v) / q`, the mean absolute difference on the segment is
`((u + v) ratio + q) / 4`. The formula holds whether u and v have the same sign or opposite signs.
The derivative with respect to u is `ratio / 2 + sign(u) (1 - ratio^2) / 4`, and the derivative with
respect to v follows if u and v are swapped. A compiler fuses several terms into one loop, so that
no intermediate values are stored for the pairs. Let f(u, v) be the mean absolute difference.
Because f is homogeneous, f equals `u df/du + v df/dv`. Therefore, the gradient with respect to the
knots needs no additional pass over the pairs.

Compiling takes about a second for each new combination of the two set sizes, so sets are padded to
a few allowed sizes.
"""

import functools
import operator

from keras_dml._backend import ops, xla
from keras_dml._typing import Tensor
from keras_dml.geometry import chunks
from keras_dml.geometry.numerics import mean

SIZES = 16  # number of allowed set sizes between a power of two and the next
TOGETHER = 8  # number of terms that one pass adds; more are not faster


def pairwise_1(x: Tensor, y: Tensor, knots: Tensor) -> Tensor:
    """Computes 1-Wasserstein distances between two sets of embeddings (Eq. 9 of Abdelwahab2019 with
    p = 1).

    Args:
        x: Values at the knots, shape `(n, filters, knots)`.
        y: Values at the same knots, shape `(m, filters, knots)`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Distances, shape `(n, m)`.
    """

    @ops.custom_gradient
    def distances(x, y, knots):
        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return _compiled(_gradients)(x, y, knots, upstream)

        return _compiled(_distances)(x, y, knots), gradient

    n, m = ops.shape(x)[0], ops.shape(y)[0]
    return distances(xla.filled_up(x, SIZES), xla.filled_up(y, SIZES), knots)[:n, :m]


_compiled = functools.cache(xla.fused)


def _distances(x, y, knots):
    filters = ops.shape(x)[1]
    x, y = _points(x), _points(y)  # (points, n), (points, m)

    def area(quarter, x_left, x_right, y_left, y_right):
        u, v = x_left[:, None] - y_left, x_right[:, None] - y_right  # (n, m)
        size = ops.abs(u) + ops.abs(v)
        return quarter * ((u + v) * ops.divide_no_nan(u + v, size) + size)

    ends = (x[:-1], x[1:], y[:-1], y[1:])
    zeros = ops.zeros((ops.shape(x)[1], ops.shape(y)[1]), x.dtype)
    return _summed(area, (_widths(knots, filters) / 4, *ends), zeros)


def _gradients(x, y, knots, upstream):
    filters = ops.shape(x)[1]
    width = _widths(knots, filters)
    in_x, width_x = _gradient_of_one(x, y, width, ops.transpose(upstream))
    in_y, width_y = _gradient_of_one(y, x, width, upstream)
    in_width = ops.pad(width_x + width_y, [[0, 1]])
    in_width = ops.sum(ops.reshape(in_width, (filters, -1)), axis=0)[:-1]
    return in_x, in_y, ops.pad(in_width, [[1, 0]]) - ops.pad(in_width, [[0, 1]])


def _gradient_of_one(x, y, width, upstream):
    """Returns the gradient with respect to `x`, and the gradient with respect to the widths of the
    segments. The second gradient contains only the contribution of `x`.

    Args:
        x: Set whose gradient is computed, shape `(n, filters, knots)`.
        y: The second set, shape `(m, filters, knots)`.
        width: Widths of the segments between neighboring points, shape `(points - 1,)`.
        upstream: Gradient with respect to the distances, transposed to shape `(m, n)`.
    """
    shape = ops.shape(x)
    x, y = _points(x), _points(y)
    in_left, in_right = _derivatives(x, y, upstream)  # (points - 1, n) each
    # A common center is subtracted from the values. Otherwise, if the values were far from 0, the
    # sum of the two sets' contributions would lose digits by cancellation.
    from_center = x - (mean(x, axis=1) + mean(y, axis=1))[:, None] / 2
    in_width = ops.sum(from_center[:-1] * in_left + from_center[1:] * in_right, axis=1)
    in_left, in_right = width[:, None] * in_left, width[:, None] * in_right
    in_x = ops.pad(in_left, [[0, 1], [0, 0]]) + ops.pad(in_right, [[1, 0], [0, 0]])
    return ops.reshape(ops.transpose(in_x), shape), in_width


def _derivatives(x, y, upstream):
    """Differentiates the mean absolute difference on each segment with respect to the values of `x`
    at the left end and at the right end. The function multiplies the derivatives by `upstream`, and
    sums them over the rows of `y`. Returns two tensors `(points - 1, n)`."""
    near, far = _both_ways(x)
    y_near, y_far = _both_ways(y)

    def derivative(y_near, y_far, weight):
        u, v = near - y_near[:, None], far - y_far[:, None]  # (2 (points - 1), n)
        ratio = ops.divide_no_nan(u + v, ops.abs(u) + ops.abs(v))
        return weight * (ratio / 2 + ops.sign(u) * (1 - ratio * ratio) / 4)

    arrays = (ops.transpose(y_near), ops.transpose(y_far), upstream)
    return ops.split(_summed(derivative, arrays, ops.zeros_like(near)), 2)


def _both_ways(points):
    """Returns each segment twice, once in each direction, as one array of start points and one
    array of end points. The first half of the arrays goes from left to right, and the second half
    goes from right to left."""
    left, right = points[:-1], points[1:]
    return ops.concatenate([left, right]), ops.concatenate([right, left])


def _points(x):
    """Reshapes `(n, filters, knots)` to `(points, n)`, where the points of each filter stay
    together."""
    rows, filters, knots = ops.shape(x)
    return ops.transpose(ops.reshape(x, (rows, filters * knots)))


def _widths(knots, filters):
    """Returns the widths of the segments between neighboring points, shape `(points - 1,)`. The
    segment between two filters has width 0."""
    return ops.tile(ops.pad(knots[1:] - knots[:-1], [[0, 1]]), [filters])[:-1]


def _summed(term, arrays, zeros):
    """Computes the sum of `term(*slices)` over the leading axis of the arrays.

    Args:
        term: Function that takes one slice of each array. The function must return 0 if all slices
            are 0.
        arrays: Tensors whose leading axes have equal lengths.
        zeros: Start value of the sum, a tensor of zeros with the shape of a term.
    """
    parts = [chunks.in_blocks(array, TOGETHER) for array in arrays]

    def add(i, total):
        terms = (term(*(part[i, k] for part in parts)) for k in range(TOGETHER))
        return total + functools.reduce(operator.add, terms)

    return ops.fori_loop(0, ops.shape(parts[0])[0], add, zeros)
