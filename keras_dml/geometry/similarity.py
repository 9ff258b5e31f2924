"""Computes learned similarities between all vectors of two sets. For each pair, a perceptron takes
the concatenated vectors (Monteiro2020) or their absolute difference (Koch2015).

The first layer computes a sum, `W [x; y] = V x + U y`, so concatenated pairs are never stored. With
`a = V x` and `b = U y`, the rectified sum is `max(a + b, 0) = max(a, -b) + b`. For each pair, only
the term `max(a, -b)` is computed. All other terms are computed once per vector.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from keras_dml._backend import keras, ops, xla
from keras_dml._backend.values import concrete
from keras_dml._typing import Tensor
from keras_dml.geometry import chunks
from keras_dml.geometry.numerics import absolute, widest

BLOCK_BYTES = 2**22  # size of a block of hidden units that fits the cache (tests/bench/prototypes)
DROPPED_BYTES = 2**24  # size of one block in training with dropout
GALLERY_BYTES = 2**25  # size of the values of a block of `y` in an eager call
# XLA is used if all pairs together have at least this many hidden units. A single call then saves
# the 0.3 s that compiling takes. XLA fuses the maximum and the product into one loop, which is six
# times as fast.
FUSED_FROM = 2**29


class Perceptron(NamedTuple):
    """Weights of the perceptron that computes a learned similarity.

    Attributes:
        kernels: Kernels of the layers, shapes `(2 features, h_1)`, `(h_1, h_2)`, ..., `(h_l, 1)`.
            If the perceptron takes absolute differences, the first kernel has shape
            `(features, h_1)`.
        biases: Biases of the layers, shapes `(h_1,)`, ..., `(1,)`.
        slope: Slope of the leaky rectifier below 0, in [0, 1].
    """

    kernels: tuple[Any, ...]
    biases: tuple[Any, ...]
    slope: float


def compiled(
    similarity: Callable[..., Any], x: Tensor, y: Tensor, perceptron: Perceptron
) -> Tensor:
    """Computes the learned similarities of all pairs. The computation is compiled if an eager call
    needs several blocks of pairs.

    Args:
        similarity: `concatenation`, `concatenation_swapped` or `absolute_difference`.
        x: Vectors, shape `(n, features)`.
        y: Vectors, shape `(m, features)`.
        perceptron: A `Perceptron`.
    """
    if concrete(x[:1]) is None:
        # An exported model compares one query at a time, so it needs no loop.
        return similarity(x, y, perceptron, max_bytes=None if x.shape[0] == 1 else BLOCK_BYTES)
    width = perceptron.biases[0].shape[0]
    if similarity is absolute_difference:  # differences also take memory for each pair
        width = max(width, x.shape[-1])
    rows = max(1, GALLERY_BYTES // (4 * width))
    if y.shape[0] > rows:
        parts = [y[start : start + rows] for start in range(0, y.shape[0], rows)]
        return ops.concatenate(
            [compiled(similarity, x, part, perceptron) for part in parts], axis=1
        )
    units = x.shape[0] * y.shape[0] * width
    if 4 * units <= BLOCK_BYTES:
        return similarity(x, y, perceptron)
    weights = (*perceptron.kernels, *perceptron.biases)
    shapes = tuple(tuple(weight.shape) for weight in weights)
    function = _compiled(similarity, perceptron.slope, shapes, units >= FUSED_FROM)
    return function(x, y, *_values(weights))


@functools.cache
def _compiled(similarity, slope, shapes, fused):
    """Compiles a similarity once for each architecture of the perceptron. A function compiled by
    TensorFlow accepts any number of rows, but only perceptrons with the same architecture."""
    layers = len(shapes) // 2

    def function(x, y, *weights):
        return similarity(x, y, Perceptron(weights[:layers], weights[layers:], slope))

    plain = xla.traced(function)
    return xla.fused(plain) if fused else plain


def concatenation(
    x: Tensor,
    y: Tensor,
    perceptron: Perceptron,
    *,
    drop: Callable[..., Any] | None = None,
    max_bytes: float | None = BLOCK_BYTES,
) -> Tensor:
    """Applies a perceptron to every concatenation `[x_i; y_j]` (Monteiro2020, Eq. 1). The
    similarity is not symmetric.

    Args:
        x: Vectors, shape `(n, features)`, such as examples or queries.
        y: Vectors, shape `(m, features)`, such as prototypes or enrolled embeddings.
        perceptron: A `Perceptron`.
        drop: Function `drop(units, block)` that applies dropout to the last hidden units. `block`
            is the index of the current block of rows in `y`. Default: no dropout.
        max_bytes: Largest size of one block of hidden units, in bytes. If `max_bytes` is None, all
            pairs are computed in one block, without a loop.

    Returns:
        Similarities, shape `(n, m)`. Similarities are unbounded, and a higher value means more
        similar.
    """
    x, y = widest(x, y)
    kernel, *kernels = perceptron.kernels
    bias, *biases = perceptron.biases
    x_kernel, y_kernel = ops.split(kernel, 2)
    left, right = ops.matmul(x, x_kernel), ops.matmul(y, y_kernel) + bias
    return _perceptron_of_sums(
        left, right, Perceptron(kernels, biases, perceptron.slope), drop, max_bytes
    )


def concatenation_swapped(
    x: Tensor,
    y: Tensor,
    perceptron: Perceptron,
    *,
    drop: Callable[..., Any] | None = None,
    max_bytes: float | None = BLOCK_BYTES,
) -> Tensor:
    """Applies a perceptron to every concatenation `[y_j; x_i]`, and returns similarities `(n, m)`.
    Arguments are the same as in `concatenation`."""
    kernel, *rest = perceptron.kernels
    features = x.shape[-1]
    swapped = ops.concatenate([kernel[features:], kernel[:features]])
    return concatenation(
        x, y, perceptron._replace(kernels=(swapped, *rest)), drop=drop, max_bytes=max_bytes
    )


def absolute_difference(
    x: Tensor,
    y: Tensor,
    perceptron: Perceptron,
    *,
    drop: Callable[..., Any] | None = None,
    max_bytes: float | None = BLOCK_BYTES,
) -> Tensor:
    """Applies a perceptron to every `|x_i - y_j|` (Koch2015). The similarity is symmetric.
    Arguments are the same as in `concatenation`."""
    x, y = widest(x, y)
    kernel, *kernels = perceptron.kernels
    bias, *biases = perceptron.biases
    inner = Perceptron(kernels, biases, perceptron.slope)

    def scores(y, block, x, kernel, bias, *weights):
        first = ops.matmul(absolute(y[:, None] - x[None]), kernel) + bias
        return _outputs(_leaky(first, inner.slope), _filled(inner, weights), drop, block)

    width = max(x.shape[-1], kernel.shape[-1])
    return _in_blocks(scores, y, (x, kernel, bias, *kernels, *biases), width, max_bytes)


def _perceptron_of_sums(left, right, rest, drop, max_bytes):
    """Applies all layers except the first to every sum `left_i + right_j`, and returns similarities
    `(n, m)`."""
    function = _scores_of_maxima if drop is None else _scores_of_sums

    def scores(right, block, left, *weights):
        return function(left, right, _filled(rest, weights), drop, block)

    arguments = (left, *rest.kernels, *rest.biases)
    return _in_blocks(scores, right, arguments, left.shape[-1], max_bytes)


def _scores_of_maxima(left, right, rest, drop, block):
    """Computes scores of shape `(rows, n)` from `left` of shape `(n, h)` and `right` of shape
    `(rows, h)`. Linear terms are computed once for each vector, and not for each pair."""
    kernel, bias, slope = rest.kernels[0], rest.biases[0], rest.slope
    left_product = ops.matmul(left, kernel)  # (n, h')
    right_product = ops.matmul(right, kernel)  # (rows, h')
    maxima = ops.maximum(left[None], -right[:, None])  # (rows, n, h)
    pairs = (1 - slope) * ops.matmul(maxima, kernel)
    first = pairs + slope * left_product[None] + (right_product + bias)[:, None]
    later = Perceptron(rest.kernels[1:], rest.biases[1:], slope)
    if not later.kernels:
        return first[..., 0]
    return _outputs(_leaky(first, slope), later, drop, block)


def _scores_of_sums(left, right, rest, drop, block):
    """Computes the same scores as `_scores_of_maxima`, but with dropout. For dropout, the function
    must store the sum of `left` and `right` for every pair."""
    return _outputs(_leaky(left[None] + right[:, None], rest.slope), rest, drop, block)


def _outputs(units, rest, drop, block):
    """Computes outputs `(rows, n)` from hidden units `(rows, n, h)`, with dropout applied to the
    last hidden units."""
    for kernel, bias in zip(rest.kernels[:-1], rest.biases[:-1], strict=True):
        units = _leaky(ops.matmul(units, kernel) + bias, rest.slope)
    if drop is not None:
        units = drop(units, block)
    return ops.squeeze(ops.matmul(units, rest.kernels[-1]) + rest.biases[-1], axis=-1)


def _in_blocks(scores, y, arguments, width, max_bytes):
    """Calls `scores(rows of y, block, *arguments)` for each block of rows of `y`. Each call of
    `scores` returns a tensor of shape `(rows, n)`. `_in_blocks` joins these tensors to one tensor
    of shape `(n, m)`. The backward pass recomputes each block."""
    x = arguments[0]
    rows = None
    if max_bytes is not None:
        rows = chunks.rows_per_block(y, x, max_bytes, width)
    if rows is None:
        return ops.transpose(scores(y, 0, *arguments))
    arguments = _values(arguments)

    def block_scores(pair):
        rows_of_y, block = pair
        rematerialized = keras.remat(lambda y, *arguments: scores(y, block, *arguments))
        return rematerialized(rows_of_y, *arguments)

    parts = chunks.in_blocks(y, rows)
    blocks = ops.map(block_scores, (parts, ops.arange(ops.shape(parts)[0], dtype="int32")))
    return ops.transpose(chunks.joined(blocks, ops.shape(y)[0]))


def _values(weights):
    """Returns the values of variables.

    The values are needed because TensorFlow does not accept variables in a custom gradient. In
    addition, TensorFlow runs every loop that contains variables, even if the result of the loop is
    not used.
    """
    return [weight[...] for weight in weights]


def _filled(rest, weights):
    """Returns a copy of the layers `rest` with new weights. `weights` holds all kernels, followed
    by all biases."""
    count = len(rest.kernels)
    return Perceptron(weights[:count], weights[count:], rest.slope)


def _leaky(x, slope):
    if keras.backend.standardize_dtype(x.dtype) == "float64":
        return ops.maximum(x, slope * x)  # TensorFlow's operation rounds the slope to float32
    return ops.leaky_relu(x, slope)
