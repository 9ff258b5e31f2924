"""Gradients with respect to the inputs of a network."""

from keras_dml._backend import keras


def value_and_gradient(function, x, has_aux=False):
    """Values of a function of the inputs, and the gradient of their sum.

    The weights that the function reads are constants. It works in eager calls, inside a compiled
    step, and inside a loop of one.

    Args:
        function: Function of a tensor like `x` that returns values of any shape, one for each
            example where their gradients must not mix. It changes no variable.
        x: Inputs, shape `(batch, ...)`, floats.
        has_aux: Whether the function returns the values and something else, which has no part in
            the gradient.

    Returns:
        What the function returns, and the gradient in the shape of `x`; zeros where the function
        does not use `x`.

    Raises:
        NotImplementedError: On another backend than TensorFlow or JAX.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.convert_to_tensor(x)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            found = function(x)
            values = found[0] if has_aux else found
        return found, tape.gradient(values, x, unconnected_gradients="zero")
    if backend == "jax":
        import jax

        def total(x):
            found = function(x)
            return (found[0] if has_aux else found).sum(), found

        gradient, found = jax.grad(total, has_aux=True)(jax.numpy.asarray(x))
        return found, gradient
    raise NotImplementedError(_message(backend))


def compiled(function):
    """The function compiled by the backend, which freezes what it reads beside its arguments at the
    first call of each shape.

    Args:
        function: Function of tensors, without side effects.

    Raises:
        NotImplementedError: On another backend than TensorFlow or JAX.
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
    return (
        f"Gradients in the inputs are there for TensorFlow and JAX. Keras runs on {backend!r}; "
        "set the environment variable KERAS_BACKEND before Keras is imported."
    )


def has_forward_mode():
    """Whether losses have a forward mode (`jax.jvp`), which a hand-written gradient takes away."""
    return keras.backend.backend() == "jax"
