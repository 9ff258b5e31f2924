"""Columns by name, and the recording that they make."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import numpy as np

from keras_dml.recordings import _channels, _order, _recording, _times


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
        notes: Sentences that say what was assumed when the file was read.
        rate_hz: Rate that the file says outside its columns; None if it does not.
        is_text: Function of a column's index that returns whether fewer than half of its fields
            are numbers.
    """

    path: pathlib.Path
    names: tuple[str, ...]
    header: str
    place: Callable[[int], str]
    numbers: Callable[[int], np.ndarray]
    seconds: Callable[[int], np.ndarray | None]
    notes: tuple[str, ...] = ()
    rate_hz: float | None = None
    is_text: Callable[[int], bool] = lambda i: True


def recording(table, channels, rate_hz, is_even):
    """The recording of a table: the columns asked for, or all but those of times; and the seconds
    of its steps from the first, None where no column has them.

    Args:
        table: `Table`.
        channels: Names of columns; None: all but those of times.
        rate_hz: Rate that the caller says; None: unknown.
        is_even: Whether the times must be even; else without long gaps.

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
    if times:
        table = _order.by_time(table, times[0])
    values = np.stack([table.numbers(i) for i in chosen], axis=1)
    values = _recording.checked(table.path, values, [names[i] for i in chosen], table.place)
    plain, units = zip(*(_channels.split(names[i]) for i in chosen), strict=True)
    seconds = _seconds(table, times[0], is_even) if times else None
    found = table.rate_hz if seconds is None else _times.rate_hz(seconds)
    rate = agreed(table.path, found, rate_hz, "its times")
    named = plain if channels is None else tuple(channels)
    return _recording.Recording(table.path, values, named, units, rate, table.notes), seconds


def name_check(path, where, names):
    """Returns a function of a column's index that refuses a column without its own name.

    Args:
        path: The file, for errors.
        where: Place of the names in the file.
        names: Names of all columns.
    """
    first, last = {}, {}
    for i, name in enumerate(names):
        first.setdefault(name, i)
        last[name] = i

    def check(i):
        name = names[i]
        if name and first[name] == last[name]:
            return
        reason = f"has the name {name!r} of another" if name else "has no name"
        raise ValueError(
            f"{path}, {where}: column {last[name] + 1} {reason}. Give each column its own name, "
            "or name the columns that are channels."
        )

    return check


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
            "rate of the file; `resample_hz` brings it to another."
        )
    return given


def _seconds(table, i, is_even):
    times = table.seconds(i)
    are_dates = times is not None
    times = times if are_dates else table.numbers(i)
    if not np.isfinite(times).all():
        row = np.flatnonzero(~np.isfinite(times))[0]
        raise ValueError(
            f"{table.path}, {table.place(row)}: the time in {table.names[i]!r} is {times[row]}."
        )
    seconds = _times.since_first(
        table.path,
        table.names[i],
        times,
        table.place,
        is_seconds=are_dates,
        may_repeat=not is_even,
    )
    check = _times.check_even if is_even else _times.check_gaps
    check(table.path, seconds, table.place)
    return seconds
