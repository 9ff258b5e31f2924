"""A recording that was read from a file."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np


@dataclasses.dataclass(frozen=True)
class Recording:
    """Numbers of a file, and what the file says of them.

    Attributes:
        path: The file.
        values: Shape `(time, channels)`, float32, all finite; sound in [-1, 1].
        channels: Names of the channels, in order.
        units: Unit of each channel where the file names it, as in the header `x (m/s^2)`; else
            None.
        rate_hz: Steps a second; None where neither the file nor the caller says it.
        notes: Sentences that say what was assumed about the file, such as "Decimal commas were
            read as decimal points."; they name neither the file nor its values.
    """

    path: pathlib.Path
    values: np.ndarray
    channels: tuple[str, ...]
    units: tuple[str | None, ...]
    rate_hz: float | None
    notes: tuple[str, ...] = ()


def checked(path, values, channels, place):
    """Values as float32, after a check that each is finite.

    Args:
        path: The file, for errors.
        values: Shape `(time, channels)`.
        channels: Names of the channels.
        place: Function of a row that gives its place in the file: `"line 7"`.

    Raises:
        ValueError: If there are none, or one is NaN, infinite, or beyond float32.
    """
    if not len(values):
        raise ValueError(f"{path} holds no steps: leave it out.")
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    wrong = ~np.isfinite(narrow)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"{path}, {place(row)}: channel {channels[column]!r} is {values[row, column]}. Every "
            "step needs a finite number: interpolate such steps, or leave the recording out."
        )
    return narrow
