"""The one place where Keras is first imported, so that a missing backend is explained and
TensorFlow starts without its notes.

Keras names no backend as a dependency, and neither does this package; without one, importing
Keras ends in `No module named 'tensorflow'`, which tells a newcomer nothing.
"""

from keras_dml._backend import startup

BACKENDS = ("tensorflow", "jax", "torch", "openvino")

try:
    with startup.notes_hidden():
        import keras
        from keras import ops
except ModuleNotFoundError as error:
    # Exact names only: `tensorflow.python` missing is a broken installation, not an absent one.
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
