"""One set of names for functions of tensors and of NumPy arrays.

Formulas written on `namespace(...)` train on either backend and also run on arrays in float64,
whatever the backend: JAX without `JAX_ENABLE_X64` has no float64, and an eager call of TensorFlow
takes many times as long as NumPy on one small matrix.
"""

import types

import numpy as np

from keras_dml._backend import linalg, ops
from keras_dml.geometry.spd import matrices

VALUES = (np.ndarray, np.generic, int, float)
SHARED = ("all", "isfinite", "log", "maximum", "sqrt", "sum", "swapaxes", "where")

TENSORS = types.SimpleNamespace(
    **{name: getattr(ops, name) for name in SHARED},
    constant=lambda x, dtype: ops.stop_gradient(ops.convert_to_tensor(x, dtype)),
    cholesky=linalg.cholesky,
    inverse_lower=linalg.inverse_lower,
    eigh=matrices.eigh,
)
ARRAYS = types.SimpleNamespace(
    **{name: getattr(np, name) for name in SHARED},
    constant=np.asarray,
    cholesky=np.linalg.cholesky,
    inverse_lower=np.linalg.inv,
    eigh=np.linalg.eigh,
)


def namespace(*values):
    """The namespace for these values: `ARRAYS` if all of them are NumPy's or numbers, else
    `TENSORS`."""
    return ARRAYS if all(isinstance(value, VALUES) for value in values) else TENSORS
