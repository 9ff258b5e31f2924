"""A recording that was read from a file."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

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
        left_out: Names of the columns that are not channels because of their content, if the
            caller did not name the channels.
    """

    path: pathlib.Path
    values: np.ndarray
    channels: tuple[str, ...]
    units: tuple[str | None, ...]
    rate_hz: float | None
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Signal:
    """Numbers of a file before gaps are filled and the rate is changed.

    Attributes:
        path: The file.
        values: Shape `(time, channels)`; NaN stands for a missing number.
        channels: Names of the channels, in order.
        units: Unit of each channel, or None.
        seconds: Time of each step from the first; None if the file does not say it.
        rate_hz: Rate that the caller or the file says outside its times, or None.
        place: Function of a row that gives its place in the file: `"line 7"`.
        notes: As in `Recording`.
        left_out: As in `Recording`.
    """

    path: pathlib.Path
    values: np.ndarray
    channels: tuple[str, ...]
    units: tuple[str | None, ...]
    seconds: np.ndarray | None
    rate_hz: float | None
    place: Callable[[int], str]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def check_range(path, values, channels, place):
    """Checks that there are values and that each is missing or a number of float32.

    Args:
        path: The file, for errors.
        values: Shape `(time, channels)`; NaN stands for a missing number.
        channels: Names of the channels.
        place: Function of a row that gives its place in the file: `"line 7"`.

    Raises:
        ValueError: If the array is empty, or a value is infinite or beyond float32.
    """
    if not len(values):
        raise ValueError(f"{path} holds no steps: leave it out.")
    most = np.finfo(np.float32).max
    with np.errstate(invalid="ignore"):
        wrong = (values > most) | (values < -most)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"{path}, {place(row)}: channel {channels[column]!r} is {values[row, column]}. Every "
            "step needs a finite number: interpolate such steps, or leave the recording out."
        )


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
        narrow = values.astype(np.float32, copy=False)
    wrong = ~np.isfinite(narrow)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"{path}, {place(row)}: channel {channels[column]!r} is {values[row, column]}. Every "
            "step needs a finite number: interpolate such steps, or leave the recording out."
        )
    return narrow
