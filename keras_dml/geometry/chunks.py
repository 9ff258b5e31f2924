"""Processes all pairs in blocks of rows, so that memory does not grow with the number of pairs."""

import math
from collections.abc import Callable
from typing import Any

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor


def rows_per_block(
    x: Tensor, y: Tensor, max_bytes: float, numbers: int | None = None
) -> int | Tensor | None:
    """Computes how many rows of `x` fit into `max_bytes` if each row is paired with all rows of
    `y`. Returns None if all rows fit.

    Args:
        x: Tensor, shape `(n, ...)`.
        y: Tensor, shape `(m, ...)`.
        max_bytes: Largest size of one block of shape `(rows, m, numbers)`, in bytes.
        numbers: How many numbers are stored for each pair. The default is the length of a row of
            `x`, because the difference of two rows is stored.
    """
    n, m = ops.shape(x)[0], ops.shape(y)[0]
    numbers = math.prod(x.shape[1:]) if numbers is None else numbers
    row = m * numbers * _bytes(x)
    if isinstance(n, int) and isinstance(m, int):
        return None if n == 1 or n * row <= max_bytes else max(1, int(max_bytes // row))
    if isinstance(n, int) and n == 1:
        return None
    return ops.maximum(1, ops.minimum(n, max_bytes // ops.maximum(row, 1)))


def in_blocks(x: Tensor, rows: int | Tensor) -> Tensor:
    """Reshapes a tensor `(n, ...)` to blocks `(blocks, rows, ...)`, and pads the last block with
    zeros. The result has at least one block."""
    n = ops.shape(x)[0]
    count = (n + rows - 1) // rows
    count = max(count, 1) if isinstance(count, int) else ops.maximum(count, 1)
    missing = [[0, count * rows - n]] + [[0, 0]] * (len(x.shape) - 1)
    return ops.reshape(ops.pad(x, missing), (count, rows, *ops.shape(x)[1:]))


def joined(blocks: Tensor, n: int | Tensor) -> Tensor:
    """Joins blocks `(blocks, rows, ...)` and returns the first `n` rows. The function `joined` is
    the inverse of `in_blocks`."""
    return ops.reshape(blocks, (-1, *ops.shape(blocks)[2:]))[:n]


def map_rows(
    function: Callable[..., Any], rows: int | Tensor, x: Tensor, *arguments: Tensor
) -> Tensor:
    """Applies `function(block, *arguments)` to blocks of rows, and joins the results. The backward
    pass recomputes intermediate values to save memory.

    Args:
        function: Function that maps a block `(rows, ...)` and the arguments to a tensor
            `(rows, ...)`.
        rows: Number of rows in each block.
        x: Tensor, shape `(n, ...)`.
        *arguments: Additional tensors. Every call of `function` receives all rows of these tensors.
    """
    # `remat` computes gradients only for arguments, so the function must not capture tensors.
    rematerialized = keras.remat(function)
    blocks = ops.map(lambda block: rematerialized(block, *arguments), in_blocks(x, rows))
    return joined(blocks, ops.shape(x)[0])


def _bytes(x):
    return 8 if keras.backend.standardize_dtype(x.dtype) == "float64" else 4
