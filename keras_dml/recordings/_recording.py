"""Classes for the content of recording files."""

import dataclasses
import pathlib
from collections.abc import Callable, Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Recording:
    """Values of a recording, together with the names and units of its channels and its sampling
    rate.

    Attributes:
        path: Path of the file.
        values: Finite float32 values, shape `(time, channels)`. Audio lies in [-1, 1].
        channels: Names of the channels, in order.
        units: Unit of each channel, from a header such as `x (m/s^2)`. None if the file does not
            state the unit.
        rate_hz: Sampling rate, in steps per second. None if neither the file nor the caller states
            the rate.
        notes: Sentences that describe assumptions about the file. For example, "Decimal commas were
            read as decimal points." The notes contain neither the path of the file nor any of its
            values.
        left_out: Names of the columns that were not used as channels because of their content or
            their name. The list is empty if the caller named the channels.
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
    """Values that were read from a file, before missing values are interpolated and the signal is
    resampled.

    Attributes:
        path: Path of the file.
        values: Values, shape `(time, channels)`, with NaN for missing values.
        channels: Names of the channels, in order.
        units: Unit of each channel. None if the file does not state the unit.
        seconds: Time of each step since the first step, in seconds. None if the file has no times.
        rate_hz: Sampling rate that the caller or the header of the file states, or None.
        place: Function that takes the index of a row and returns its place in the file, such as
            `"line 7"`.
        notes: Sentences that describe assumptions about the file.
        left_out: Names of the columns that were not used as channels because of their content or
            their name.
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
    """Checks that an array is not empty, and that float32 can represent each value that is not
    missing.

    Args:
        path: Path of the file, for errors.
        values: Values, shape `(time, channels)`, with NaN for missing values.
        channels: Names of the channels.
        place: Function that takes the index of a row and returns its place in the file, such as
            `"line 7"`.

    Raises:
        ValueError: If the array is empty, or if a value is infinite or too large for float32.
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
