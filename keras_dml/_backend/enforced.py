"""Provides assertions for compiled steps, in which Python code cannot raise errors."""

import numpy as np

from keras_dml._backend import keras, ops


def enforced(condition, message, values=None):
    """Returns the condition. Stops the step with an error if an element of the condition is False.
    The assertion also works in compiled steps.

    The step calls Python only if the condition is False. TensorFlow stops before any computation
    that depends on the returned condition. XLA on TensorFlow drops the assertion, so the caller
    must also handle a False condition.

    Args:
        condition: Boolean tensor.
        message: Error message.
        values: Tensor of the shape of `condition`. The error message contains the first value for
            which the condition is False. By default, the message contains no value.
    """
    if keras.backend.backend() == "tensorflow":
        return _on_tensorflow(condition, message, values)
    if keras.backend.backend() == "jax":
        return _on_jax(condition, message, values)
    return condition


def _on_tensorflow(condition, message, values):
    import tensorflow as tf

    def stop():
        details = [message]
        if values is not None:
            first = tf.argmax(tf.cast(tf.logical_not(condition), tf.int32))
            details += ["Received", values[first]]
        with tf.control_dependencies([tf.debugging.Assert(False, details)]):
            return tf.identity(condition)

    return tf.cond(tf.reduce_all(condition), lambda: condition, stop)


def _on_jax(condition, message, values):
    import jax

    def stop(condition, *values):
        if not np.all(condition):
            received = [f" Received {value[~condition][:1].tolist()}." for value in values]
            raise ValueError(message + "".join(received))
        return np.asarray(condition)

    result = jax.ShapeDtypeStruct(condition.shape, condition.dtype)
    arguments = (condition,) if values is None else (condition, values)
    # A pure callback does not slow down the dispatch of steps, because it has no side effects and
    # runs only if the condition is violated.
    return ops.cond(
        ops.all(condition),
        lambda: condition,
        lambda: jax.pure_callback(stop, result, *arguments, vmap_method="expand_dims"),
    )
