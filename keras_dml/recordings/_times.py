"""Functions that find time columns and their units, and that compute the sampling rate from
times."""

import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_dml._messages import Message

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}  # in seconds

NAMES = {
    *(
        "time",
        "times",
        "t",
        "ts",
        "timestamp",
        "timestamps",
        "datetime",
        "elapsed",
        "epoch",
        "epoc",
    ),
    *("clock", "zeit", "zeitstempel", "temps", "horodatage", "tiempo", "tempo", "tijd"),
}
# Words that may stand next to a word for time. For example, `Time since start in ms` contains
# `since` and `start`.
COMPANIONS = {
    *("absolute", "begin", "beginning", "computer", "date", "device", "from", "gaze", "host", "in"),
    *("local", "log", "logging", "motion", "of", "phone", "posix", "reboot", "recording"),
    *(
        "abs",
        "rel",
        "relative",
        "sample",
        "sampling",
        "sensor",
        "since",
        "start",
        "system",
        "the",
        "unix",
    ),
    *("utc", "seit", "start", "depuis", "desde", "dal"),
}
SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sekunden", "secondes"), 1.0),
    **dict.fromkeys(("segundos", "secondi"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "minuten", "minutos", "minuti"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "stunden", "heures", "horas"), 3600.0),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("millisekunden", "millisecondes", "milisegundos"), 1e-3),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs", "usec", "micros"), 1e-6),
    **dict.fromkeys(("microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), 1e-9),
}
ANOTHER = "another unit"  # stands for a unit in brackets that is no unit of time, as in `time (C)`
ZONES = {"utc", "gmt", "local", "txt", "iso", "iso8601", "unix"}  # texts in brackets after a time
# Pairs for the units ns, us and ms. A pair holds the smallest Unix time in this unit, and the unit
# in seconds. Unix times in seconds are about 1e9.
EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
# Largest relative difference between two rates that count as equal. For example, a phone that is
# set to 50 Hz may record at 49.6 or 50.3 Hz.
SAME = 0.02
JITTER = 0.5  # larger deviations, in steps, mean that a sample is missing or doubled
LEAST_HZ = 1.0  # lowest rate for times in seconds without a unit; slower times have another unit


class UnevenTimesError(ValueError):
    """Error if a recording has uneven times and is read without `resample_hz`.

    Attributes:
        rate_hz: Sampling rate in steps per second, computed from the median time between two steps.
    """

    def __init__(self, message: str, rate_hz: float):
        super().__init__(message)
        self.rate_hz = rate_hz

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.rate_hz)


def is_same_rate(measured_hz: float, nominal_hz: float) -> bool:
    """Returns whether a measured rate differs from a nominal rate by at most 2 %."""
    return abs(measured_hz - nominal_hz) <= SAME * nominal_hz


def agreed(
    path: pathlib.Path, file_hz: float | None, caller_hz: float | None, source: str
) -> float | None:
    """Returns the sampling rate that the caller states. If the caller states no rate, returns the
    rate of the file.

    Args:
        path: Path of the file, for errors.
        file_hz: Rate of the file, or None.
        caller_hz: Rate that the caller states, or None.
        source: Part of the file that contains the rate, such as `"its times"`, for errors.

    Raises:
        ValueError: If the two rates differ by more than 2 %, which is more than the usual error of
            clocks.
    """
    if file_hz is None or caller_hz is None:
        return file_hz if caller_hz is None else caller_hz
    if not is_same_rate(file_hz, caller_hz):
        raise ValueError(
            Message(
                "{path} has {file:.6g} Hz according to {source}, but {rate_hz} is {caller:g}. Set "
                "{rate_hz} to the rate of the file. To convert the file to another rate, use "
                "{resample_hz}.",
                path=path,
                file=file_hz,
                source=source,
                caller=caller_hz,
            )
        )
    return caller_hz


def columns(names: Sequence[str]) -> list[int]:
    """Returns the indices of the time columns. Columns with a unit in the name come first.

    A time column has a name such as time, t, timestamp or elapsed, with or without a unit, as in
    `time_ms`, `Time (s)` or `Time since start in ms`. The unit in the name may be written out, as
    in `seconds_elapsed`.
    """
    rows = [i for i, name in enumerate(names) if _is_of_times(name)]
    return sorted(rows, key=lambda i: unit_of(names[i]) is None)


