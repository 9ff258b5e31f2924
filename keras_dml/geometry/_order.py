"""Where the order statistics of a sample stand: the one place that sorts, and that knows how each backend does it."""

import numpy as np

from keras_dml._keras import keras, ops


def positions(x, ranks, on_host=False):
    """Time steps that hold the given order statistics; carries no gradient.

    Values taken at these positions have the sort's gradient by construction, and a backward pass that
    touches the picked steps only.

    Args:
        x: Samples, shape `(batch, filters, time)`.
        ranks: Zero-based ranks, int32, shape `(batch, 1, ranks)`.
        on_host: Use NumPy's sort, threaded, on TensorFlow.

    Returns:
        Positions, int32, shape `(batch, filters, ranks)`.
    """
    x = ops.stop_gradient(x)
    if on_host and keras.backend.backend() == "tensorflow":
        return _positions_on_host(x, ranks)
    order = ops.cast(ops.argsort(x, axis=-1), "int32")
    filters = ops.shape(x)[1]
    return ops.take_along_axis(order, ops.repeat(ranks, filters, axis=1), axis=-1)


def trains_on_cpu():
    """Whether TensorFlow runs here without an accelerator, where NumPy's sort beats its own."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return not tf.config.list_physical_devices("GPU")


def _positions_on_host(x, ranks):
    import tensorflow as tf

    picked = tf.numpy_function(_numpy_positions, [x, ranks], tf.int32, stateful=False)
    picked.set_shape((x.shape[0], x.shape[1], ranks.shape[2]))
    return picked


def _numpy_positions(x, ranks):
    order = np.argsort(x, axis=-1)
    return np.take_along_axis(order, ranks.astype(np.int64), axis=-1).astype(np.int32)
