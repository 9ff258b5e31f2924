"""Values of tensors where there are any: checks speak in eager calls, not in a traced step."""

import numpy as np

from keras_dml._keras import keras


def concrete(tensor):
    """The tensor's values as a NumPy array in an eager call, an array itself; None where it is
    symbolic."""
    if isinstance(tensor, np.ndarray):
        return tensor
    if keras.backend.backend() == "jax":
        import jax

        return None if isinstance(tensor, jax.core.Tracer) else np.asarray(tensor)
    if keras.backend.backend() == "tensorflow":
        return tensor.numpy() if hasattr(tensor, "numpy") else None
    return None
