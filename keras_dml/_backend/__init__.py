"""Imports Keras for the whole package, explains how to install a missing backend, and hides
TensorFlow's start-up notes.

Installing this package without an extra installs neither Keras nor a backend. Without them, the
error `No module named 'tensorflow'` does not say what to install.
"""

from keras_dml._backend import startup

BACKENDS = ("tensorflow", "jax", "torch", "openvino")
INSTALL = (
    "Install a backend: "
    '`pip install "keras-dml[cpu]"` (TensorFlow, small build), '
    '`pip install "keras-dml[tensorflow]"` (TensorFlow, any platform), '
    '`pip install "keras-dml[cuda]"` (TensorFlow with the CUDA libraries, Linux) or '
    '`pip install "keras-dml[jax]"` (then set the environment variable KERAS_BACKEND=jax).'
)

try:
    with startup.notes_hidden():
        import keras
        from keras import ops
except ModuleNotFoundError as error:
    if error.name == "keras":
        raise ImportError(
            f"Keras is not installed. {INSTALL} Without Keras, `keras_dml.edge` loads models and "
            "opens galleries.",
            name=error.name,
        ) from error
    # A backend is missing only if the error names exactly its top-level package. If
    # `tensorflow.python` is missing, TensorFlow is installed but broken.
    if error.name not in BACKENDS:
        raise
    raise ImportError(
        f"Keras was asked to run on `{error.name}`, which is not installed. {INSTALL}",
        name=error.name,
    ) from error

__all__ = ["keras", "ops"]
