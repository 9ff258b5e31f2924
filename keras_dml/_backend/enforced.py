"""What stops a compiled step, where Python raises nothing."""

import numpy as np

from keras_dml._backend import keras, ops


def enforced(condition, message):
    """The condition itself, of which the step stops with the message where it is False.

    A step that holds costs nothing more. TensorFlow stops before anything that depends on the
    result, and XLA leaves its assertion out there: the caller gives what a False condition leads
    to.

    Args:
        condition: A boolean scalar tensor.
        message: What the error says.
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

        answer = jax.ShapeDtypeStruct(condition.shape, condition.dtype)
        # without an effect, and where all is well without a call: steps are dispatched as before
        return ops.cond(
            condition,
            lambda: condition,
            lambda: jax.pure_callback(stop, answer, condition, vmap_method="expand_dims"),
        )
    return condition
