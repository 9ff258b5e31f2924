"""The TensorFlow module, for what no other backend can do."""

from keras_dml._backend import keras


def is_backend():
    """Whether Keras runs on TensorFlow."""
    return keras.backend.backend() == "tensorflow"


def tensorflow():
    """The TensorFlow module.

    Raises:
        RuntimeError: If Keras runs on another backend.
    """
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise RuntimeError(
            f"Exports are written with the TensorFlow backend; Keras runs on {backend!r} here. "
            "Save the model as a .keras file, start Python with KERAS_BACKEND=tensorflow "
            "(install it with "
            '`pip install "keras-dml[cpu]"`), load the file there and export it.'
        )
    import tensorflow as tf

    return tf
