"""All 1-Wasserstein distances of two sets in a few passes over memory, with their gradient.

Every segment of every filter is one term of a sum over pairs: with the differences u and v at its
ends, `q = |u| + |v|` and `ratio = (u + v) / q`, its mean is `((u + v) ratio + q) / 4`, for same
signs and for opposite ones. The derivative in u is `ratio / 2 + sign(u) (1 - ratio^2) / 4`; the one
in v is the same with u and v swapped. A compiler fuses some terms into one loop, so that no
intermediate of the pairs is ever stored. The mean is homogeneous, that is u and v times its
derivatives: the gradient in the knots needs no pass of its own over the pairs.

Compiling takes about a second for each pair of sizes, so sets are filled up to few sizes.
"""

import functools
import operator

from keras_dml._backend import ops, xla
from keras_dml.geometry import chunks
from keras_dml.geometry.numerics import mean

SIZES = 16  # of sets, between a power of two and the next
TOGETHER = 8  # terms that one pass adds: more take longer to compile and are no faster


def pairwise_1(x, y, knots):
    """1-Wasserstein distances between two sets of embeddings (Abdelwahab2019, Eq. 9, p = 1).

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

    def area(quarter, left, right, others_left, others_right):
        u, v = left[:, None] - others_left, right[:, None] - others_right  # (n, m)
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


def _gradient_of_one(x, others, width, upstream):
    """Gradient in one set, and its part of the gradient in the widths of the segments.

    Args:
        x: Shape `(n, filters, knots)`.
        others: Shape `(m, filters, knots)`.
        width: Shape `(points - 1,)`.
        upstream: Shape `(m, n)`.
    """
    shape = ops.shape(x)
    x, others = _points(x), _points(others)
    in_left, in_right = _derivatives(x, others, upstream)  # (points - 1, n) each
    # In units of a point that both sets share: far from 0 the parts of the two would cancel.
    from_center = x - (mean(x, axis=1) + mean(others, axis=1))[:, None] / 2
    in_width = ops.sum(from_center[:-1] * in_left + from_center[1:] * in_right, axis=1)
    in_left, in_right = width[:, None] * in_left, width[:, None] * in_right
    in_x = ops.pad(in_left, [[0, 1], [0, 0]]) + ops.pad(in_right, [[1, 0], [0, 0]])
    return ops.reshape(ops.transpose(in_x), shape), in_width


def _derivatives(x, others, upstream):
    """Weighted sums over the others of the derivatives of every mean in the left and in the right
    end of its segment, each `(points - 1, n)`."""
    near, far = _both_ways(x)
    others_near, others_far = _both_ways(others)

    def derivative(other_near, other_far, weight):
        u, v = near - other_near[:, None], far - other_far[:, None]  # (2 (points - 1), n)
        ratio = ops.divide_no_nan(u + v, ops.abs(u) + ops.abs(v))
        return weight * (ratio / 2 + ops.sign(u) * (1 - ratio * ratio) / 4)

    arrays = (ops.transpose(others_near), ops.transpose(others_far), upstream)
    return ops.split(_summed(derivative, arrays, ops.zeros_like(near)), 2)


def _both_ways(points):
    """Every segment from its left end and from its right one: near ends, far ends."""
    left, right = points[:-1], points[1:]
    return ops.concatenate([left, right]), ops.concatenate([right, left])


def _points(x):
    """`(n, filters, knots)` as `(points, n)`, the knots of a filter after those of the last."""
    rows, filters, knots = ops.shape(x)
    return ops.transpose(ops.reshape(x, (rows, filters * knots)))


def _widths(knots, filters):
    """Widths of the segments between points, `(points - 1,)`; 0 from filter to filter."""
    return ops.tile(ops.pad(knots[1:] - knots[:-1], [[0, 1]]), [filters])[:-1]


def _summed(term, arrays, zeros):
    """The sum of `term(*slices)` over the leading axis of the arrays.

    Args:
        term: Function of slices, one of each array; 0 where all slices are 0.
        arrays: Tensors with leading axes of one length.
        zeros: Zeros in the shape of a term.
    """
    parts = [chunks.in_blocks(array, TOGETHER) for array in arrays]

    def add(i, total):
        terms = (term(*(part[i, k] for part in parts)) for k in range(TOGETHER))
        return total + functools.reduce(operator.add, terms)

    return ops.fori_loop(0, ops.shape(parts[0])[0], add, zeros)
