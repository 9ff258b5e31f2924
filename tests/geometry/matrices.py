"""Functions for the tests of symmetric positive definite (SPD) matrices. The functions draw random
SPD matrices and compute gradients.
"""

import functools

import numpy as np

from keras_dml._backend import keras
from tests.goldens import golden

SEEDS = "seeds_p3"
DTYPES = ["float64", "float32"]


def frames(rng, *shape):
    """Draws random orthogonal matrices, shape `(*shape, shape[-1])`."""
    return np.linalg.qr(rng.normal(size=(*shape, shape[-1])))[0]


def with_spectrum(rng, spectrum, *leading):
    """Draws symmetric matrices `(*leading, n, n)` with the given eigenvalues, shape `(n,)`."""
    u = frames(rng, *leading, len(spectrum))
    x = (u * np.asarray(spectrum)) @ np.swapaxes(u, -1, -2)
    return (x + np.swapaxes(x, -1, -2)) / 2


def spd(rng, *shape, spread=2.0):
    """Draws SPD matrices `(*shape, shape[-1])`. The logarithms of eigenvalues are in
    `[-spread, spread]`."""
    u = frames(rng, *shape)
    values = np.exp(rng.uniform(-spread, spread, size=shape))
    x = (u * values[..., None, :]) @ np.swapaxes(u, -1, -2)
    return (x + np.swapaxes(x, -1, -2)) / 2


def by_eigh(function, x):
    """Computes a function of symmetric matrices from their eigenvalues, with NumPy in float64."""
    values, vectors = np.linalg.eigh(np.asarray(x, np.float64))
    return (vectors * function(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def example(name, dtype):
    """Returns the inputs (as arrays of the given dtype), the expected value, the gradient and the
    tolerance of a worked example. Returns None if the example is not for this dtype."""
    result = golden(name, SEEDS)
    tolerance = result["tolerance"][dtype]
    if tolerance.get("skip"):
        return None
    inputs = {
        key: np.asarray(value, dtype) if isinstance(value, list) else value
        for key, value in result["inputs"].items()
    }
    return inputs, result["expected"], result.get("gradient", {}), tolerance


def assert_values(found, expected, tolerance):
    np.testing.assert_allclose(
        np.asarray(found), expected, rtol=tolerance.get("rtol", 0), atol=tolerance.get("atol", 0)
    )


def assert_gradients(found, expected, tolerance):
    expected = np.asarray(expected)
    limit = tolerance["grad_rtol"] * np.abs(expected).max() + tolerance.get("grad_atol", 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=limit)


@functools.cache
def compiled(function):
    """Compiles a function with `tf.function` on TensorFlow or `jax.jit` on JAX."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, autograph=False)


@functools.cache
def quick(function):
    """Compiles a function on JAX, and returns it unchanged on TensorFlow. An eager call on JAX
    compiles each operation separately for each shape, which takes three times as long."""
    return compiled(function) if keras.backend.backend() == "jax" else function


def with_gradients(function, weights, *arrays):
    """Computes `function(*arrays)` and the gradients of `sum(weights * function(*arrays))`. The
    function is compiled by `quick`."""
    weights = np.asarray(weights, arrays[0].dtype)
    if keras.backend.backend() == "jax":
        value, result = _pull_back(function)(weights, *arrays)
    else:
        import tensorflow as tf

        tensors = [tf.convert_to_tensor(array) for array in arrays]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = function(*tensors)
        result = tape.gradient(value, tensors, output_gradients=tf.convert_to_tensor(weights))
    return np.asarray(value), [np.asarray(gradient) for gradient in result]


@functools.cache
def _pull_back(function):
    import jax

    def value_and_pull(weights, *arrays):
        value, pull = jax.vjp(function, *arrays)
        return value, pull(weights)

    return jax.jit(value_and_pull)
