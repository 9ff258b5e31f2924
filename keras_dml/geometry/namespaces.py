"""Provides functions with the same names for tensors and for NumPy arrays.

If a formula uses `namespace(...)`, it accepts tensors of any backend, and NumPy arrays in float64.
There are three reasons to pass NumPy arrays. JAX without `JAX_ENABLE_X64` has no float64. An eager
TensorFlow operation on one small matrix takes many times as long as the NumPy operation. A device
without Keras has no tensors, and this module imports Keras only for tensors.
"""

import functools
import types
from typing import Any

import numpy as np

VALUES = (np.ndarray, np.generic, int, float)
SHARED = ("all", "isfinite", "log", "maximum", "sqrt", "sum", "swapaxes", "where")

ARRAYS = types.SimpleNamespace(
    **{name: getattr(np, name) for name in SHARED},
    constant=np.asarray,
    cholesky=np.linalg.cholesky,
    inverse_lower=np.linalg.inv,
    eigh=np.linalg.eigh,
)


def namespace(*values: Any) -> types.SimpleNamespace:
    """Returns `ARRAYS` if all values are NumPy arrays or numbers. Otherwise, the function returns
    a namespace with the same functions for tensors."""
    return ARRAYS if all(isinstance(value, VALUES) for value in values) else _tensors()


@functools.cache
def _tensors():
    from keras_dml._backend import linalg, ops
    from keras_dml.geometry.spd import matrices

    return types.SimpleNamespace(
        **{name: getattr(ops, name) for name in SHARED},
        constant=lambda x, dtype: ops.stop_gradient(ops.convert_to_tensor(x, dtype)),
        cholesky=linalg.cholesky,
        inverse_lower=linalg.inverse_lower,
        eigh=matrices.eigh,
    )
