"""Defines the options with which files are read."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of `read`. If an option is None, `read` determines its value from the file.

    Attributes:
        channels: Names of the columns that are channels.
        rate_hz: Sampling rate, in steps per second.
        resample_hz: Sampling rate after resampling, in steps per second. None means no resampling.
        time: Name of the time column.
        time_unit: Unit of the times: `"s"`, `"ms"`, `"us"` or `"ns"`.
        max_gap: Longest gap that is interpolated, in seconds. None means a gap of 5 steps.
        events: Whether the rows are events without a sampling rate.
    """

    channels: tuple[str, ...] | None = None
    rate_hz: float | None = None
    resample_hz: float | None = None
    time: str | None = None
    time_unit: str | None = None
    max_gap: float | None = None
    events: bool = False