def is_named_after_time(name: str) -> bool:
    """Returns whether a name contains a word for time, as in `pupil_timestamp`."""
    words = set(_words(name))
    return bool((NAMES - {"t", "tempo"}) & words) and ANOTHER not in words


def unit_of(name: str) -> float | None:
    """Returns the unit in the name of a time column, as a number of seconds. Returns None if the
    name contains no unit."""
    return next((SECONDS[word] for word in reversed(_words(name)) if word in SECONDS), None)


def has_usual_size(times: np.ndarray) -> bool:
    """Returns whether the unit of rising times follows from the size of the numbers."""
    times = times[np.isfinite(times)]
    return _is_fast((times - times[0]) * _by_size(times))


def _is_fast(seconds):
    return len(seconds) < 2 or usual_step(seconds) * LEAST_HZ <= 1 + 1e-9


def _is_of_times(name):
    words = _words(name)
    rest = [word for word in words if word not in COMPANIONS]
    has_time = any(word in NAMES or _is_written_out(word) for word in rest)
    return has_time and set(rest) <= NAMES | SECONDS.keys()


def _is_written_out(word):
    """Returns whether a word is clearly a unit of time. For example, `seconds` is clear, but `min`
    is not."""
    return len(word) > 2 and SECONDS.get(word, 60) < 60


def _words(name):
    """Splits a name into words in lower case. For example, `loggingTime(ms)` has the words
    `logging`, `time` and `ms`.

    The function skips texts in brackets that are not units, such as `(UTC)` and `(-0500)`.
    """
    name = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    brackets = re.findall(r"[(\[]([^()\[\]]*)[)\]]", name.casefold())
    plain = re.sub(r"[(\[][^()\[\]]*[)\]]", " ", name.casefold())
    units = [text.strip() for text in brackets if text.strip() in SECONDS]
    remarks = [text for text in brackets if text.strip() not in SECONDS]
    is_measured = any(
        re.search(r"[a-z/]{1,}", text) and text.strip() not in ZONES for text in remarks
    )
    words = [word for word in re.split(r"[\s_\-.:;/,]+", plain) if word]
    return [*words, *units, *([ANOTHER] if is_measured else [])]


def since_first(
    path: pathlib.Path,
    name: str,
    times: np.ndarray,
    place: Callable[[int], str],
    *,
    unit: float | None = None,
    nominal_hz: float | None = None,
) -> tuple[np.ndarray, float]:
    """Converts the numbers of a time column to seconds since the first step.

    Some sensors deliver several samples at once and give these samples the same time. The function
    spreads rows with the same time evenly up to the next time.

    Args:
        path: Path of the file, for errors.
        name: Name of the column.
        times: Finite numbers of the column, shape `(time,)`.
        place: Function that takes the index of a row and returns its place in the file.
        unit: Unit of `times`, as a number of seconds. Default: the unit in the name of the column.
            If the name contains no unit, the function infers the unit from the size of the numbers.
        nominal_hz: Sampling rate that the caller states, or None. The function derives an unknown
            unit from `nominal_hz`.

    Returns:
        `(seconds, resolution)`. `seconds` are rising times, shape `(time,)`. `resolution` is the
        smallest time difference that the clock can record, in seconds.

    Raises:
        ValueError: If the times fall, if all times are equal, or if the unit is unknown.
    """
    unit = unit_of(name) if unit is None else unit
    since = times - times[:1]
    falls = np.flatnonzero(np.diff(since) < 0)
    if len(falls) or (len(since) > 1 and not since.any()):
        row = falls[0] + 1 if len(falls) else 1
        raise ValueError(
            f"{path}, {place(row)}: the time in column {name!r} does not rise. It is "
            f"{times[row - 1]} in the previous row and {times[row]} in this row. Sort the rows and "
            "remove repeated rows, or remove the column and state the sampling rate."
        )
    if unit is None and nominal_hz is not None and len(since) > 1:
        step = usual_step(evenly_spread(since))
        sizes = [
            size for size in TIME_UNITS.values() if is_same_rate(1 / (step * size), nominal_hz)
        ]
        unit = sizes[0] if sizes else None
    seconds = since * (_by_size(times) if unit is None else unit)
    spread = evenly_spread(seconds)
    if unit is None and not _is_fast(spread):
        plain = name.strip()
        raise ValueError(
            Message(
                "{path}: column {name!r} rises by {step:.4g} per row, but its unit is unknown. Set "
                "{time_unit}, or rename the column to {plain}_s, {plain}_ms, {plain}_us or "
                "{plain}_ns. If the column counts rows, rename it to row.",
                path=path,
                name=name,
                step=np.diff(times).mean(),
                plain=plain,
            )
        )
    return spread, _resolution(seconds)


