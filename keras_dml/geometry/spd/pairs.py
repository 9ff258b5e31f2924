"""Checks and broadcasts the arguments of distances between SPD matrices."""

import itertools
from collections.abc import Callable
from typing import Any

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry import chunks
from keras_dml.geometry.numerics import widest
from keras_dml.geometry.spd.matrices import square_matrices

BLOCK_BYTES = 2**26  # fits all pairs of a training step; about six blocks exist at a time


def match_sizes(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Checks that `x` and `y` hold square matrices of the same size. Returns `x` and `y` cast to
    the wider of the two dtypes.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """
    x, y = widest(square_matrices("x", x), square_matrices("y", y))
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            "`x` and `y` must hold matrices of the same size. Received shapes "
            f"{tuple(x.shape)} and {tuple(y.shape)}."
        )
    return x, y


def check_leading(**shapes: tuple[int | None, ...]) -> None:
    """Checks that leading axes broadcast to one shape.

    Args:
        **shapes: Leading axes of each argument, keyed by the argument's name. A size of None means
            any size.

    Raises:
        ValueError: If the leading axes do not broadcast. The message contains the shapes of all
            arguments.
    """
    for sizes in itertools.zip_longest(*(tuple(shape)[::-1] for shape in shapes.values())):
        if len(set(sizes) - {None, 1}) > 1:
            received = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
            raise ValueError(f"Leading axes must broadcast. Received {received}.")


def broadcast_together(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Checks `x` and `y` in the same way as `match_sizes`, and broadcasts their leading axes."""
    x, y = match_sizes(x, y)
    shape = ops.shape(ops.zeros_like(x) + ops.zeros_like(y))
    return ops.broadcast_to(x, shape), ops.broadcast_to(y, shape)


def two_sets(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Checks two sets of matrices, `(n, size, size)` and `(m, size, size)`, in the same way as
    `match_sizes`.

    Raises:
        ValueError: If `x` or `y` is not a set of square matrices, or if their matrices have
            different sizes.
    """
    x, y = match_sizes(x, y)
    for name, matrices in (("x", x), ("y", y)):
        if len(matrices.shape) != 3:
            raise ValueError(
                f"`{name}` must be a set of matrices, shape (count, n, n). Received shape "
                f"{tuple(matrices.shape)}."
            )
    return x, y


def in_blocks(
    function: Callable[..., Any], x: Tensor, y: Tensor, max_bytes: float | None
) -> Tensor:
    """Computes `function(x, y)`, shape `(n, m)`, in blocks of rows of `x`.

    Args:
        function: Function that maps a block `(rows, ...)` and `y` to a tensor `(rows, m)`.
        x: Tensor, shape `(n, ...)`.
        y: Tensor, shape `(m, ...)`.
        max_bytes: Largest size of one block of pairs, in bytes. If `max_bytes` is None, all pairs
            are computed in one block.
    """
    rows = None if max_bytes is None else chunks.rows_per_block(x, y, max_bytes)
    return function(x, y) if rows is None else chunks.map_rows(function, rows, x, y)
