"""Calls NumPy functions within a TensorFlow step."""

from keras_dml._backend import keras, xla


def is_reachable():
    """Returns True if a training step can call NumPy. A step on TensorFlow can call NumPy unless
    XLA compiles the step.
    """
    return keras.backend.backend() == "tensorflow" and not xla.is_compiling()


def is_faster():
    """Returns True if NumPy sorts faster than the backend. Without an accelerator, NumPy sorts
    faster than TensorFlow.
    """
    if not is_reachable():
        return False
    import tensorflow as tf

    return not tf.config.list_physical_devices("GPU")


def call(function, inputs, dtype, shape):
    """Calls a NumPy function within a step. The function must not have side effects. The result has
    no gradient.

    Args:
        function: Function that maps arrays to one array.
        inputs: List of tensors.
        dtype: Name of the dtype of the result.
        shape: Static shape of the result. Unknown sizes are None.
    """
    import tensorflow as tf

    result = tf.numpy_function(function, inputs, tf.as_dtype(dtype), stateful=False)
    result.set_shape(shape)
    return result
