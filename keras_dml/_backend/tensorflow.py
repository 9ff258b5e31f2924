"""Gives access to the TensorFlow module for operations that other backends do not have."""

from keras_dml._backend import keras


def is_backend():
    """Returns True if Keras runs on TensorFlow."""
    return keras.backend.backend() == "tensorflow"


def tensorflow():
    """Returns the TensorFlow module.

    Raises:
        RuntimeError: If Keras runs on another backend.
    """
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise RuntimeError(
            f"Keras runs on {backend!r}, but only the TensorFlow backend can write exports. "
            'Install TensorFlow by `pip install "keras-dml[cpu]"`. Save the model as a .keras '
            "file, start Python with KERAS_BACKEND=tensorflow, load the file there and export "
            "the model."
        )
    import tensorflow as tf

    return tf
