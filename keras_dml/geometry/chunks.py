"""All-pairs functions in blocks of rows, so that memory does not grow with the number of pairs."""

import math

from keras_dml._backend import keras, ops


def rows_per_block(x, y, max_bytes, numbers=None):
    """Number of rows of `x` whose pairs with all of `y` fit `max_bytes`; None if all rows do.

    Args:
        x: Tensor, shape `(n, ...)`.
        y: Tensor, shape `(m, ...)`.
        max_bytes: Size of one block of shape `(rows, m, numbers)`.
        numbers: Numbers that a pair takes; None: as many as a row of `x`, for a difference.
    """
    n, m = ops.shape(x)[0], ops.shape(y)[0]
    numbers = math.prod(x.shape[1:]) if numbers is None else numbers
    row = m * numbers * _bytes(x)
    if isinstance(n, int) and isinstance(m, int):
        return None if n == 1 or n * row <= max_bytes else max(1, int(max_bytes // row))
    if isinstance(n, int) and n == 1:
        return None
    return ops.maximum(1, ops.minimum(n, max_bytes // ops.maximum(row, 1)))


def in_blocks(x, rows):
    """`(n, ...)` as `(blocks, rows, ...)`, at least one; the last block is filled with zeros."""
    n = ops.shape(x)[0]
    count = (n + rows - 1) // rows
    count = max(count, 1) if isinstance(count, int) else ops.maximum(count, 1)
    missing = [[0, count * rows - n]] + [[0, 0]] * (len(x.shape) - 1)
    return ops.reshape(ops.pad(x, missing), (count, rows, *ops.shape(x)[1:]))


def joined(blocks, n):
    """The inverse of `in_blocks`: the first `n` rows of `(blocks, rows, ...)`."""
    return ops.reshape(blocks, (-1, *ops.shape(blocks)[2:]))[:n]


def map_rows(function, rows, x, *others):
    """Joined results of `function(block, *others)` on blocks of rows; the backward pass computes
    the intermediates again.

    Args:
        function: Function from `(rows, ...)` and the other tensors to `(rows, ...)`.
        rows: Number of rows of a block.
        x: Tensor, shape `(n, ...)`.
        *others: Tensors that every block takes whole.
    """
    again = keras.remat(
        function
    )  # sees gradients of its arguments only, so nothing may be captured
    return joined(ops.map(lambda block: again(block, *others), in_blocks(x, rows)), ops.shape(x)[0])


def _bytes(x):
    return 8 if keras.backend.standardize_dtype(x.dtype) == "float64" else 4
