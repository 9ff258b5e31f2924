"""Learned similarities of all pairs of vectors: a perceptron on the concatenated pair
(Monteiro2020) or on the absolute difference (Koch2015).

The first layer splits, `W [x; y] = V x + U y`, so the concatenated pairs never exist. Its leaky
rectifier splits too: with `a = V x` and `b = U y`, `max(a + b, 0) = max(a, -b) + b`, and only the
maximum is computed for each pair; all else is once a vector.
"""

import functools
from typing import NamedTuple

from keras_dml._backend import keras, ops, xla
from keras_dml._backend.values import concrete
from keras_dml.geometry import chunks
from keras_dml.geometry.numerics import absolute, widest

BLOCK_BYTES = 2**22  # of one block of hidden units: stays in a cache (tests/bench/prototypes)
DROPPED_BYTES = 2**24  # of one with dropout, in training: what fits one block is computed once
GALLERY_BYTES = 2**25  # of what is computed once for each row of `y`, where values are at hand
# Hidden units of all pairs from which on XLA, which fuses the maximum and the product and is six
# times faster, saves its 0.3 s of compiling in one call.
FUSED_FROM = 2**29


class Perceptron(NamedTuple):
    """Weights of the similarity.

    Attributes:
        kernels: Shapes `(2 features, h_1)`, `(h_1, h_2)`, ..., `(h_l, 1)`; for differences
            the first is `(features, h_1)`.
        biases: Shapes `(h_1,)`, ..., `(1,)`.
        slope: Slope of the leaky rectifier below 0, in [0, 1].
    """

    kernels: tuple
    biases: tuple
    slope: float


def compiled(similarity, x, y, perceptron):
    """One of the similarities below, compiled where values are at hand and it takes several blocks.

    Args:
        similarity: `concatenation`, `concatenation_swapped` or `absolute_difference`.
        x: Vectors, shape `(n, features)`.
        y: Vectors, shape `(m, features)`.
        perceptron: A `Perceptron`.
    """
    if concrete(x[:1]) is None:
        # a file on a device is asked by one probe: no loop there
        return similarity(x, y, perceptron, max_bytes=None if x.shape[0] == 1 else BLOCK_BYTES)
    width = perceptron.biases[0].shape[0]
    if similarity is absolute_difference:  # the differences themselves are of pairs too
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
    """One function for each architecture: over numbers of rows alone can TensorFlow generalize."""
    layers = len(shapes) // 2

    def function(x, y, *weights):
        return similarity(x, y, Perceptron(weights[:layers], weights[layers:], slope))

    plain = xla.traced(function)
    return xla.fused(plain) if fused else plain


def concatenation(x, y, perceptron, *, drop=None, max_bytes=BLOCK_BYTES):
    """Perceptron of every concatenation `[x_i; y_j]` (Monteiro2020, Eq. 1), not symmetric.

    Args:
        x: Vectors, shape `(n, features)`: examples, probes or queries.
        y: Vectors, shape `(m, features)`: prototypes or enrolled.
        perceptron: A `Perceptron`.
        drop: Dropout of the last hidden units, `drop(units, block)`, where `block` is the index of
            the block of rows of `y`; None: no dropout.
        max_bytes: Memory of one block of hidden units; None: all at once, without a loop.

    Returns:
        Similarities, shape `(n, m)`, unbounded; higher is more similar.
    """
    x, y = widest(x, y)
    kernel, *kernels = perceptron.kernels
    bias, *biases = perceptron.biases
    of_x, of_y = ops.split(kernel, 2)
    left, right = ops.matmul(x, of_x), ops.matmul(y, of_y) + bias
    return _of_sums(left, right, Perceptron(kernels, biases, perceptron.slope), drop, max_bytes)


def concatenation_swapped(x, y, perceptron, *, drop=None, max_bytes=BLOCK_BYTES):
    """Perceptron of every concatenation `[y_j; x_i]`, shape `(n, m)`; see `concatenation` for the
    arguments."""
    kernel, *rest = perceptron.kernels
    features = x.shape[-1]
    turned = ops.concatenate([kernel[features:], kernel[:features]])
    return concatenation(
        x, y, perceptron._replace(kernels=(turned, *rest)), drop=drop, max_bytes=max_bytes
    )


