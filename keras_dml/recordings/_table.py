"""Functions that find the channels and the time column in a table of named columns, and that sort
rows by time."""

import collections
import dataclasses
import difflib
import functools
import itertools
import pathlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_dml._messages import Message
from keras_dml.recordings import _bounds, _times
from keras_dml.recordings._recording import Signal, check_range

if TYPE_CHECKING:
    from keras_dml.recordings._options import Options

COUNTERS = {
    *("count", "counter", "frame", "frames", "id", "idx", "index", "line", "no", "nr", "number"),
    *("packet", "record", "row", "rows", "sample", "samples", "seq", "sequence", "step", "world"),
}
# Names of columns that describe the recording and are not channels. `dt` is the length of a step.
ABOUT = {
    *("accuracy", "activity", "class", "comment", "confidence", "device", "dt", "event", "label"),
    *("marker", "participant", "person", "quality", "session", "status", "subject", "trial"),
    *("user", "valid", "validity"),
}
LEAST_ROWS = 8  # fewer numbers, such as three, may rise by chance
RISING = 0.95  # fraction of rising changes in a counter; a counter of 8 bits restarts at 0
LONGEST_NAME = 200  # limit for characters, because comparisons of long texts are slow
RISES, IS_CONSTANT = "it only rises or falls", "it holds one value"

_UNIT = re.compile(r"\s*[(\[]\s*([^()\[\]]*?)\s*[)\]]\s*$")
# If two runs of ordered rows overlap in time, and each run has at least this number of rows, the
# runs are two recordings. Shorter runs are rows that arrived late.
STRETCH = 10
# Required fraction of time steps that differ from the median step by at most half of the median
# step. For random times with a uniform distribution, the fraction is 0.35.
LEAST_EVEN = 0.5
SORTED = "Rows were sorted by their times."
# last sentence of the error for a column that does not exist
CHANNELS = Message("Set {channels} to some of these columns, in the order of the model's channels.")
TIME = Message("Set {time} to one of these columns.")
NOT_A_CHANNEL = "Name the columns that are channels."  # advice for text in a column of numbers


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns that a file contains, and the names of the columns.

    Attributes:
        path: Path of the file.
        names: Names of the columns.
        header: Place of the names in the file, such as `"line 1"`.
        place: Function that takes the index of a row and returns its place in the file, such as
            `"line 7"`.
        numbers: Function that takes the index of a column and returns its numbers as float64, with
            NaN for missing numbers. The function raises ValueError if a field is neither a number
            nor missing.
        seconds: Function that takes the index of a column and returns its dates in seconds, with
            NaN for missing dates. For a column without dates, the function `seconds` returns None.
        notes: Sentences that describe assumptions about the file.
        rate_hz: Sampling rate that the file states outside its columns. None if the file states no
            rate.
        is_text: Function that takes the index of a column and returns whether fewer than half of
            its fields are numbers.
        texts: Function that takes the index of a column and returns its fields as texts. For files
            without text, the list is empty.
        is_boolean: Function that takes the index of a column and returns whether its fields are
            true and false, which `numbers` returns as 1 and 0.
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
    texts: Callable[[int], list[str]] = lambda i: []
    is_boolean: Callable[[int], bool] = lambda i: False