def evenly_spread(seconds: np.ndarray) -> np.ndarray:
    """Replaces equal times of several rows by evenly spaced times.

    A group consists of rows with the same time. A recording may start in the middle of a group, so
    the first group may have fewer rows than later groups. The function places the rows of the first
    group just before the second group.

    Args:
        seconds: Times in ascending order, shape `(time,)`, with at least two distinct values.

    Returns:
        Strictly rising times, shape `(time,)`.
    """
    firsts = np.flatnonzero(np.r_[True, np.diff(seconds) > 0][: len(seconds)])
    if len(firsts) in (1, len(seconds)):
        return seconds
    counts = np.diff(np.r_[firsts, len(seconds)])
    spans = np.diff(seconds[firsts])
    usual = np.median(spans / counts[:-1])
    steps = np.r_[spans / counts[:-1], usual]  # step between the rows of each time
    steps[steps > (1 + JITTER) * usual] = usual  # the rest of the interval is a gap
    rows = np.arange(len(seconds)) - np.repeat(firsts, counts)
    spread = seconds + rows * np.repeat(steps, counts)
    is_partial = counts[0] < counts[1:].max() and spans[0] <= (1 + JITTER) * np.median(spans)
    if is_partial:
        count = counts[0]
        spread[:count] = seconds[count] - usual * np.arange(count, 0, -1)
    return spread - spread[0]


def usual_step(seconds: np.ndarray) -> float:
    """Returns the usual step between rising times. Ignores longer steps, because samples are
    missing there."""
    steps = np.diff(seconds)
    return float(steps[steps <= (1 + JITTER) * np.median(steps)].mean())


def rate_hz(seconds: np.ndarray) -> float | None:
    """Returns the mean sampling rate in steps per second. Returns None if there is only one
    time."""
    return float((len(seconds) - 1) / seconds[-1]) if len(seconds) > 1 else None


def check_even(path: pathlib.Path, seconds: np.ndarray, place: Callable[[int], str]) -> None:
    """Raises `UnevenTimesError` if a sample is missing or occurs twice."""
    row, step, mean = _farthest(seconds)
    if abs(step - mean) > JITTER * mean:
        raise UnevenTimesError(
            Message(
                "{path}, {place}: the time steps are uneven. The step before this row takes "
                "{step:.4g} s, but the mean step takes {mean:.4g} s. Set {resample_hz} to resample "
                "the recording, or cut the file at its gaps into several files.",
                path=path,
                place=place(row),
                step=step,
                mean=mean,
            ),
            float(1 / np.median(np.diff(seconds))),
        )


def _farthest(seconds):
    """Finds the step that differs most from the mean step.

    Returns:
        Index of the row after the step, length of the step, and mean length of all steps.
    """
    steps = np.diff(seconds)
    if not len(steps):
        return 0, 0.0, 0.0
    mean = steps.mean()
    row = np.abs(steps - mean).argmax()
    return row + 1, steps[row], mean


def _resolution(seconds):
    """Returns the resolution of times: the largest error that rounding may have caused, in seconds.

    The resolution is the largest power of ten that divides all times, or the difference between the
    longest and the shortest step if this difference is smaller.
    """
    steps = np.diff(seconds)
    steps = steps[steps > 0]
    if not len(steps):
        return 0.0
    for power in range(0, -10, -1):
        multiples = seconds / 10.0**power
        if np.abs(multiples - multiples.round()).max() < 1e-3:
            return float(min(10.0**power, np.ptp(steps)))
    return 0.0


def _by_size(times):
    """Determines the unit of Unix times by the size of the times. Returns the unit as a number of
    seconds."""
    return next((unit for least, unit in EPOCHS if abs(times[0]) >= least), 1.0)
