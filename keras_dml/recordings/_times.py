"""The rate of a recording, by its column of times."""

import datetime
import math
import re

import numpy as np

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
# Words that may stand beside a word for time, as in `Time since start in ms`.
BESIDE = {
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
ANOTHER = "another unit"  # in brackets, as in `time (C)`
ZONES = {"utc", "gmt", "local", "txt", "iso", "iso8601", "unix"}  # in brackets behind a time
EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))  # seconds since 1970 are some 1e9
UNITS = (1.0, 1e-3, 1e-6, 1e-9)
SAME = 0.02  # a phone that is told to give 50 Hz gives 49.6 or 50.3
JITTER = 0.5  # of a step: at more a sample is missing, or twice there
LEAST_HZ = 1.0  # of a column without a unit: steps above a second are milliseconds, or numbers


class UnevenTimesError(ValueError):
    """The times of a recording are not even, so that it needs `resample_hz`.

    Attributes:
        rate_hz: Steps per second, by the median interval between two steps.
    """

    def __init__(self, message, rate_hz):
        super().__init__(message)
        self.rate_hz = rate_hz


def is_same_rate(found_hz: float, wanted_hz: float) -> bool:
    """Whether a rate that a clock measured is the nominal one, within 2 %."""
    return abs(found_hz - wanted_hz) <= SAME * wanted_hz


def columns(names):
    """Returns the indices of the columns of times, those that name their unit first.

    A column is known by its name: time, t, timestamp or elapsed, with a unit or without, as in
    `time_ms`, `Time (s)` or `Time since start in ms`; or by a unit that is written out, as in
    `seconds_elapsed`.
    """
    rows = [i for i, name in enumerate(names) if _is_of_times(name)]
    return sorted(rows, key=lambda i: unit_of(names[i]) is None)


def is_named_after_time(name):
    """Returns whether a name has a word for time among others, as `pupil_timestamp`."""
    words = set(_words(name))
    return bool((NAMES - {"t", "tempo"}) & words) and ANOTHER not in words


def unit_of(name):
    """Returns the seconds of the unit that the name of a column of times has, or None."""
    return next((SECONDS[word] for word in reversed(_words(name)) if word in SECONDS), None)


def has_usual_size(times):
    """Returns whether the size of numbers that rise says their unit."""
    times = times[np.isfinite(times)]
    return _is_fast((times - times[0]) * _by_size(times))


def _is_fast(seconds):
    return len(seconds) < 2 or usual_step(seconds) * LEAST_HZ <= 1 + 1e-9


def _is_of_times(name):
    words = _words(name)
    rest = [word for word in words if word not in BESIDE]
    is_said = any(word in NAMES or _is_written_out(word) for word in rest)
    return is_said and set(rest) <= NAMES | SECONDS.keys()


def _is_written_out(word):
    """Returns whether a word is a unit that names a column alone, as `seconds` and not `min`."""
    return len(word) > 2 and SECONDS.get(word, 60) < 60


def _words(name):
    """Words of a name in lower case: `loggingTime(ms)` has `logging`, `time` and `ms`. Brackets
    that hold no unit, such as `(UTC)` and `(-0500)`, are passed over."""
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