def read_signal(table: Table, options: "Options") -> tuple[Signal, float]:
    """Reads the channels and the times from a table.

    Args:
        table: `Table` of the file.
        options: `Options` of `read`.

    Returns:
        `(signal, resolution)`. `signal` is the `Signal` of the requested channels. If no channels
        are requested, `signal` contains all columns that may be channels. `resolution` is the
        smallest time difference that the clock can record, in seconds.

    Raises:
        ValueError: If a column is missing, if a channel contains anything except numbers, if the
            table has no rows, or if the times do not rise.
    """
    if not len(table.names):
        raise ValueError(
            f"{table.path}, {table.header}: the table has no columns. Leave the file out."
        )
    _bounds.check_columns(table.path, table.header, len(table.names))
    table = dataclasses.replace(
        table, numbers=functools.cache(table.numbers), seconds=functools.cache(table.seconds)
    )
    requested = options.channels
    channels = None
    if requested is not None:
        channels = indices_of(table.path, table.names, requested, table.header)
    time, times = _time_columns(table, options, channels or ())
    if options.events:
        time = None
    if time is not None:
        table = sorted_by_time(table, time)
    left_out, notes = [], [*table.notes]
    if channels is None:
        channels, reasons = _all_channels(table, times, options.events)
        notes += [_note_on_left_out(name, reason) for name, reason in reasons.items()]
        if options.events:
            notes += [_note_on_times(table.names[i]) for i in times]
        named = {*_times.columns(table.names)}  # time columns are never channels
        left_out = [*reasons, *(table.names[i] for i in times if i not in named)]
    elif time is None and {table.rate_hz, options.rate_hz} == {None} and not options.events:
        clock = _clock(table, channels)
        if clock is not None:
            notes.append(
                Message(
                    "Column {name!r} only rises. If this column holds the times, set {time} to "
                    "{name!r}.",
                    name=clock,
                )
            )
    names = [table.names[i] for i in channels]
    values = np.stack([table.numbers(i) for i in channels], axis=1)
    if not len(values):  # checked first, because `_seconds` reads the first time
        raise ValueError(f"{table.path} holds no steps. Leave it out.")
    rows = range(len(values))
    seconds, resolution = None, 0.0
    if time is not None:
        seconds, resolution, rows, notes_on_times = _seconds(table, time, options, values)
        notes += notes_on_times
    elif options.time_unit is not None:
        raise ValueError(
            Message(
                "{path}, {header}: no column is known to hold times, so {time_unit} does not "
                "apply. The columns are {names}. Set {time} to the column of times.",
                path=table.path,
                header=table.header,
                names=_bounds.join_first(table.names),
            )
        )

    path, rate_hz, place_of = table.path, table.rate_hz, table.place
    left_out = tuple(split_unit(name)[0] for name in left_out)
    del table  # releases the memory of columns that are not channels

    def place(row):
        return place_of(rows[row])

    values = values if len(rows) == len(values) else values[rows]
    check_range(path, values, names, place)
    plain, units = zip(*map(split_unit, names), strict=True)
    signal = Signal(
        path,
        values,
        plain if requested is None else tuple(requested),
        units,
        seconds,
        rate_hz,
        place,
        tuple(notes),
        left_out,
    )
    return signal, resolution


def name_check(path: pathlib.Path, where: str, names: Sequence[str]) -> Callable[[int], None]:
    """Returns a function that checks whether a column has a unique name.

    Args:
        path: Path of the file, for errors.
        where: Place of the names in the file, for errors.
        names: Names of all columns.

    Returns:
        Function that takes the index of a column. The function raises ValueError if the name of
        this column is empty or belongs to two columns.
    """
    first, last = {}, {}
    for i, name in enumerate(names):
        first.setdefault(name, i)
        last[name] = i

    def check(i):
        name = names[i]
        if name and first[name] == last[name]:
            return
        reason = f"has the same name {name!r} as another column" if name else "has no name"
        raise ValueError(
            f"{path}, {where}: column {last[name] + 1} {reason}. Give each column its own name, "
            "or name the columns that are channels."
        )

    return check


def _time_columns(table, options, channels):
    """Finds all time columns, and selects one of them. Returns the index of the selected column, or
    None if the table has no time columns. Also returns the indices of all time columns."""
    if options.time is not None:
        (time,) = indices_of(table.path, table.names, [options.time], table.header, TIME)
        return time, [*dict.fromkeys([time, *_times.columns(table.names)])]
    channels = {*channels}
    named = [i for i in _times.columns(table.names) if i not in channels]
    if channels:  # a column named T may hold temperatures
        named = [i for i in named if not _is_named_t(table, i) or not _is_noise(table, i)]
    rest = [i for i in range(len(table.names)) if i not in {*named} | channels]
    likely = [
        i for i in rest if _rises(table, i) and (_is_of_dates(table, i) or _is_clock(table, i))
    ]
    likely.sort(key=lambda i: _times.unit_of(table.names[i]) is None)
    times = [*named, *likely]
    if not times:
        return None, []
    rising = [i for i in times if _rises(table, i)]
    return next((i for i in rising if _has_unit(table, i)), [*rising, *times][0]), times


def _is_named_t(table, i):
    return table.names[i].strip().casefold() == "t"


def _is_noise(table, i):
    """Returns whether the values in a column fall in more than a quarter of the steps, so that the
    column is not a clock."""
    try:
        changes = np.diff(table.numbers(i))
    except ValueError:
        return False
    return len(changes) >= LEAST_ROWS and (changes < 0).mean() > 0.25


def _is_of_dates(table, i):
    try:
        return table.is_text(i) and table.seconds(i) is not None
    except ValueError:
        return False


