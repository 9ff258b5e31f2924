"""NumPy within a step of TensorFlow."""

from keras_dml._backend import keras


def is_reachable():
    """Whether a step can call NumPy without leaving it: on TensorFlow."""
    return keras.backend.backend() == "tensorflow"


def is_faster():
    """Whether TensorFlow runs here without an accelerator, where NumPy's sort beats its own."""
    if not is_reachable():
        return False
    import tensorflow as tf

    return not tf.config.list_physical_devices("GPU")


def call(function, inputs, dtype, shape):
    """What a pure function of NumPy arrays gives, within a step; carries no gradient.

    Args:
        function: From arrays to an array.
        inputs: List of tensors.
        dtype: Name of the answer's dtype.
        shape: Its static shape; None where unknown.
    """
    import tensorflow as tf

    answer = tf.numpy_function(function, inputs, tf.as_dtype(dtype), stateful=False)
    answer.set_shape(shape)
    return answer
