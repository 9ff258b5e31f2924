"""Numerically safe functions that several geometries share."""

import math

from keras_dml._backend import keras, ops


def wide(dtype):
    """The dtype to compute in: float64 for float64, else float32 (`keras.backend.result_type`
    narrows on JAX)."""
    return "float64" if keras.backend.standardize_dtype(dtype) == "float64" else "float32"


def at_least_float32(x):
    """The tensor in float32 or wider: ranks and differences of half-precision numbers are off by
    whole steps."""
    x = ops.convert_to_tensor(x)
    return ops.cast(x, wide(x.dtype))


def widest(*tensors):
    """The tensors in the widest of their dtypes, at least float32; TensorFlow does not mix them."""
    tensors = [at_least_float32(tensor) for tensor in tensors]
    dtypes = [wide(tensor.dtype) for tensor in tensors]
    dtype = "float64" if "float64" in dtypes else "float32"
    return [ops.cast(tensor, dtype) for tensor in tensors]


def mean(x, axis, mask=None, keepdims=False):
    """Mean over one axis or several, of all entries or of those under a mask.

    `keras.ops.mean` narrows float64 to float32 on JAX; this keeps the dtype.

    Args:
        x: Floating-point tensor.
        axis: Axis, or tuple of axes, to average over.
        mask: Entries that count, boolean, broadcastable to `x` but of its full size along `axis`;
            None where all do. The others may hold anything, NaN too.
        keepdims: Whether the averaged axes stay, with size 1.

    Returns:
        Means in the dtype of `x`; 0 with gradient 0 where the mask is empty.

    >>> x, mask = np.array([[1.0, 3.0], [5.0, np.nan]]), np.array([[True, True], [True, False]])
    >>> mean(x, axis=1, mask=mask).numpy()
    array([2., 5.])
    """
    x = ops.convert_to_tensor(x)
    if mask is None:
        axes = (axis,) if isinstance(axis, int) else axis
        count = math.prod(ops.shape(x)[one] for one in axes)
        return ops.sum(x, axis=axis, keepdims=keepdims) / ops.cast(count, x.dtype)
    mask = ops.cast(mask, "bool")
    count = ops.sum(ops.cast(mask, x.dtype), axis=axis, keepdims=keepdims)
    total = ops.sum(ops.where(mask, x, 0), axis=axis, keepdims=keepdims)
    return total / ops.maximum(count, 1)


def absolute(x):
    """Absolute value with gradient 0 at 0 on every backend (the backends' own differ there)."""
    return x * ops.stop_gradient(ops.sign(x))


def divide(numerator, denominator):
    """Quotient that is 0, with gradient 0, where the denominator is 0."""
    empty = ops.equal(denominator, 0)
    return ops.where(empty, 0, numerator / ops.where(empty, 1, denominator))


def root(x, p):
    """`x ** (1 / p)` for x >= 0 with value and gradient 0 at 0, no epsilon added; a NaN stays
    one."""
    zero = ops.equal(x, 0)
    return ops.where(zero, 0, ops.where(zero, 1, x) ** (1.0 / p))


def nan_unless(valid, x):
    """Returns the tensor with NaN where it is not valid, and no gradient there.

    Adds 0 or NaN. A `where` with NaN in one branch does not survive ONNX: tf2onnx writes `c * x +
    (1 - c) * y`, in which the product of 0 and NaN is NaN.

    Args:
        valid: Boolean tensor, broadcastable to `x`.
        x: Floating-point tensor.
    """
    root_of_0_or_minus_1 = ops.stop_gradient(ops.sqrt(ops.cast(valid, x.dtype) - 1))
    return ops.where(valid, x, 0) + root_of_0_or_minus_1
