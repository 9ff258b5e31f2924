"""Computes gradients with respect to the inputs of a network."""

from keras_dml._backend import keras


def value_and_gradient(function, x, has_aux=False):
    """Computes the values of a function, and the gradient of the sum of the values with respect to
    the inputs.

    The gradient treats the weights that the function reads as constants. `value_and_gradient` works
    in eager calls, in compiled steps and in loops inside compiled steps.

    Args:
        function: Function that takes a tensor of the shape of `x` and returns values of any shape.
            Return one value per example to get a separate gradient for each example. The function
            must not change variables.
        x: Inputs, shape `(batch, ...)`, floats.
        has_aux: Whether the function returns a pair `(values, result)`. `result` does not affect
            the gradient.

    Returns:
        Tuple of the function's result and the gradient. The gradient has the shape of `x`, and is 0
        if the function ignores `x`.

    Raises:
        NotImplementedError: If the backend is not TensorFlow or JAX.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.convert_to_tensor(x)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            result = function(x)
            values = result[0] if has_aux else result
        return result, tape.gradient(values, x, unconnected_gradients="zero")
    if backend == "jax":
        import jax

        def total(x):
            result = function(x)
            return (result[0] if has_aux else result).sum(), result

        gradient, result = jax.grad(total, has_aux=True)(jax.numpy.asarray(x))
        return result, gradient
    raise NotImplementedError(_message(backend))


def compiled(function):
    """Compiles a function with the backend's compiler.

    The first call with arguments of a new shape compiles the function. All other values that the
    function reads become constants of the compiled function.

    Args:
        function: Function of tensors, without side effects.

    Raises:
        NotImplementedError: If the backend is not TensorFlow or JAX.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(function, reduce_retracing=True)
    if backend == "jax":
        import jax

        return jax.jit(function)
    raise NotImplementedError(_message(backend))


def _message(backend):
    """Returns the error message for a backend on which gradients with respect to inputs are not
    implemented."""
    return (
        f"Gradients with respect to inputs need TensorFlow or JAX. Keras runs on {backend!r}. Set "
        "the environment variable KERAS_BACKEND before Keras is imported."
    )


def has_forward_mode():
    """Returns True if the backend supports forward-mode derivatives of losses (`jax.jvp`). On other
    backends, losses may use custom gradients, which have no forward-mode derivatives.
    """
    return keras.backend.backend() == "jax"
