"""TensorFlow, which writes both formats."""

from keras_dml._keras import keras


def tensorflow():
    """The module.

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


def function(python, signature):
    """A graph of a Python function with these tensors as its arguments.

    Args:
        python: From tensors to a dict of tensors.
        signature: List of `tf.TensorSpec`.
    """
    return tensorflow().function(python, autograph=False, input_signature=signature)