def _is_clock(table, i):
    """Returns whether a column of numbers is a clock. The name of a clock contains a word for time,
    and the unit of the clock is known."""
    return _times.is_named_after_time(table.names[i]) and _has_unit(table, i)


def _has_unit(table, i):
    """Returns whether the unit of a time column can be determined, either by its name or by the
    size of its numbers."""
    if _times.unit_of(table.names[i]) is not None or _is_of_dates(table, i):
        return True
    return _times.has_usual_size(table.numbers(i))


def _rises(table, i):
    """Returns whether the numbers or dates in a column rise. Neighboring numbers may be equal, and
    numbers may be missing."""
    try:
        times = table.seconds(i)
        times = table.numbers(i) if times is None else times
    except ValueError:
        return False
    times = times[np.isfinite(times)]
    return len(times) > 1 and bool((np.diff(times) >= 0).all() and times[-1] > times[0])


def _clock(table, channels):
    """Returns the name of the first column that may be a clock. Returns None if no column may be a
    clock.

    A clock only rises, is not a channel, and does not have the name of a counter.
    """
    for i, name in enumerate(table.names):
        if i in channels or is_named_counter(name) or not _rises(table, i):
            continue
        if is_counter(name, table.numbers(i)):
            return name
    return None


def _all_channels(table, times, are_events):
    """Finds the columns that may be channels. Columns of true and false are channels of events.

    Returns:
        Indices of the possible channels, and a dictionary `{name: reason}` of the columns that are
        left out.
    """
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
            if table.is_boolean(i) and not are_events:
                reason = "it holds true and false"
        if reason is None:
            channels.append(i)
        else:
            left_out[name] = reason
            if reason == IS_CONSTANT:
                constant.append(i)
    if not channels and constant:  # a recording without any movement
        channels = constant
        left_out = {name: reason for name, reason in left_out.items() if reason != IS_CONSTANT}
    if not channels:
        first = itertools.islice(left_out.items(), _bounds.LISTED)
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in first)
        reasons = f" Some are channels only if you name them: {reasons}." if reasons else ""
        raise ValueError(
            Message(
                "{path}, {header}: no column is a channel. The columns are {names}.{reasons} Name "
                "the channels by {channels}.",
                path=table.path,
                header=table.header,
                names=_bounds.join_first(table.names),
                reasons=reasons,
            )
        )
    return channels, left_out


def _reason(name, values):
    """Returns the reason why a column is not a channel by default. Returns None if the column is a
    channel."""
    if len(values) and 2 * np.isfinite(values).sum() < len(values):
        return "fewer than half of its fields hold numbers"
    if is_about(name):
        return "its name shows that it describes the recording"
    if is_counter(name, values):
        return RISES
    return IS_CONSTANT if is_constant(values) else None


def _note_on_left_out(name, reason):
    advice = Message("To use this column, name it in {channels}.")
    if reason == RISES:
        advice = Message(
            "{advice} If this column holds the times, set {time} to {name!r}.",
            advice=advice,
            name=name,
        )
    return Message(
        "Column {name!r} was not used as a channel, because {reason}. {advice}",
        name=name,
        reason=reason,
        advice=advice,
    )


def _note_on_times(name):
    return Message(
        "Column {name!r} holds times, which events do not need. To compare the time between "
        "events, write it as a column. To use the times as they are, name the column in "
        "{channels}.",
        name=name,
    )


def _seconds(table, i, options, values):
    """Reads a time column.

    Missing times between known times are interpolated linearly over the rows.

    Returns:
        Seconds since the first time, the resolution of the clock in seconds, the rows that are
        used, and notes about the times.
    """
    times, name = table.seconds(i), table.names[i]
    are_dates = times is not None
    times = times if are_dates else table.numbers(i)
    is_infinite = np.isinf(times)
    present = np.flatnonzero(np.isfinite(times))
    if is_infinite.any() or (len(times) and not len(present)):
        row = np.flatnonzero(~np.isfinite(times))[0]
        raise ValueError(
            f"{table.path}, {table.place(row)}: the time in column {name!r} is {times[row]}, but a "
            "time must be a finite number. Correct the time, or leave the recording out."
        )
    if are_dates and options.time_unit is not None:
        raise ValueError(
            Message(
                "{path}, {header}: column {name!r} holds dates, to which {time_unit} does not "
                "apply. Leave out {time_unit}.",
                path=table.path,
                header=table.header,
                name=name,
            )
        )
    rows = np.arange(present[0], present[-1] + 1) if len(present) else np.arange(0)
    times = np.interp(rows, present, times[present]) if len(present) < len(rows) else times[rows]
    notes = []
    if len(rows) < len(values):
        notes.append("Rows at the start or the end that have no time were left out.")
    is_repeat = _repeats(times, values[rows])
    if is_repeat.any():
        rows, times = rows[~is_repeat], times[~is_repeat]
        notes.append("Rows with the same time and values as the previous row were left out.")
    size = 1.0 if are_dates else _times.TIME_UNITS.get(options.time_unit)
    seconds, resolution = _times.since_first(
        table.path,
        name,
        times,
        lambda row: table.place(rows[row]),
        unit=size,
        nominal_hz=options.rate_hz,
    )
    return seconds, resolution, rows, notes


