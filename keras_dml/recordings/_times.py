"""The rate of a recording, by its column of times."""

import datetime
import math
import re

import numpy as np

from keras_dml.recordings import _channels

NAMES = {"time", "times", "t", "timestamp", "timestamps", "datetime", "elapsed"}
SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs", "micros", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanos", "nanoseconds"), 1e-9),
}
EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))  # seconds since 1970 are some 1e9
SAME = 0.02  # a phone that is told to give 50 Hz gives 49.6 or 50.3
JITTER = 0.5  # of a step: at more a sample is missing, or twice there
LONGEST_GAP = 5  # steps, between which a line is drawn when times are brought to even steps
LEAST_HZ = 1.0  # of a column without a unit: steps above a second are milliseconds, or numbers


def is_same_rate(found_hz: float, wanted_hz: float) -> bool:
    """Whether a rate that a clock measured is the nominal one, within 2 %."""
    return abs(found_hz - wanted_hz) <= SAME * wanted_hz


def columns(names):
    """Indices of the columns of times, those that name their unit first.

    A column is known by its name: time, t, timestamp or elapsed, with a unit behind it or without,
    as in `time_ms` or `Time (s)`; or by a unit that is written out, as in `seconds_elapsed`.
    """
    found = [i for i, name in enumerate(names) if _is_of_times(name)]
    return sorted(found, key=lambda i: _unit(names[i]) is None)


def _is_of_times(name):
    words, bracket = _words(name)
    if bracket is not None:
        return bracket in SECONDS and set(words) <= NAMES
    is_said = any(word in NAMES or (word in SECONDS and len(word) > 2) for word in words)
    return is_said and set(words) <= NAMES | SECONDS.keys()


def _unit(name):
    """Seconds of the unit that a name of times has; None if it has none."""
    words, bracket = _words(name)
    return next((SECONDS[word] for word in (*words, bracket) if word in SECONDS), None)


def _words(name):
    plain, bracket = _channels.split(name.casefold())
    return re.split(r"[\s_\-.]+", plain), bracket


def seconds_of(path, name, texts, place):
    """Seconds from the first of dates and times as ISO 8601 writes them.

    Args:
        path: The file, for errors.
        name: Name of the column.
        texts: The dates; None stands for a missing one.
        place: Function of a row that gives its place in the file.

    Raises:
        ValueError: If one is none, or of a time zone where the first has none.
    """
    start, seconds = None, []
    for row, text in enumerate(texts):
        if text is None:  # a missing date
            seconds.append(math.nan)
            continue
        try:
            moment = datetime.datetime.fromisoformat(text.strip())
            start = start or moment
            seconds.append((moment - start).total_seconds())
        except (TypeError, ValueError):  # with a time zone or without: TypeError
            raise ValueError(
                f"{path}, {place(row)}: the time {text!r} in column {name!r} is neither a number "
                "nor a date and time such as 2026-01-31T12:00:00.02. Write one of them, or take "
                "the column out and give the rate."
            ) from None
    return np.array(seconds)


def since_first(path, name, times, place, *, is_seconds=False, may_repeat=False):
    """Seconds of each step from the first.

    Args:
        path: The file, for errors.
        name: Name of the column.
        times: Its numbers, shape `(time,)`.
        place: Function of a row that gives its place in the file.
        is_seconds: Whether they are seconds whatever the name says, such as dates that were read.
        may_repeat: Whether steps may have the time of the one before, as those of phones do.

    Raises:
        ValueError: If they do not rise, or are in no known unit.
    """
    said = 1.0 if is_seconds else _unit(name)
    since = times - times[:1]
    may_repeat = may_repeat and bool(since.any())  # not all of one time
    falls = np.flatnonzero(np.diff(since) < 0 if may_repeat else ~(np.diff(since) > 0))
    if len(falls):
        row = falls[0] + 1
        raise ValueError(
            f"{path}, {place(row)}: the time in column {name!r} does not rise, from "
            f"{times[row - 1]} to {times[row]}. Sort the rows and leave doubled ones out, or take "
            "the column out and give the rate."
        )
    seconds = since * (_by_size(times) if said is None else said)
    rate = rate_hz(seconds)
    if said is None and rate is not None and rate < LEAST_HZ:
        plain = name.strip()
        raise ValueError(
            f"{path}: column {name!r} rises by {np.diff(times).mean():.4g} a row and does not say "
            f"of what. Name it {plain}_s, {plain}_ms, {plain}_us or {plain}_ns; if it counts rows, "
            "row."
        )
    return seconds


def rate_hz(seconds):
    """Steps a second on average, of times that rise; None for a single step."""
    return float((len(seconds) - 1) / seconds[-1]) if len(seconds) > 1 else None


def check_even(path, seconds, place):
    """Refuses times of which a sample is missing, or twice there."""
    row, step, mean = _farthest(seconds)
    if abs(step - mean) > JITTER * mean:
        raise ValueError(
            f"{path}, {place(row)}: the steps are irregular, {step:.4g} s before this one and "
            f"{mean:.4g} s on average. Bring them to even ones by `resample_hz`, or cut the file "
            "at its gaps into several."
        )


def check_gaps(path, seconds, place):
    """Refuses times with a gap that no line should bridge."""
    row, step, mean = _farthest(seconds)
    if step > LONGEST_GAP * mean:
        raise ValueError(
            f"{path}, {place(row)}: nothing was recorded in the {step:.4g} s before this step, and "
            f"steps are {mean:.4g} s apart on average. What lies in a gap of more than "
            f"{LONGEST_GAP} steps is not made up: cut the file there into two."
        )


def _farthest(seconds):
    """The row whose step differs most from the mean, that step, and the mean."""
    steps = np.diff(seconds)
    if not len(steps):
        return 0, 0.0, 0.0
    mean = steps.mean()
    row = np.abs(steps - mean).argmax()
    return row + 1, steps[row], mean


def _by_size(times):
    """Seconds of the unit of times since 1970, by how large they are."""
    return next((unit for least, unit in EPOCHS if abs(times[0]) >= least), 1.0)
