"""Computes similarities and distances of vectors."""

import numpy as np

from keras_dml._backend import gradients, keras, linalg, ops
from keras_dml._typing import Tensor
from keras_dml.geometry import chunks
from keras_dml.geometry.numerics import at_least_float32, mean, widest

SMALLEST_SQUARE = 1e-12  # squared length below which a vector counts as zero
SMALLEST_VARIANCE = 1e-12  # variance of an anchor that is constant over its features
# Up to this size, differences are computed as fast as a matrix product (tests/bench/losses).
DIFFERENCES_BYTES = 2**20
# Rounding error as a multiple of machine epsilon. For equal rows with 4 to 2,080 features, the
# measured multiple was at most 9.
PRODUCT_NOISE = 16


def unit(x: Tensor) -> Tensor:
    """Scales vectors to length 1. A zero vector stays zero, with gradient 0.

    Args:
        x: Vectors, shape `(..., features)`.
    """
    x = at_least_float32(x)
    square = ops.sum(x * x, axis=-1, keepdims=True)
    zero = square < SMALLEST_SQUARE
    return ops.where(zero, 0, x) * ops.rsqrt(ops.where(zero, 1, square))


def inner(x: Tensor, y: Tensor) -> Tensor:
    """Computes all inner products, shape `(n, m)`, between vectors `(n, features)` and vectors
    `(m, features)`."""
    return linalg.matmul_transposed(*widest(x, y))


def cosine(x: Tensor, y: Tensor) -> Tensor:
    """Computes all cosines in [-1, 1], shape `(n, m)`, between vectors `(n, features)` and vectors
    `(m, features)`."""
    return inner(unit(x), unit(y))


def squared_euclidean(x: Tensor, y: Tensor) -> Tensor:
    """Computes all squared Euclidean distances. The distance between equal rows is exactly 0.

    If `x` has one row, or if all differences need at most 1 MiB, the distances are computed from
    differences, with machine precision. For larger sets, the function subtracts the mean of the
    rows of `x` from `x` and `y`, and computes the distances from inner products. The computation
    from inner products is twenty times as fast, but less accurate. In float32, the error of a
    squared distance from inner products is about `1e-6 (|x|^2 + |y|^2)`. A squared distance that is
    smaller than its error is set to 0. So the result is 0 if the distance between two vectors is
    less than a small fraction of the vectors' distance from the mean. The fraction is a thousandth
    in float32, and 6e-8 in float64.

    Args:
        x: Vectors, shape `(n, features)`.
        y: Vectors, shape `(m, features)`, in the same units as `x`.

    Returns:
        Non-negative squared distances, shape `(n, m)`.
    """
    within = y is x and not gradients.has_forward_mode()
    x, y = widest(x, y)
    if chunks.rows_per_block(x, y, DIFFERENCES_BYTES) is None:
        return _squares_by_differences(x, y)
    center = ops.stop_gradient(mean(x, axis=0))
    center = ops.where(ops.equal(center - center, 0), center, 0)  # a NaN affects only its row
    if within:
        return _squares_within(x - center)
    squares, lost = _squares_by_product(x - center, y - center)
    return ops.where(lost, 0, squares)


def _squares_by_differences(x, y):
    return ops.sum(ops.square(x[:, None] - y[None]), axis=-1)


@ops.custom_gradient
def _squares_within(x):
    """Computes squared distances between all rows of `x`. The gradient needs only one matrix
    product instead of two."""
    squares, lost = _squares_by_product(x, x)

    def gradient(*args, upstream=None):
        upstream = ops.where(lost, 0, args[0] if upstream is None else upstream)
        total = upstream + ops.transpose(upstream)
        return 2 * (ops.sum(total, axis=1)[:, None] * x - ops.matmul(total, x))

    return ops.where(lost, 0, squares), gradient


def _squares_by_product(x, y):
    """Computes squared distances, and a mask that is True for distances below the rounding error.
    Each tensor has shape `(n, m)`."""
    lengths = ops.sum(x * x, axis=1)[:, None] + ops.sum(y * y, axis=1)[None]
    squares = lengths - 2 * inner(x, y)
    epsilon = float(np.finfo(keras.backend.standardize_dtype(x.dtype)).eps)
    lost = ops.logical_and(squares <= PRODUCT_NOISE * epsilon * lengths, lengths < float("inf"))
    return squares, lost


def euclidean(x: Tensor, y: Tensor) -> Tensor:
    """Computes all Euclidean distances. For equal rows, the distance and its gradient are 0.

    Args:
        x: Vectors, shape `(n, features)`.
        y: Vectors, shape `(m, features)`, in the same units as `x`.

    Returns:
        Distances, shape `(n, m)`, in the units of the vectors. `squared_euclidean` describes the
        precision.
    """
    return _root(squared_euclidean(x, y))


def euclidean_by_differences(x: Tensor, y: Tensor) -> Tensor:
    """Computes all Euclidean distances from differences, with machine precision for sets of any
    size. The distances of large sets take ten times as long as with `euclidean`.

    Args:
        x: Vectors, shape `(n, features)`.
        y: Vectors, shape `(m, features)`, in the same units as `x`.

    Returns:
        Distances, shape `(n, m)`, in the units of the vectors.
    """
    return _root(squared_euclidean_by_differences(x, y))


def squared_euclidean_by_differences(x: Tensor, y: Tensor) -> Tensor:
    """Computes all squared Euclidean distances from differences, with machine precision for sets of
    any size. The distances of large sets take ten times as long as with `squared_euclidean`.

    Args:
        x: Vectors, shape `(n, features)`.
        y: Vectors, shape `(m, features)`, in the same units as `x`.

    Returns:
        Non-negative squared distances, shape `(n, m)`.
    """
    x, y = widest(x, y)
    rows = chunks.rows_per_block(x, y, DIFFERENCES_BYTES)
    if rows is None:
        return _squares_by_differences(x, y)
    return chunks.map_rows(_squares_by_differences, rows, x, y)


def _root(squares):
    """Computes square roots. The gradient at 0 is 0."""
    zero = ops.equal(squares, 0)
    return ops.where(zero, 0, ops.sqrt(ops.where(zero, 1, squares)))


def snr(x: Tensor, y: Tensor) -> Tensor:
    """Computes all signal-to-noise-ratio distances, `var(y_j - x_i) / var(x_i)` with variances over
    the features (Yuan2019).

    The distance is not symmetric. Rows of `x` are anchors, and the signal is the variance of an
    anchor. If all features of an anchor are equal, the divisor is 1e-12 and has no gradient.

    Args:
        x: Anchors, shape `(n, features)`.
        y: Vectors, shape `(m, features)`.

    Returns:
        Non-negative distances without a unit, shape `(n, m)`. A distance is 0 if all features of
        `y_j - x_i` are equal.
    """
    x, y = widest(x, y)
    x, y = (rows - mean(rows, axis=1, keepdims=True) for rows in (x, y))
    signal = ops.maximum(mean(x * x, axis=1, keepdims=True), SMALLEST_VARIANCE)  # (n, 1)
    return squared_euclidean(x, y) / (x.shape[1] * signal)
