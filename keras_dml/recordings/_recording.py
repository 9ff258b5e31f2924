"""Recordings that were read from files."""

import dataclasses
import pathlib
from collections.abc import Callable, Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Recording:
    """Numbers of a file, with the names, units and rate that the file states.

    Attributes:
        path: The file.
        values: Shape `(time, channels)`, float32, all finite; sound in [-1, 1].
        channels: Names of the channels, in order.
        units: Unit of each channel, as in the header `x (m/s^2)`; None if the file does not name
            it.
        rate_hz: Steps per second; None if neither the file nor the caller states it.
        notes: Sentences about assumptions, such as "Decimal commas were read as decimal points."
            They name neither the file nor its values.
        left_out: Names of the columns whose content is not that of channels. Empty if the caller
            named the channels.
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
        seconds: Time of each step since the first step; None if the file has no times.
        rate_hz: Rate that the caller or the header of the file states, or None.
        place: Function that returns the place of a row in the file: `"line 7"`.
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


def check_range(
    path: pathlib.Path,
    values: np.ndarray,
    channels: Sequence[str],
    place: Callable[[int], str],
) -> None:
    """Checks that there are values, and that each value is missing or fits into float32.

    Args:
        path: The file, for errors.
        values: Shape `(time, channels)`; NaN stands for a missing number.
        channels: Names of the channels.
        place: Function that returns the place of a row in the file: `"line 7"`.

    Raises:
        ValueError: If the array is empty, or a value is infinite or beyond float32.
    """
    if not len(values):
        raise ValueError(f"{path} holds no steps. Leave it out.")
    most = np.finfo(np.float32).max
    with np.errstate(invalid="ignore"):
        wrong = (values > most) | (values < -most)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"{path}, {place(row)}: channel {channels[column]!r} is {values[row, column]}, but "
            "every step needs a finite number. Interpolate such steps, or leave the recording out."
        )
