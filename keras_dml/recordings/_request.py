"""Options of the caller for reading a file."""

from __future__ import annotations

import dataclasses
import math
import numbers

from keras_dml.recordings import _channels

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclasses.dataclass(frozen=True)
class Request:
    """Arguments of `read`. None leaves a question to the file.

    Attributes:
        channels: Names of the columns that are channels.
        rate_hz: Steps per second.
        resample_hz: Rate that the recording is resampled to.
        time: Name of the column of times.
        time_unit: Unit of its numbers: `"s"`, `"ms"`, `"us"` or `"ns"`.
        max_gap: Longest gap that is interpolated, in seconds.
    """

    channels: tuple[str, ...] | None = None
    rate_hz: float | None = None
    resample_hz: float | None = None
    time: str | None = None
    time_unit: str | None = None
    max_gap: float | None = None


def checked(channels, **options):
    """Returns the `Request` of arguments.

    Raises:
        ValueError: If an argument is invalid; the message names it.
    """
    for name in ("rate_hz", "resample_hz", "max_gap"):
        check_positive(name, options[name])
    time, unit = options["time"], options["time_unit"]
    if time is not None and not (isinstance(time, str) and time.strip()):
        raise ValueError(f"`time` must be the name of a column. Received {time!r}.")
    if unit is not None and unit not in TIME_UNITS:
        raise ValueError(f"`time_unit` must be one of {', '.join(TIME_UNITS)}. Received {unit!r}.")
    channels = None if channels is None else _channels.distinct(channels)
    return Request(channels, **options)


def check_positive(name, value):
    """Checks that an argument is None or a positive number."""
    if value is None:
        return
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:
        raise ValueError(f"`{name}` must be a positive number. Received {value!r}.")
