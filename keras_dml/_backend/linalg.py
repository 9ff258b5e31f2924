"""Computes matrix products and decompositions that Keras lacks or computes differently."""

import functools

from keras_dml._backend import keras, ops


def matmul_transposed(x, y):
    """Computes the matrix product `x y'`, shape `(n, m)`, of `x` `(n, features)` and `y`
    `(m, features)`.

    On TensorFlow, neither the product nor its gradient needs a transposed copy of a tensor.
    """
    if keras.backend.backend() != "tensorflow":
        return ops.matmul(x, ops.transpose(y))
    import tensorflow as tf

    return tf.matmul(x, y, transpose_b=True)


def eigh(x):
    """Computes ascending eigenvalues `(..., n)` and eigenvectors `(..., n, n)` of finite
    matrices."""
    if keras.backend.backend() == "tensorflow":
        return ops.linalg.eigh(x)
    return _in_turn("eigh")(x)


def eigenvalues(x):
    """Computes ascending eigenvalues `(..., n)` of finite matrices, without a gradient.

    The function takes half the time of `eigh`.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.linalg.eigvalsh(ops.stop_gradient(x))
    return _in_turn("eigenvalues")(ops.stop_gradient(x))


def cholesky(x):
    """Computes the Cholesky factor, the lower triangular L with `L L' = x`, shape `(..., n, n)`.
    The factor is NaN for a matrix that is not positive definite.

    In contrast, `keras.ops.cholesky` raises an error if one matrix of a batch is not positive
    definite.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.linalg.cholesky(x)
    return _in_turn("cholesky")(x)


def inverse_lower(factor):
    """Computes inverses of lower triangular matrices, shape `(..., n, n)`."""
    if keras.backend.backend() == "tensorflow":
        identity = ops.eye(factor.shape[-1], dtype=factor.dtype)
        identity = ops.broadcast_to(identity, ops.shape(factor))
        return ops.linalg.solve_triangular(factor, identity, lower=True)
    return _in_turn("inverse_lower")(factor)


@functools.cache
def _in_turn(name):
    """Returns a function that decomposes stacks of matrices on JAX. On a CPU, the function
    decomposes one matrix after another.

    If JAX calls LAPACK for a whole stack, the call distributes the matrices over the threads of
    XLA's pool. The calling thread waits until all matrices are decomposed. If the number of
    simultaneous calls equals the number of threads in the pool, all threads wait for each other
    forever. We saw this deadlock on two cores, in a training step with the potato ranking loss
    (jaxlib 0.10.2). A decomposition of a single matrix runs in the calling thread, so it cannot
    cause the deadlock.

    Args:
        name: `"eigh"`, `"eigenvalues"`, `"cholesky"` or `"inverse_lower"`.

    Returns:
        Function of matrices `(..., n, n)`, which is compiled once for each shape.
    """
    import jax
    import jax.numpy as jnp

    def inverse_lower(factor):
        identity = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
        return jax.lax.linalg.triangular_solve(factor, identity, left_side=True, lower=True)

    def eigh(x):
        return tuple(jnp.linalg.eigh(x))

    decompose = {
        "eigh": eigh,
        "eigenvalues": jnp.linalg.eigvalsh,
        "cholesky": jnp.linalg.cholesky,
        "inverse_lower": inverse_lower,
    }[name]

    def in_turn(x):
        parts = jax.lax.map(decompose, jnp.reshape(x, (-1, *x.shape[-2:])))
        return jax.tree.map(lambda part: jnp.reshape(part, (*x.shape[:-2], *part.shape[1:])), parts)

    return jax.jit(lambda x: jax.lax.platform_dependent(x, cpu=in_turn, default=decompose))