def _repeats(times, values):
    """Returns a mask of the rows that repeat the previous row.

    A sensor may deliver several samples at the same time, but the values of these samples differ.
    So if the table contains a row with the time of the previous row but other values, the function
    marks no rows.
    """
    is_same_time = np.diff(times) == 0
    is_same_value = (values[1:] == values[:-1]) | np.isnan(values[1:]) & np.isnan(values[:-1])
    is_repeat = is_same_time & is_same_value.all(axis=1)
    is_written_twice = is_repeat.any() and (is_repeat == is_same_time).all()
    is_constant = is_same_value.all()
    return np.r_[False, is_repeat] & (is_written_twice and not is_constant)


def sorted_by_time(table: Table, column: int) -> Table:
    """Sorts the rows of a table by a time column.

    Args:
        table: `Table` of the file.
        column: Index of the time column.

    Returns:
        Sorted table. The function returns the table unchanged if the rows are already in order, if
        the times cannot be read, if the sorted times would be very uneven, or if sorting would mix
        two recordings. The function divides the table into series of rows with rising times. If two
        series share a time, or two long series overlap in time, the function assumes that they come
        from two recordings.
    """
    try:
        times = table.seconds(column)
        times = table.numbers(column) if times is None else times
    except ValueError:
        return table  # `_seconds` raises the error for these times
    starts = np.flatnonzero(np.diff(times) < 0) + 1
    if not len(starts) or not np.isfinite(times).all():
        return table
    firsts, ends = np.r_[0, starts], np.r_[starts, len(times)]
    numbers = np.repeat(np.arange(len(firsts)), ends - firsts)
    order = np.argsort(times, kind="stable")
    is_twice = (np.diff(times[order]) == 0) & (np.diff(numbers[order]) != 0)
    is_long = ends - firsts >= STRETCH
    begins, lasts = times[firsts[is_long]], times[ends[is_long] - 1]
    by_begin = np.lexsort((lasts, begins))
    steps = np.diff(times[order])
    usual = np.median(steps[steps > 0]) if steps.any() else 0.0
    is_even = np.abs(steps[steps > 0] - usual) <= usual / 2
    overlap = begins[by_begin][1:] < lasts[by_begin][:-1]
    if is_twice.any() or overlap.any() or is_even.mean() < LEAST_EVEN:
        return table

    place = table.place

    def seconds(i):
        values = table.seconds(i)
        return None if values is None else values[order] - values[order[0]]

    return dataclasses.replace(
        table,
        place=lambda row: place(order[row]),
        numbers=lambda i: table.numbers(i)[order],
        seconds=seconds,
        notes=(*table.notes, SORTED),
    )


def split_unit(name: str) -> tuple[str, str | None]:
    """Splits the name of a column into a name and a unit in brackets. For example, `"x (g)"` gives
    `("x", "g")`."""
    match = _UNIT.search(name)
    if match is None or not match.start():
        return name.strip(), None
    return name[: match.start()].strip(), match[1] or None


def shortened(names: Iterable[str]) -> tuple[str, ...]:
    """Shortens names of columns to `LONGEST_NAME` characters."""
    return tuple(
        name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..." for name in names
    )


