"""Columns by name, and the recording that they make."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import numpy as np

from keras_dml.recordings import _channels, _recording, _times


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns of a file.

    Attributes:
        path: The file.
        names: Names of the columns.
        header: Place of the names in the file: `"line 1"`.
        place: Function of a row that gives its place in the file: `"line 7"`.
        numbers: Function of a column's index that gives its numbers, float64; raises ValueError
            where one is none.
        seconds: Function of a column's index that gives the seconds of its dates; None if it holds
            no dates.
    """

    path: pathlib.Path
    names: tuple[str, ...]
    header: str
    place: Callable[[int], str]
    numbers: Callable[[int], np.ndarray]
    seconds: Callable[[int], np.ndarray | None]


def recording(table, channels, rate_hz):
    """The recording of a table: the columns asked for, or all but those of times.

    Args:
        table: `Table`.
        channels: Names of columns; None: all but those of times.
        rate_hz: Rate that the caller says; None: unknown.

    Raises:
        ValueError: If a column is missing or holds anything but numbers, or the times are
            irregular or of another rate.
    """
    names, times = table.names, _times.columns(table.names)
    if channels is None:
        chosen = [i for i in range(len(names)) if i not in times]
    else:
        chosen = _channels.among(table.path, names, channels, table.header)
        times = [i for i in times if i not in chosen]
    if not chosen:
        raise ValueError(
            f"{table.path}, {table.header}: only times are named, {', '.join(names)}, and no "
            "channel."
        )
    values = np.stack([table.numbers(i) for i in chosen], axis=1)
    values = _recording.checked(table.path, values, [names[i] for i in chosen], table.place)
    plain, units = zip(*(_channels.split(names[i]) for i in chosen), strict=True)
    found = _rate(table, times[0]) if times else None
    return _recording.Recording(
        table.path,
        values,
        plain if channels is None else tuple(channels),
        units,
        agreed(table.path, found, rate_hz, "its times"),
    )


def agreed(path, found, given, what):
    """The rate of a file: that which the caller says, after a comparison with the file's.

    Args:
        path: The file, for errors.
        found: Rate that the file says, or None.
        given: Rate that the caller says, or None.
        what: What says it in the file: `"its times"`.

    Raises:
        ValueError: If they differ by more than clocks do.
    """
    if found is None or given is None:
        return found if given is None else given
    if not _times.is_same_rate(found, given):
        raise ValueError(
            f"{path} has {given:g} Hz by what was given, and {found:.6g} Hz by {what}. Give the "
            "rate of the file, or resample it, for example by `scipy.signal.resample_poly`."
        )
    return given


def _rate(table, i):
    name = table.names[i]
    seconds = table.seconds(i)
    if seconds is not None:
        return _times.rate_hz(table.path, name, seconds, table.place, is_seconds=True)
    times = table.numbers(i)
    if not np.isfinite(times).all():
        row = np.flatnonzero(~np.isfinite(times))[0]
        raise ValueError(f"{table.path}, {table.place(row)}: the time in {name!r} is {times[row]}.")
    return _times.rate_hz(table.path, name, times, table.place)
