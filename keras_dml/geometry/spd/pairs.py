"""Checks and broadcasting of the arguments of distances between SPD matrices."""

import itertools
from collections.abc import Callable

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry import chunks
from keras_dml.geometry.numerics import widest
from keras_dml.geometry.spd.matrices import square_matrices

BLOCK_BYTES = 2**26  # fits all pairs of a training step; about six such blocks exist at a time


def match_sizes(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Checks that both arguments hold square matrices of one size, and returns them in the wider of
    their dtypes.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    x, y = widest(square_matrices("x", x), square_matrices("y", y))
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            "`x` and `y` must hold matrices of one size. Received shapes "
            f"{tuple(x.shape)} and {tuple(y.shape)}."
        )
    return x, y


def check_leading(**shapes: tuple[int | None, ...]) -> None:
    """Checks that leading axes broadcast.

    Args:
        **shapes: Leading axes of each argument, by its name; None is any size.

    Raises:
        ValueError: If they do not broadcast. The message names the shapes of all arguments.
    """
    for sizes in itertools.zip_longest(*(tuple(shape)[::-1] for shape in shapes.values())):
        if len(set(sizes) - {None, 1}) > 1:
            received = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
            raise ValueError(f"Leading axes must broadcast. Received {received}.")


def broadcast_together(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Checks two arguments as `match_sizes`, and broadcasts them to the leading axes of both."""
    x, y = match_sizes(x, y)
    shape = ops.shape(ops.zeros_like(x) + ops.zeros_like(y))
    return ops.broadcast_to(x, shape), ops.broadcast_to(y, shape)


def two_sets(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Checks two sets `(n, size, size)` and `(m, size, size)` as `match_sizes`.

    Raises:
        ValueError: If an argument is not a set of square matrices, or their sizes differ.
    """
    x, y = match_sizes(x, y)
    for name, matrices in (("x", x), ("y", y)):
        if len(matrices.shape) != 3:
            raise ValueError(
                f"`{name}` must be a set of matrices, shape (count, n, n). Received shape "
                f"{tuple(matrices.shape)}."
            )
    return x, y


def in_blocks(function: Callable, x: Tensor, y: Tensor, max_bytes: float | None) -> Tensor:
    """Computes `function(rows of x, y)`, shape `(n, m)`, in blocks of rows.

    Args:
        function: From `(rows, ...)` and `y` to `(rows, m)`.
        x: Tensor, shape `(n, ...)`.
        y: Tensor, shape `(m, ...)`.
        max_bytes: Largest size of a block of pairs; None: one block for all pairs.
    """
    rows = None if max_bytes is None else chunks.rows_per_block(x, y, max_bytes)
    return function(x, y) if rows is None else chunks.map_rows(function, rows, x, y)
