"""Columns by name, and the recording that they make."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import pathlib
from collections.abc import Callable

import numpy as np

from keras_dml.recordings import _bounds, _channels, _order, _recording, _request, _times


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns of a file.

    Attributes:
        path: The file.
        names: Names of the columns.
        header: Place of the names in the file: `"line 1"`.
        place: Function of a row that gives its place in the file: `"line 7"`.
        numbers: Function of a column's index that returns its numbers, float64, with NaN for a
            missing number; raises ValueError if a field is neither.
        seconds: Function of a column's index that returns the seconds of its dates, with NaN for a
            missing date; None if the column holds no dates.
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


def signal(table, request):
    """Reads the channels and the times of a table.

    Args:
        table: `Table`.
        request: `Request`.

    Returns:
        `(signal, resolution)`: the `Signal` of the channels that are asked for, or of all columns
        that may be channels; and the seconds between two times that the clock separates.

    Raises:
        ValueError: If a column is missing or holds anything but numbers, or the times do not rise.
    """
    if not len(table.names):
        raise ValueError(f"{table.path}, {table.header}: no columns.")
    _bounds.check_columns(table.path, table.header, len(table.names))
    table = dataclasses.replace(
        table, numbers=functools.cache(table.numbers), seconds=functools.cache(table.seconds)
    )
    asked = request.channels
    channels = (
        None if asked is None else _channels.among(table.path, table.names, asked, table.header)
    )
    time, times = _time_columns(table, request, channels or ())
    if time is not None:
        table = _order.by_time(table, time)
    left_out, notes = [], [*table.notes]
    if channels is None:
        channels, reasons = _unasked(table, times)
        notes += [_left_out(name, reason) for name, reason in reasons.items()]
        strict = {*_times.columns(table.names)}  # never channels, so that files need not agree
        left_out = [*reasons, *(table.names[i] for i in times if i not in strict)]
    elif time is None and table.rate_hz is None and request.rate_hz is None:
        clock = _clock(table, channels)
        if clock is not None:
            notes.append(
                f"Column {clock!r} only rises. If it holds the times, give `time={clock!r}`."
            )
    names = [table.names[i] for i in channels]
    values = np.stack([table.numbers(i) for i in channels], axis=1)
    rows = range(len(values))
    seconds, resolution = None, 0.0
    if time is not None:
        seconds, resolution, rows, assumed = _seconds(table, time, request, values)
        notes += assumed
    elif request.time_unit is not None:
        raise ValueError(
            f"{table.path}, {table.header}: no column of times is known, so `time_unit` does not "
            f"apply. Its columns are {_bounds.join_first(table.names)}: name the times by `time`."
        )

    path, rate_hz, place_of = table.path, table.rate_hz, table.place
    left_out = tuple(_channels.split(name)[0] for name in left_out)
    del table  # and the columns that are no channels

    def place(row):
        return place_of(rows[row])

    values = values if len(rows) == len(values) else values[rows]
    _recording.check_range(path, values, names, place)
    plain, units = zip(*map(_channels.split, names), strict=True)
    read = _recording.Signal(
        path,
        values,
        plain if asked is None else tuple(asked),
        units,
        seconds,
        rate_hz,
        place,
        tuple(notes),
        left_out,
    )
    return read, resolution


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


def agreed(path, file_hz, caller_hz, source):
    """Returns the rate that the caller gives, or else the rate of the file.

    Args:
        path: The file, for errors.
        file_hz: Rate of the file, or None.
        caller_hz: Rate that the caller gives, or None.
        source: Part of the file that the rate comes from, for errors: `"its times"`.

    Raises:
        ValueError: If the two differ by more than clocks do.
    """
    if file_hz is None or caller_hz is None:
        return file_hz if caller_hz is None else caller_hz
    if not _times.is_same_rate(file_hz, caller_hz):
        raise ValueError(
            f"{path} has {file_hz:.6g} Hz by {source}, and `rate_hz` is {caller_hz:g}. Give the "
            "rate of the file as `rate_hz`; `resample_hz` converts it to another."
        )
    return caller_hz


def _time_columns(table, request, channels):
    """The column of times that is used, or None, and all columns that hold times."""
    if request.time is not None:
        (time,) = _channels.among(table.path, table.names, [request.time], table.header)
        return time, [*dict.fromkeys([time, *_times.columns(table.names)])]
    channels = {*channels}
    strict = [i for i in _times.columns(table.names) if i not in channels]
    if channels:  # a column named T may hold temperatures
        strict = [i for i in strict if not _is_named_t(table, i) or not _is_noise(table, i)]
    others = {*strict} | channels
    rest = [i for i in range(len(table.names)) if i not in others]
    loose = [
        i for i in rest if _rises(table, i) and (_is_of_dates(table, i) or _is_clock(table, i))
    ]
    loose.sort(key=lambda i: _times.unit_of(table.names[i]) is None)
    times = [*strict, *loose]
    if not times:
        return None, []
    rising = [i for i in times if _rises(table, i)]
    return next((i for i in rising if _has_unit(table, i)), [*rising, *times][0]), times


def _is_named_t(table, i):
    return table.names[i].strip().casefold() == "t"


def _is_noise(table, i):
    """Returns whether a column falls in more than a quarter of its steps."""
    try:
        changes = np.diff(table.numbers(i))
    except ValueError:
        return False
    return len(changes) >= _channels.LEAST_ROWS and (changes < 0).mean() > 0.25


def _is_of_dates(table, i):
    try:
        return table.is_text(i) and table.seconds(i) is not None
    except ValueError:
        return False


def _is_clock(table, i):
    """Returns whether a column of numbers has a word for time in its name and a known unit."""
    return _times.is_named_after_time(table.names[i]) and _has_unit(table, i)


def _has_unit(table, i):
    """Returns whether the unit of a column of times is known, by its name or by its size."""
    if _times.unit_of(table.names[i]) is not None or _is_of_dates(table, i):
        return True
    return _times.has_usual_size(table.numbers(i))


def _rises(table, i):
    """Returns whether the numbers or dates of a column rise. Some may be equal or missing."""
    try:
        times = table.seconds(i)
        times = table.numbers(i) if times is None else times
    except ValueError:
        return False
    times = times[np.isfinite(times)]
    return len(times) > 1 and bool((np.diff(times) >= 0).all() and times[-1] > times[0])


def _clock(table, channels):
    """Name of the first column besides the channels that only rises and is not named after a
    counter, or None."""
    for i, name in enumerate(table.names):
        if i in channels or _channels.is_named_counter(name) or not _rises(table, i):
            continue
        if _channels.is_counter(name, table.numbers(i)):
            return name
    return None


def _unasked(table, times):
    """The columns that are channels if none are named, and why others are left out."""
    channels, constant, left_out, times = [], [], {}, {*times}
    counts = collections.Counter(table.names)
    for i, name in enumerate(table.names):
        if i in times:
            continue
        reason = None
        try:
            values = table.numbers(i)
        except ValueError:
            if not name.strip() or counts[name] > 1 or not table.is_text(i):
                raise
            reason = "it holds no numbers"
        else:
            reason = _reason(name, values)
        if reason is None:
            channels.append(i)
        else:
            left_out[name] = reason
            if reason == _channels.IS_CONSTANT:
                constant.append(i)
    if not channels and constant:  # a recording without any movement
        channels = constant
        left_out = {
            name: reason for name, reason in left_out.items() if reason != _channels.IS_CONSTANT
        }
    if not channels:
        first = itertools.islice(left_out.items(), _bounds.LISTED)
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in first)
        reasons = f" Some are not channels unless you name them: {reasons}." if reasons else ""
        raise ValueError(
            f"{table.path}, {table.header}: no channel. Its columns are "
            f"{_bounds.join_first(table.names)}.{reasons} Name the channels by `channels`."
        )
    return channels, left_out


def _reason(name, values):
    """Returns why a column is not a channel unless it is named, or None."""
    if len(values) and 2 * np.isfinite(values).sum() < len(values):
        return "fewer than half of its fields hold numbers"
    if _channels.is_about(name):
        return "by its name it describes the recording"
    if _channels.is_counter(name, values):
        return _channels.RISES
    return _channels.IS_CONSTANT if _channels.is_constant(values) else None


def _left_out(name, reason):
    advice = "name it in `channels` to use it"
    if reason == _channels.RISES:
        advice += f", or give `time={name!r}` if it holds the times"
    return f"Column {name!r} was not used as a channel: {reason}; {advice}."


def _seconds(table, i, request, values):
    """Returns the seconds of a column of times, the resolution of its clock, the rows that are
    used, and notes. Times that are missing between others are interpolated by their rows."""
    times, name = table.seconds(i), table.names[i]
    are_dates = times is not None
    times = times if are_dates else table.numbers(i)
    is_infinite = np.isinf(times)
    present = np.flatnonzero(np.isfinite(times))
    if is_infinite.any() or (len(times) and not len(present)):
        row = np.flatnonzero(~np.isfinite(times))[0]
        raise ValueError(f"{table.path}, {table.place(row)}: the time in {name!r} is {times[row]}.")
    if are_dates and request.time_unit is not None:
        raise ValueError(
            f"{table.path}, {table.header}: column {name!r} holds dates, to which `time_unit` does "
            "not apply. Leave it out."
        )
    rows = np.arange(present[0], present[-1] + 1) if len(present) else np.arange(0)
    times = np.interp(rows, present, times[present]) if len(present) < len(rows) else times[rows]
    notes = []
    if len(rows) < len(values):
        notes.append("Rows at the start or the end that have no time were left out.")
    is_repeat = _repeats(times, values[rows])
    if is_repeat.any():
        rows, times = rows[~is_repeat], times[~is_repeat]
        notes.append("Rows that repeat the time and the values of the row before were left out.")
    size = 1.0 if are_dates else _request.TIME_UNITS.get(request.time_unit)
    seconds, resolution = _times.since_first(
        table.path,
        name,
        times,
        lambda row: table.place(rows[row]),
        unit=size,
        nominal_hz=request.rate_hz,
    )
    return seconds, resolution, rows, notes


def _repeats(times, values):
    """Returns which rows were written twice: all rows that have the time of the row before also
    have its values. Samples that a sensor delivers at one time differ."""
    is_same_time = np.diff(times) == 0
    is_same_value = (values[1:] == values[:-1]) | np.isnan(values[1:]) & np.isnan(values[:-1])
    is_repeat = is_same_time & is_same_value.all(axis=1)
    is_written_twice = is_repeat.any() and (is_repeat == is_same_time).all()
    is_constant = is_same_value.all()
    return np.r_[False, is_repeat] & (is_written_twice and not is_constant)
