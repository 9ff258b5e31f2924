"""Similarities of plain vectors."""

from keras_dml._keras import ops
from keras_dml.geometry.numerics import at_least_float32

SMALLEST_SQUARE = (
    1e-12  # squared length below which a vector counts as zero (R25 of the cosine N-pair loss)
)


def unit(x):
    """Vectors of length 1; a zero vector stays zero, with gradient 0.

    Args:
        x: Vectors, shape `(..., features)`.
    """
    x = at_least_float32(x)
    square = ops.sum(x * x, axis=-1, keepdims=True)
    return x * ops.rsqrt(ops.maximum(square, SMALLEST_SQUARE))


def inner(x, y):
    """All inner products, `(n, features)` and `(m, features)` to `(n, m)`."""
    return ops.matmul(at_least_float32(x), ops.transpose(at_least_float32(y)))


def cosine(x, y):
    """All cosines, `(n, features)` and `(m, features)` to `(n, m)`, in [-1, 1]."""
    return inner(unit(x), unit(y))
