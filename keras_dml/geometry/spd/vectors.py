"""Converts symmetric matrices to vectors and back, without a change of inner products."""

import math

import numpy as np

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import at_least_float32
from keras_dml.geometry.spd.matrices import square_matrices, symmetric_part


def vectorize(x: Tensor) -> Tensor:
    """Converts symmetric matrices to vectors that hold the scaled upper triangle, row by row.

    Off-diagonal entries are multiplied by the square root of 2, so that vectors and matrices have
    the same inner products and norms. The order of entries is the same as in pyRiemann.

    Args:
        x: Symmetric matrices, shape `(..., n, n)`. The symmetric part is used.

    Returns:
        Vectors, shape `(..., n (n + 1) / 2)`, float32 or wider.

    Raises:
        ValueError: If the matrices are not square.
    """

    @ops.custom_gradient
    def vector(x):
        return to_vector(symmetric_part(x)), _adjoint(to_matrix)

    return vector(square_matrices("x", x))


def unvectorize(v: Tensor) -> Tensor:
    """Converts vectors to symmetric matrices. The function `unvectorize` is the inverse of
    `vectorize`.

    Args:
        v: Vectors, shape `(..., n (n + 1) / 2)`.

    Returns:
        Symmetric matrices, shape `(..., n, n)`, float32 or wider.

    Raises:
        ValueError: If the number of entries is not 1, 3, 6 or another number of the form
            `n (n + 1) / 2`.
    """

    @ops.custom_gradient
    def matrix(v):
        return to_matrix(v), _adjoint(lambda upstream: to_vector(symmetric_part(upstream)))

    return matrix(at_least_float32(v))


def _adjoint(function):
    """Returns a custom gradient that calls `function`. The gradient of `to_vector` is `to_matrix`
    and vice versa. The two functions use a gather, which is much faster than the scatter that
    automatic differentiation uses."""

    def gradient(*args, upstream=None):
        if upstream is None:
            (upstream,) = args
        return function(upstream)

    return gradient


def to_vector(x: Tensor) -> Tensor:
    """Computes the same vectors as `vectorize`, without a custom gradient."""
    n = x.shape[-1]
    row, column = np.triu_indices(n)
    scale = np.where(row == column, 1, math.sqrt(2))
    entries = ops.reshape(x, (*ops.shape(x)[:-2], n * n))
    return ops.take(entries, row * n + column, axis=-1) * ops.cast(scale, x.dtype)


def to_matrix(v: Tensor) -> Tensor:
    """Computes the same matrices as `unvectorize`, without a custom gradient. The function
    `to_matrix` is the adjoint of `to_vector`."""
    n = _size(v)
    row, column = np.triu_indices(n)
    index = np.zeros((n, n), int)
    index[row, column] = index[column, row] = np.arange(len(row))
    scale = np.where(np.eye(n), 1, math.sqrt(0.5)).ravel()
    entries = ops.take(v, index.ravel(), axis=-1) * ops.cast(scale, v.dtype)
    return ops.reshape(entries, (*ops.shape(v)[:-1], n, n))


def _size(v):
    entries = v.shape[-1] if len(v.shape) else 0
    n = (math.isqrt(8 * entries + 1) - 1) // 2
    if n < 1 or n * (n + 1) // 2 != entries:
        raise ValueError(
            "`v` must hold vectors with n (n + 1) / 2 entries, that is 1, 3, 6, 10, ... entries. "
            f"Received shape {tuple(v.shape)}."
        )
    return n