def since_first(path, name, times, place, *, unit=None, nominal_hz=None):
    """Returns the seconds of each step from the first.

    Rows that share a time, as sensors write them that deliver several samples at once, are spread
    evenly up to the next time.

    Args:
        path: The file, for errors.
        name: Name of the column.
        times: Its numbers, shape `(time,)`, all finite.
        place: Function of a row that gives its place in the file.
        unit: Seconds of the unit of the numbers; None: by the name, or by their size.
        nominal_hz: Rate that the caller says, by which an unknown unit is found; None: unknown.

    Returns:
        `(seconds, resolution)`: the seconds, which rise, and the seconds between two times that the
        clock separates.

    Raises:
        ValueError: If the times fall or are all the same, or their unit is unknown.
    """
    unit = unit_of(name) if unit is None else unit
    since = times - times[:1]
    falls = np.flatnonzero(np.diff(since) < 0)
    if len(falls) or (len(since) > 1 and not since.any()):
        row = falls[0] + 1 if len(falls) else 1
        raise ValueError(
            f"{path}, {place(row)}: the time in column {name!r} does not rise, from "
            f"{times[row - 1]} to {times[row]}. Sort the rows and leave doubled ones out, or take "
            "the column out and give the rate."
        )
    if unit is None and nominal_hz is not None and len(since) > 1:
        step = usual_step(evenly_spread(since))
        sizes = [size for size in UNITS if is_same_rate(1 / (step * size), nominal_hz)]
        unit = sizes[0] if sizes else None
    seconds = since * (_by_size(times) if unit is None else unit)
    spread = evenly_spread(seconds)
    if unit is None and not _is_fast(spread):
        plain = name.strip()
        raise ValueError(
            f"{path}: column {name!r} rises by {np.diff(times).mean():.4g} a row and does not say "
            f"of what. Give `time_unit`, or name it {plain}_s, {plain}_ms, {plain}_us or "
            f"{plain}_ns; if it counts rows, row."
        )
    return spread, _resolution(seconds)


def evenly_spread(seconds):
    """Spreads rows that share a time evenly up to the next time.

    The first time may have fewer rows than the others, because the recording began within it. Its
    rows are placed before the second time.

    Args:
        seconds: Times that do not fall, shape `(time,)`, of which at least two differ.
    """
    firsts = np.flatnonzero(np.r_[True, np.diff(seconds) > 0][: len(seconds)])
    if len(firsts) in (1, len(seconds)):
        return seconds
    counts = np.diff(np.r_[firsts, len(seconds)])
    spans = np.diff(seconds[firsts])
    usual = np.median(spans / counts[:-1])
    steps = np.r_[spans / counts[:-1], usual]  # of the rows at each time
    steps[steps > (1 + JITTER) * usual] = usual  # the rest of the time is a gap
    rows = np.arange(len(seconds)) - np.repeat(firsts, counts)
    spread = seconds + rows * np.repeat(steps, counts)
    is_partial = counts[0] < counts[1:].max() and spans[0] <= (1 + JITTER) * np.median(spans)
    if is_partial:
        count = counts[0]
        spread[:count] = seconds[count] - usual * np.arange(count, 0, -1)
    return spread - spread[0]


def usual_step(seconds):
    """Returns the usual step of times that rise, of which some may be missing."""
    steps = np.diff(seconds)
    return float(steps[steps <= (1 + JITTER) * np.median(steps)].mean())


def rate_hz(seconds):
    """Returns the steps per second on average, or None for a single step."""
    return float((len(seconds) - 1) / seconds[-1]) if len(seconds) > 1 else None


def check_even(path, seconds, place):
    """Refuses times of which a sample is missing, or twice there, by an `UnevenTimesError`."""
    row, step, mean = _farthest(seconds)
    if abs(step - mean) > JITTER * mean:
        raise UnevenTimesError(
            f"{path}, {place(row)}: the steps are irregular, {step:.4g} s before this one and "
            f"{mean:.4g} s on average. Bring them to even ones by `resample_hz`, or cut the file "
            "at its gaps into several.",
            float(1 / np.median(np.diff(seconds))),
        )


def _farthest(seconds):
    """The row whose step differs most from the mean, that step, and the mean."""
    steps = np.diff(seconds)
    if not len(steps):
        return 0, 0.0, 0.0
    mean = steps.mean()
    row = np.abs(steps - mean).argmax()
    return row + 1, steps[row], mean


def _resolution(seconds):
    """Returns how far rounding may have moved times, in seconds.

    It is the largest power of ten that all times are multiples of, and less if they rise in steps
    of one length.
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
    """Seconds of the unit of times since 1970, by how large they are."""
    return next((unit for least, unit in EPOCHS if abs(times[0]) >= least), 1.0)
