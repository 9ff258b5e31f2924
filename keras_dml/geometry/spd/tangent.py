"""Maps small SPD matrices by a frame, takes logarithms and returns vectors. XLA compiles the
functions to speed up training with TensorFlow.

TensorFlow needs a few microseconds for a product or a transpose of small matrices, but up to a
hundred microseconds to wake the threads of its pool. Therefore, XLA compiles three functions: the
computations before the eigendecomposition, the computations after it, and the backward pass.
Compilation was measured for 64 matrices of 20 x 20 that are mapped to 10 x 10
(`tests/bench/spd_layers.py`). Compilation saves a third of the time for the forward and the
backward pass on two threads. For frames with more rows, TensorFlow's own products are faster.
"""

from keras_dml._backend import keras, ops, xla
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import at_least_float32
from keras_dml.geometry.spd.divided_differences import LOG
from keras_dml.geometry.spd.functions import derivative, value
from keras_dml.geometry.spd.matrices import (
    congruence,
    finite_or_zero,
    nan_unless,
    rounding,
    symmetric_part,
    transposed,
)
from keras_dml.geometry.spd.vectors import to_matrix, to_vector

LARGEST = (48, 24)  # largest frame; 64 x 32 is not faster, and 93 x 20 slower in batches of 256
SIZES = 4  # number of allowed batch sizes between a power of two and the next
SUMMED = 12  # up to this number of columns, sums are faster than a product


def is_faster(frame: Tensor) -> bool:
    """Returns True if `tangent_vectors` is faster than separate operations. For small frames in a
    TensorFlow graph, `tangent_vectors` is faster. In an eager call, compiling would take too long
    (most of a second).
    """
    small = all(size <= limit for size, limit in zip(frame.shape, LARGEST, strict=True))
    return small and xla.is_traced()


def tangent_vectors(x: Tensor, frame: Tensor, epsilon: float | None = None) -> Tensor:
    """Computes `spd.vectorize(spd.rectify_log(frame' x frame, epsilon))`. If `epsilon` is None, the
    function computes `spd.vectorize(spd.log(frame' x frame))`.

    Args:
        x: Matrices, shape `(..., n, n)`. The symmetric part is used.
        frame: Frame of shape `(n, m)`, which maps matrices `(n, n)` to matrices `(m, m)`.
        epsilon: Smallest eigenvalue of the rectified matrices. The default is the rounding error,
            as in `spd.log`.

    Returns:
        Vectors, shape `(..., m (m + 1) / 2)`.
    """
    floor = rounding if epsilon is None else epsilon

    def logarithms(values, vectors, finite):
        values = nan_unless(finite, values)
        return to_vector(value(LOG, values, vectors, floor, _product)), values

    def backward(half, values, vectors, upstream):
        inner = derivative(LOG, values, vectors, to_matrix(upstream), floor, _product)
        return 2 * ops.sum(ops.matmul(half, inner), axis=0), inner

    @ops.custom_gradient
    def of_matrices(x, frame):
        matrices, finite, half = xla.compiled(_mapped)(x, frame)
        values, vectors = ops.linalg.eigh(matrices)
        tangents, values = xla.compiled(logarithms)(values, vectors, finite)

        def gradient(upstream):
            frame_gradient, inner = xla.compiled(backward)(half, values, vectors, upstream)
            return xla.compiled(congruence)(frame, inner), frame_gradient

        return tangents, gradient

    x = at_least_float32(x)
    dtype = keras.backend.result_type(x.dtype, frame.dtype)
    x, frame = ops.cast(x, dtype), ops.cast(frame, dtype)
    leading = ops.shape(x)[:-2]
    rows = ops.reshape(x, (-1, *x.shape[-2:]))
    vectors = of_matrices(xla.filled_up(rows, SIZES), frame)[: ops.shape(rows)[0]]
    return ops.reshape(vectors, (*leading, vectors.shape[-1]))


def _mapped(x, frame):
    """Returns `frame' x frame` for an eigensolver, a mask of the matrices that are finite, and the
    product `x frame`. Matrices that are not finite are replaced by zeros."""
    half = ops.matmul(symmetric_part(x), frame)
    return *finite_or_zero(symmetric_part(ops.matmul(transposed(half), frame))), half


def _product(a, b):
    """Computes products of matrices `(..., m, m)`. Small products are computed as sums over the
    inner axis, because XLA compiles these sums to one loop in one thread."""
    terms = a.shape[-1]
    if terms > SUMMED:
        return ops.matmul(a, b)
    return sum(a[..., :, k, None] * b[..., k, None, :] for k in range(terms))
