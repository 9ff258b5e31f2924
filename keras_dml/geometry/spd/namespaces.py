"""Provides functions with the same names for tensors and for NumPy arrays.

If a formula uses `namespace(...)`, it accepts tensors of any backend, and NumPy arrays in float64.
There are two reasons to pass NumPy arrays. JAX without `JAX_ENABLE_X64` has no float64. An eager
TensorFlow operation on one small matrix takes many times as long as the NumPy operation.
"""

import types
from typing import Any

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


def namespace(*values: Any) -> types.SimpleNamespace:
    """Returns `ARRAYS` if all values are NumPy arrays or numbers, and `TENSORS` if a value is a
    tensor."""
    return ARRAYS if all(isinstance(value, VALUES) for value in values) else TENSORS
