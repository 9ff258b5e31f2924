"""Assertions in compiled steps, where Python raises nothing."""

import numpy as np

from keras_dml._backend import keras, ops


def enforced(condition, message):
    """The condition itself; where it is False, the step stops with an error.

    It costs nothing while the condition holds. TensorFlow stops before anything that depends on the
    result; XLA drops the assertion there, so the caller must handle a False condition too.

    Args:
        condition: Boolean scalar tensor.
        message: Error message.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with tf.control_dependencies([tf.debugging.Assert(condition, [message])]):
            return tf.identity(condition)
    if keras.backend.backend() == "jax":
        import jax

        def stop(condition):
            if not np.all(condition):
                raise ValueError(message)
            return np.asarray(condition)

        result = jax.ShapeDtypeStruct(condition.shape, condition.dtype)
        # without an effect, and where all is well without a call: steps are dispatched as before
        return ops.cond(
            condition,
            lambda: condition,
            lambda: jax.pure_callback(stop, result, condition, vmap_method="expand_dims"),
        )
    return condition
