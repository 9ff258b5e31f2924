"""Gradients with respect to the inputs of a network."""

from keras_dml._backend import keras


def value_and_gradient(function, x, has_aux=False):
    """Computes a function of the inputs and the gradient of the sum of its values.

    The weights that the function reads are constants. It works in eager calls, in compiled steps
    and in loops inside compiled steps.

    Args:
        function: Function of a tensor like `x` that returns values of any shape. It must return
            one value per example if the gradients of examples must not mix. It changes no variable.
        x: Inputs, shape `(batch, ...)`, floats.
        has_aux: Whether the function returns a pair: the values, and a result that has no part in
            the gradient.

    Returns:
        The result of the function, and the gradient in the shape of `x`. The gradient is 0 if the
        function does not use `x`.

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
    """Compiles a function by the backend.

    At the first call of each shape, all values that the function reads besides its arguments become
    constants.

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
    """Returns the error message for a backend without gradients in the inputs."""
    return (
        f"Gradients in the inputs need TensorFlow or JAX. Keras runs on {backend!r}; "
        "set the environment variable KERAS_BACKEND before Keras is imported."
    )


def has_forward_mode():
    """Returns True if losses have a forward mode (`jax.jvp`), which a custom gradient would
    remove."""
    return keras.backend.backend() == "jax"
