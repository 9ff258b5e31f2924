"""Provides numerically safe functions that several folders of `geometry` use."""

import math

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor


def wide(dtype: str) -> str:
    """Returns the dtype for computations. The result is float64 if `dtype` is float64, and
    otherwise float32.

    The function does not use `keras.backend.result_type`, which narrows float64 to float32 on JAX.
    """
    return "float64" if keras.backend.standardize_dtype(dtype) == "float64" else "float32"


def at_least_float32(x: Tensor) -> Tensor:
    """Casts a tensor to float32 unless its dtype is wider.

    In half precision, computed ranks and differences would be wrong by whole time steps.
    """
    x = ops.convert_to_tensor(x)
    return ops.cast(x, wide(x.dtype))


def widest(*tensors: Tensor) -> list[Tensor]:
    """Casts all tensors to the widest of their dtypes, but at least to float32. TensorFlow
    operations do not accept tensors with different dtypes."""
    tensors = [at_least_float32(tensor) for tensor in tensors]
    dtypes = [wide(tensor.dtype) for tensor in tensors]
    dtype = "float64" if "float64" in dtypes else "float32"
    return [ops.cast(tensor, dtype) for tensor in tensors]


def mean(
    x: Tensor, axis: int | tuple[int, ...], mask: Tensor | None = None, keepdims: bool = False
) -> Tensor:
    """Computes the mean over one or several axes. If `mask` is given, only entries where the mask
    is True count.

    The result has the dtype of `x`, whereas `keras.ops.mean` narrows float64 to float32 on JAX.

    Args:
        x: Floating-point tensor.
        axis: Axis, or tuple of axes, to average over.
        mask: Boolean tensor that is True for entries that count. The mask must broadcast to `x`,
            and have the same size as `x` along `axis`. By default, all entries count. Entries that
            do not count may have any value, including NaN.
        keepdims: Whether to keep the averaged axes with size 1.

    Returns:
        Means in the dtype of `x`. If no entry counts, the mean is 0 and has gradient 0.

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
    """Computes absolute values. The gradient at 0 is 0 on every backend, whereas the backends' own
    functions have different gradients at 0."""
    return x * ops.stop_gradient(ops.sign(x))


def divide(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Computes quotients. If the denominator is 0, the quotient and the gradient of the quotient
    are 0."""
    empty = ops.equal(denominator, 0)
    return ops.where(empty, 0, numerator / ops.where(empty, 1, denominator))


def root(x: Tensor, p: float) -> Tensor:
    """Computes `x ** (1 / p)` for x >= 0 without adding an epsilon. At x = 0 the value and the
    gradient are 0.

    NaN stays NaN.
    """
    zero = ops.equal(x, 0)
    return ops.where(zero, 0, ops.where(zero, 1, x) ** (1.0 / p))


def nan_unless(valid: Tensor, x: Tensor) -> Tensor:
    """Replaces invalid entries by NaN. The replaced entries have no gradient.

    The function adds 0 or NaN, and does not use `where`, because tf2onnx converts a `where` to
    `c * x + (1 - c) * y`. If one branch is NaN, the product of 0 and NaN then makes the result NaN.

    Args:
        valid: Boolean tensor that is True for valid entries and broadcasts to `x`.
        x: Floating-point tensor.
    """
    root_of_0_or_minus_1 = ops.stop_gradient(ops.sqrt(ops.cast(valid, x.dtype) - 1))
    return ops.where(valid, x, 0) + root_of_0_or_minus_1