def absolute_difference(x, y, perceptron, *, drop=None, max_bytes=BLOCK_BYTES):
    """Perceptron of every `|x_i - y_j|` (Koch2015), symmetric; see `concatenation` for the
    arguments."""
    x, y = widest(x, y)
    kernel, *kernels = perceptron.kernels
    bias, *biases = perceptron.biases
    inner = Perceptron(kernels, biases, perceptron.slope)

    def scores(y, block, x, kernel, bias, *weights):
        first = ops.matmul(absolute(y[:, None] - x[None]), kernel) + bias
        return _outputs(_leaky(first, inner.slope), _filled(inner, weights), drop, block)

    width = max(x.shape[-1], kernel.shape[-1])
    return _in_blocks(scores, y, (x, kernel, bias, *kernels, *biases), width, max_bytes)


def _of_sums(left, right, rest, drop, max_bytes):
    """Outputs of the layers after the first for every `left_i + right_j`, `(n, m)`."""
    function = _scores_of_maxima if drop is None else _scores_of_sums

    def scores(right, block, left, *weights):
        return function(left, right, _filled(rest, weights), drop, block)

    others = (left, *rest.kernels, *rest.biases)
    return _in_blocks(scores, right, others, left.shape[-1], max_bytes)


def _scores_of_maxima(left, right, rest, drop, block):
    """`(rows, n)` from `(n, h)` and `(rows, h)`, linear parts taken out of the pairs."""
    kernel, bias, slope = rest.kernels[0], rest.biases[0], rest.slope
    of_left, of_right = ops.matmul(left, kernel), ops.matmul(right, kernel)  # (n, h'), (rows, h')
    maxima = ops.maximum(left[None], -right[:, None])  # (rows, n, h)
    of_pairs = (1 - slope) * ops.matmul(maxima, kernel)
    first = of_pairs + slope * of_left[None] + (of_right + bias)[:, None]
    later = Perceptron(rest.kernels[1:], rest.biases[1:], slope)
    if not later.kernels:
        return first[..., 0]
    return _outputs(_leaky(first, slope), later, drop, block)


def _scores_of_sums(left, right, rest, drop, block):
    return _outputs(_leaky(left[None] + right[:, None], rest.slope), rest, drop, block)


def _outputs(units, rest, drop, block):
    """`(rows, n)` from hidden units `(rows, n, h)`; the last hidden units are dropped out."""
    for kernel, bias in zip(rest.kernels[:-1], rest.biases[:-1], strict=True):
        units = _leaky(ops.matmul(units, kernel) + bias, rest.slope)
    if drop is not None:
        units = drop(units, block)
    return ops.squeeze(ops.matmul(units, rest.kernels[-1]) + rest.biases[-1], axis=-1)


def _in_blocks(scores, y, others, width, max_bytes):
    """`scores(rows of y, block, *others) -> (rows, n)` for all rows, as `(n, m)`; the backward pass
    computes each block again."""
    x = others[0]
    rows = None
    if max_bytes is not None:
        rows = chunks.rows_per_block(y, x, max_bytes, width)
    if rows is None:
        return ops.transpose(scores(y, 0, *others))
    others = _values(others)

    def one(pair):
        rows_of_y, block = pair
        again = keras.remat(lambda rows_of_y, *others: scores(rows_of_y, block, *others))
        return again(rows_of_y, *others)

    parts = chunks.in_blocks(y, rows)
    found = ops.map(one, (parts, ops.arange(ops.shape(parts)[0], dtype="int32")))
    return ops.transpose(chunks.joined(found, ops.shape(y)[0]))


def _values(weights):
    """Values of variables. A custom gradient of TensorFlow refuses variables, and they make a loop
    stateful, so that it would run even where its result is not used."""
    return [weight[...] for weight in weights]


def _filled(rest, weights):
    """The perceptron of these weights: kernels, then biases."""
    count = len(rest.kernels)
    return Perceptron(weights[:count], weights[count:], rest.slope)


def _leaky(x, slope):
    if keras.backend.standardize_dtype(x.dtype) == "float64":
        return ops.maximum(x, slope * x)  # TensorFlow's operation rounds the slope to float32
    return ops.leaky_relu(x, slope)
