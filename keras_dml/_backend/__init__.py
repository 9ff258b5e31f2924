"""Imports Keras for the whole package, explains how to install a missing backend, and hides
TensorFlow's start-up notes.

Installing Keras or this package does not install a backend. Without a backend, importing Keras
raises `No module named 'tensorflow'`, which does not say what to install.
"""

from keras_dml._backend import startup

BACKENDS = ("tensorflow", "jax", "torch", "openvino")

try:
    with startup.notes_hidden():
        import keras
        from keras import ops
except ModuleNotFoundError as error:
    # A backend is missing only if the error names exactly its top-level package. If
    # `tensorflow.python` is missing, TensorFlow is installed but broken.
    if error.name not in BACKENDS:
        raise
    raise ImportError(
        f"Keras was asked to run on `{error.name}`, which is not installed. Install a backend: "
        '`pip install "keras-dml[cpu]"` (TensorFlow, small build), '
        '`pip install "keras-dml[tensorflow]"` (TensorFlow, any platform), '
        '`pip install "keras-dml[cuda]"` (TensorFlow with the CUDA libraries, Linux) or '
        '`pip install "keras-dml[jax]"` (then set the environment variable KERAS_BACKEND=jax).',
        name=error.name,
    ) from error

__all__ = ["keras", "ops"]
