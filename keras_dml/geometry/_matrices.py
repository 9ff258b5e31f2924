"""Stacks of symmetric matrices: what is one, its decompositions, and back from them."""

import functools

import numpy as np

from keras_dml._keras import keras, ops
from keras_dml.geometry.numerics import at_least_float32


def square_matrices(name, x):
    """The tensor in float32 or wider, once it is known to hold square matrices.

    Raises:
        ValueError: If the last two axes are not alike, or are missing.
    """
    x = at_least_float32(x)
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"`{name}` must hold square matrices, shape (..., n, n). Received shape "
            f"{tuple(x.shape)}. For signals of shape (batch, time, channels) apply "
            "`keras_dml.layers.Covariance` first."
        )
    return x


def transposed(x):
    """Matrices `(..., m, n)` as `(..., n, m)`."""
    return ops.swapaxes(x, -1, -2)


def symmetric_part(x):
    """`(x + x') / 2`, shape `(..., n, n)`."""
    return (x + transposed(x)) / 2


def congruence(frame, x, product=ops.matmul):
    """`frame x frame'`: `(..., m, n)` and `(..., n, n)` to `(..., m, m)`."""
    return product(product(frame, x), transposed(frame))


def composed(vectors, values, product=ops.matmul):
    """`vectors diag(values) vectors'`: `(..., n, m)` and `(..., m)` to `(..., n, n)`."""
    return product(vectors * values[..., None, :], transposed(vectors))


def eigh(x):
    """Ascending eigenvalues `(..., n)` and eigenvectors `(..., n, n)` of symmetric matrices.

    A matrix with a number that is not finite has eigenvalues NaN; TensorFlow's own solver would
    stop the program there, and with it the other matrices of the batch.
    """
    x, finite = finite_or_zero(x)
    if keras.backend.backend() == "tensorflow":
        values, vectors = ops.linalg.eigh(x)
    else:
        values, vectors = _in_turn("eigh")(x)
    return nan_unless(finite, values), vectors


def finite_or_zero(x):
    """Matrices `(..., n, n)`, those that are not finite as zeros; and which are, `(..., 1)`."""
    finite = ops.all(ops.isfinite(x), axis=(-2, -1), keepdims=True)
    return ops.where(finite, x, ops.zeros_like(x)), finite[..., 0]


def nan_unless(finite, values):
    """Eigenvalues `(..., n)`, NaN for the matrices that are not finite, `(..., 1)`."""
    return ops.where(finite, values, ops.full_like(values, np.nan))


def rounding(values):
    """Least eigenvalue that is told from rounding: `(..., n)`, ascending, to `(..., 1)`."""
    limits = np.finfo(keras.backend.standardize_dtype(values.dtype))
    return float(limits.eps) * ops.maximum(values[..., -1:], 0) + float(limits.tiny)


def cholesky(x):
    """Lower triangular L with `L L' = x`, shape `(..., n, n)`; NaN where there is none.

    Keras's own function raises there, which one bad matrix of a batch does not deserve.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.linalg.cholesky(x)
    return _in_turn("cholesky")(x)


def inverse_lower(factor):
    """Inverses of lower triangular matrices, shape `(..., n, n)`."""
    if keras.backend.backend() == "tensorflow":
        identity = ops.eye(factor.shape[-1], dtype=factor.dtype)
        identity = ops.broadcast_to(identity, ops.shape(factor))
        return ops.linalg.solve_triangular(factor, identity, lower=True)
    return _in_turn("inverse_lower")(factor)


@functools.cache
def _in_turn(name):
    """A decomposition of stacks of matrices on JAX; on a processor of one matrix after another.

    There, LAPACK's call for a whole stack hands parts of it to the threads of XLA's pool and blocks
    its own until they are done. As many such calls at once as there are threads wait for each other
    forever: a step of the potato ranking loss did on two cores (jaxlib 0.10.2). One matrix at a
    time is computed where it is called.

    Args:
        name: `"eigh"`, `"cholesky"` or `"inverse_lower"`.

    Returns:
        A function of matrices, shape `(..., n, n)`, compiled once for each shape.
    """
    import jax
    import jax.numpy as jnp

    def inverse_lower(factor):
        identity = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
        return jax.lax.linalg.triangular_solve(factor, identity, left_side=True, lower=True)

    def eigh(x):
        return tuple(jnp.linalg.eigh(x))

    decompose = {"eigh": eigh, "cholesky": jnp.linalg.cholesky, "inverse_lower": inverse_lower}[
        name
    ]

    def in_turn(x):
        parts = jax.lax.map(decompose, jnp.reshape(x, (-1, *x.shape[-2:])))
        return jax.tree.map(lambda part: jnp.reshape(part, (*x.shape[:-2], *part.shape[1:])), parts)

    return jax.jit(lambda x: jax.lax.platform_dependent(x, cpu=in_turn, default=decompose))
