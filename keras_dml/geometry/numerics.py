"""Numerically safe functions that several geometries use."""

import math

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor


def wide(dtype: str) -> str:
    """Returns the dtype to compute in, which is float64 for float64 and float32 for all others.

    `keras.backend.result_type` narrows float64 to float32 on JAX.
    """
    return "float64" if keras.backend.standardize_dtype(dtype) == "float64" else "float32"


def at_least_float32(x: Tensor) -> Tensor:
    """Casts a tensor to float32 unless it is wider.

    Half precision rounds ranks and differences by whole steps.
    """
    x = ops.convert_to_tensor(x)
    return ops.cast(x, wide(x.dtype))


def widest(*tensors: Tensor) -> list[Tensor]:
    """Casts tensors to the widest of their dtypes, at least float32, because TensorFlow does not
    mix dtypes."""
    tensors = [at_least_float32(tensor) for tensor in tensors]
    dtypes = [wide(tensor.dtype) for tensor in tensors]
    dtype = "float64" if "float64" in dtypes else "float32"
    return [ops.cast(tensor, dtype) for tensor in tensors]


def mean(
    x: Tensor, axis: int | tuple[int, ...], mask: Tensor | None = None, keepdims: bool = False
) -> Tensor:
    """Computes the mean over one or several axes, of all entries or of those under a mask.

    It keeps the dtype of `x`. `keras.ops.mean` narrows float64 to float32 on JAX.

    Args:
        x: Floating-point tensor.
        axis: Axis, or tuple of axes, to average over.
        mask: Entries that count, boolean, broadcastable to `x` and of its full size along `axis`;
            None: all count. Masked entries may hold any values, NaN included.
        keepdims: Whether to keep the averaged axes with size 1.

    Returns:
        Means in the dtype of `x`; 0 with gradient 0 if the mask is empty.

    >>> x, mask = np.array([[1.0, 3.0], [5.0, np.nan]]), np.array([[True, True], [True, False]])
    >>> mean(x, axis=1, mask=mask).numpy()
    array([2., 5.])
    """
    x = ops.convert_to_tensor(x)
    if mask is None:
        axes = (axis,) if isinstance(axis, int) else axis
        count = math.prod(ops.shape(x)[i] for i in axes)
        return ops.sum(x, axis=axis, keepdims=keepdims) / ops.cast(count, x.dtype)
    mask = ops.cast(mask, "bool")
    count = ops.sum(ops.cast(mask, x.dtype), axis=axis, keepdims=keepdims)
    total = ops.sum(ops.where(mask, x, 0), axis=axis, keepdims=keepdims)
    return total / ops.maximum(count, 1)


def absolute(x: Tensor) -> Tensor:
    """Computes absolute values with gradient 0 at 0 on every backend, where backends differ."""
    return x * ops.stop_gradient(ops.sign(x))


def divide(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Computes quotients that are 0, with gradient 0, if the denominator is 0."""
    empty = ops.equal(denominator, 0)
    return ops.where(empty, 0, numerator / ops.where(empty, 1, denominator))


def root(x: Tensor, p: float) -> Tensor:
    """Computes `x ** (1 / p)` for x >= 0, with value and gradient 0 at 0 and without an epsilon.

    NaN stays NaN.
    """
    zero = ops.equal(x, 0)
    return ops.where(zero, 0, ops.where(zero, 1, x) ** (1.0 / p))


def nan_unless(valid: Tensor, x: Tensor) -> Tensor:
    """Replaces invalid entries by NaN, without a gradient there.

    It adds 0 or NaN, because a `where` with NaN in one branch is wrong in ONNX files: tf2onnx
    writes it as `c * x + (1 - c) * y`, in which the product of 0 and NaN is NaN.

    Args:
        valid: Boolean tensor, broadcastable to `x`.
        x: Floating-point tensor.
    """
    root_of_0_or_minus_1 = ops.stop_gradient(ops.sqrt(ops.cast(valid, x.dtype) - 1))
    return ops.where(valid, x, 0) + root_of_0_or_minus_1