def distinct(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """Checks that names of columns are distinct and returns them as a tuple.

    Raises:
        ValueError: If there are no names, if a name is empty, or if a name appears twice.
    """
    names = tuple(str(name).strip() for name in ([wanted] if isinstance(wanted, str) else wanted))
    if not names or not all(names) or len(set(names)) < len(names):
        raise ValueError(
            Message(
                "{channels} is {value!r}, but it must be a list of different column names.",
                value=wanted,
            )
        )
    return names


def indices_of(
    path: pathlib.Path,
    names: Sequence[str],
    wanted: Sequence[str],
    where: str,
    advice: Message = CHANNELS,
) -> list[int]:
    """Returns the indices of the requested columns.

    Args:
        path: Path of the file, for errors.
        names: Names of all columns.
        wanted: Requested names. If no column has exactly the requested name, the function ignores
            upper and lower case and a unit in brackets.
        where: Place of the names in the file, for errors.
        advice: Last sentence of the error if a requested name matches no column.

    Raises:
        ValueError: If a requested name matches no column, or if it matches two columns.
    """
    indices = [_index_of(path, names, name, where, advice) for name in wanted]
    if len(set(indices)) < len(indices):
        raise ValueError(
            f"{path}, {where}: {', '.join(wanted)} name the same column twice. Name each column "
            "once."
        )
    return indices


def numbered(
    path: pathlib.Path, count: int, wanted: Sequence[str] | None
) -> tuple[list[int], tuple[str, ...]]:
    """Returns the indices and the names of the requested columns. The function is for files that do
    not name their columns.

    Args:
        path: Path of the file, for errors.
        count: Number of columns.
        wanted: Names for all columns, or the numbers of some columns as strings, counted from 1. By
            default, all columns are requested.

    Raises:
        ValueError: If an entry of `wanted` is not the number of a column, and `wanted` does not
            name all columns.
    """
    numbers = [str(i) for i in range(1, count + 1)]
    wanted = numbers if wanted is None else wanted
    if set(wanted) <= set(numbers):
        return [numbers.index(name) for name in wanted], tuple(wanted)
    if len(wanted) == count:
        return list(range(count)), tuple(wanted)
    raise ValueError(
        f"{path} has {count} channels without names, and {len(wanted)} were requested: "
        f"{', '.join(wanted)}. Name all {count} channels in their order, or name some of them by "
        f"their numbers from 1 to {count}."
    )


def is_counter(name: str, values: np.ndarray) -> bool:
    """Returns whether a column only rises or only falls, as clocks and counters do.

    A few changes may have the opposite sign, because counters restart, and users set clocks. A
    column of fewer than 8 rows is a counter only if the column also has the name of a counter.

    Args:
        name: Name of the column.
        values: Numbers of the column, with NaN for missing numbers.
    """
    values = values[np.isfinite(values)]
    changes = np.diff(values)
    changes = changes[changes != 0]
    if not len(changes) or (len(values) < LEAST_ROWS and not is_named_counter(name)):
        return False
    return max((changes > 0).mean(), (changes < 0).mean()) >= RISING


def is_named_counter(name: str) -> bool:
    """Returns whether all words in a name are words for counters, as in `sampleIndex`."""
    return bool(words(name)) and words(name) <= COUNTERS


def is_about(name: str) -> bool:
    """Returns whether a name, such as `confidence`, shows that a column describes the recording and
    is not a channel."""
    return words(name) <= ABOUT | COUNTERS and bool(words(name) & ABOUT)


def is_constant(values: np.ndarray) -> bool:
    """Returns whether a column has the same value in all rows."""
    values = values[np.isfinite(values)]
    return len(values) >= LEAST_ROWS and values.min() == values.max()


def words(name: str) -> set[str]:
    """Splits a name into words in lower case. Ignores a unit in brackets.

    For example, `sampleCount [1]` has the words `sample` and `count`.
    """
    plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", split_unit(name)[0])
    return {word for word in re.split(r"[\W_\d]+", plain.casefold()) if word}


def _index_of(path, names, wanted, where, advice):
    """Returns the index of a requested column. The function first searches the exact name. If no
    column has the exact name, the function ignores case and units."""
    for simplified in (str, str.strip, str.casefold, lambda name: split_unit(name)[0].casefold()):
        indices = [i for i, name in enumerate(names) if simplified(name) == simplified(wanted)]
        if len(indices) > 1:
            raise ValueError(
                f"{path}, {where}: {len(indices)} columns are named {wanted!r}. Give each column "
                "its own name."
            )
        if indices:
            return indices[0]
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        Message(
            "{path}, {where}: there is no column {wanted!r}.{hint} The columns are {names}. "
            "{advice}",
            path=path,
            where=where,
            wanted=wanted,
            hint=hint,
            names=_bounds.join_first(names),
            advice=advice,
        )
    )
