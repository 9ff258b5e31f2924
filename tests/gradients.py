"""Functions that compute gradients on each backend, and finite differences to check gradients."""

import numpy as np

from keras_dml._backend import keras, ops


def gradients(function, *arrays):
    """Computes the gradients of a scalar function with respect to each argument. Returns NumPy
    arrays."""
    tensors = [ops.convert_to_tensor(array) for array in arrays]
    if keras.backend.backend() == "jax":
        import jax

        result = jax.jit(jax.grad(function, argnums=tuple(range(len(tensors)))))(*tensors)
    else:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = function(*tensors)
        result = tape.gradient(value, tensors, unconnected_gradients="zero")
        result = [tf.convert_to_tensor(gradient) for gradient in result]
    return [np.asarray(gradient) for gradient in result]


def second_derivatives(function, array):
    """Computes the gradient of the gradient's squared length. Each entry of the result depends on
    second derivatives of the function.
    """
    x = ops.convert_to_tensor(array)
    if keras.backend.backend() == "jax":
        import jax

        return np.asarray(jax.jit(jax.grad(lambda x: ops.sum(jax.grad(function)(x) ** 2)))(x))
    import tensorflow as tf

    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            value = function(x)
        length = tf.reduce_sum(inner.gradient(value, x) ** 2)
    return outer.gradient(length, x).numpy()


def finite_differences(function, array, step=1e-5):
    """Computes the derivative of a scalar function by central differences of fourth order, in
    float64."""
    array = np.asarray(array, np.float64)
    result = np.zeros_like(array)
    for place in np.ndindex(*array.shape):

        def moved(by, place=place):
            shifted = array.copy()
            shifted[place] += by
            return float(function(shifted))

        result[place] = (
            8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))
        ) / (12 * step)
    return result
