"""Base class of layers that take symmetric matrices, and the eigenvalue solvers of these layers."""

import types
from typing import Any

from keras_dml._backend import keras, xla
from keras_dml._typing import Tensor
from keras_dml.geometry import spd
from keras_dml.geometry.spd import polynomial as spd_polynomial
from keras_dml.layers.head import full_precision

SOLVERS = {"eigh": spd, "polynomial": spd_polynomial}


class MatrixLayer(keras.layers.Layer):
    """Base class of layers that take symmetric matrices. The input has shape `(batch, ..., n, n)`
    with a known n.

    Input, computation and output have the dtype float32 or wider under any dtype policy. Half
    precision cannot represent the small eigenvalues on which logarithms depend. The layer drops a
    Keras mask, because matrices have no time axis.
    """

    takes_matrices = True  # a model that begins with this layer takes matrices

    def __init__(self, *, dtype: str | keras.DTypePolicy | None = None, **kwargs: Any):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        n = input_shape[-1]
        if len(input_shape) < 3 or n is None or input_shape[-2] != n:
            raise ValueError(
                f"{type(self).__name__} needs square matrices of known size, shape (batch, n, n). "
                f"Received shape {tuple(input_shape)}. `keras_dml.layers.Covariance` computes "
                "square matrices from recordings of shape (batch, time, channels)."
            )
        self.input_spec: Any = keras.layers.InputSpec(min_ndim=3, axes={-1: n, -2: n})

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape


def functions(name: str) -> types.ModuleType:
    """Returns the module that contains a solver's functions `rectify`, `log` and `rectify_log`.

    Raises:
        ValueError: If the name is unknown.
    """
    if name not in SOLVERS:
        raise ValueError(f"`solver` must be one of {tuple(SOLVERS)}. Received solver={name!r}.")
    return SOLVERS[name]


def compiles(name: str) -> bool:
    """Returns True if XLA should compile the solver."""
    return name != "eigh" or xla.compiles_eigh()
