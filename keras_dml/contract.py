"""Provides the input contract, which says which recordings a model accepts and which magnitudes the
training recordings had.
"""

import dataclasses
import math
import numbers
import warnings
from typing import Any

import numpy as np

from keras_dml._arrays import real, whole
from keras_dml._typing import Recordings

# A warning is raised if magnitudes are outside the training range by more than this factor. We
# measured by which factor recordings of people who were not used in training were outside this
# range. The factor of a recording is the median over all channels with the same unit. The factor
# was at most 1.31 for walks, EEG trials, motions and vowels. If walks are in m/s^2 although the
# model expects g, the factor is above 2.1.
MAGNITUDE_FACTOR = 1.5
RANGE = (0.01, 0.99)  # quantiles over training recordings that define the training range
# Zeros at the end of a recording count as padding if they are at least this fraction of all steps.
# Among walks, EEG trials, motions, vowels and speech, only speech recordings end in zeros, and
# these zeros are at most 3 % of a recording.
PADDING_FRACTION = 0.05
MIN_PADDING = 2  # in steps, because a single step of zeros may be a measurement
DIGITS = 4  # digits of standard deviations, to keep contracts readable
MAX_NAMED = 12  # largest number of channels that a message lists


@dataclasses.dataclass(frozen=True)
class Contract:
    """Requirements on the recordings that a model accepts.

    Attributes:
        channels: Names of the channels, in order.
        units: Unit of each channel.
        rate_hz: Sampling rate in time steps per second. None if the rate does not matter.
        min_steps: Smallest number of time steps of a recording.
        max_steps: Largest number of time steps of a recording. None if there is no limit.
        stddev_range: Smallest and largest standard deviation of each channel in the training
            recordings, shape `(channels, 2)`, in the channel's unit. None if the range is unknown
            or does not matter.
        events: Whether the steps are events without a sampling rate, such as key presses. If True,
            `rate_hz` must be None, and readers of files ignore times.

    Raises:
        TypeError: If a number of steps is not an integer.
        ValueError: If an attribute has an invalid value, or if the lengths of two attributes imply
            different numbers of channels.
    """

    channels: tuple[str, ...]
    units: tuple[str, ...]
    rate_hz: float | None = None
    min_steps: int = 1
    max_steps: int | None = None
    stddev_range: tuple[tuple[float, float], ...] | None = None
    events: bool = False

    def __post_init__(self) -> None:
        channels = _texts("channels", self.channels)
        units = self.units
        units = _texts("units", [units] * len(channels) if isinstance(units, str) else units)
        if len(units) != len(channels):
            raise ValueError(
                f"`units` must have one entry for each of the {len(channels)} channels. Received "
                f"{len(units)} entries. If all channels have the same unit, pass the unit as a "
                "single text."
            )
        checked = {
            "channels": channels,
            "units": units,
            "rate_hz": _rate(self.rate_hz),
            "min_steps": whole("min_steps", self.min_steps, 1),
            "max_steps": self.max_steps
            if self.max_steps is None
            else whole("max_steps", self.max_steps, self.min_steps),
            "stddev_range": _ranges(self.stddev_range, len(channels)),
            "events": bool(self.events),
        }
        if self.events and self.rate_hz is not None:
            raise ValueError(
                f"Events have no rate. Received events=True and rate_hz={self.rate_hz!r}. Leave "
                "out `rate_hz`, or leave out `events`."
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def measured(self, recordings: Recordings) -> "Contract":
        """Returns a copy of the contract that also contains the range of standard deviations in
        training recordings.

        Args:
            recordings: Arrays of shape `(time, channels)`, in the units of the contract.

        Raises:
            ValueError: If the list is empty, or if the number of channels of a recording differs
                from the contract.
        """
        shapes = [np.shape(recording) for recording in recordings]
        if not shapes or any(len(s) != 2 or s[1] != len(self.channels) for s in shapes):
            raise ValueError(
                f"`recordings` must hold arrays of shape (time, {len(self.channels)}). Received "
                f"shapes {sorted(set(shapes))}."
            )
        stddev = [np.std(recording, axis=0, dtype=np.float64) for recording in recordings]
        ranges = [
            [float(f"{value:.{DIGITS}g}") for value in channel]
            for channel in np.quantile(stddev, RANGE, axis=0).T
        ]
        return dataclasses.replace(self, stddev_range=ranges)

    def check_rate(self, rate_hz: float) -> None:
        """Checks that a sampling rate equals the rate in the contract.

        Raises:
            ValueError: If the two rates differ.
        """
        if rate_hz != self.rate_hz:
            raise ValueError(
                f"The model takes recordings of {self.rate_hz:g} Hz. Received rate_hz={rate_hz!r}. "
                "Resample the recordings, for example by `scipy.signal.resample_poly`."
            )

    def check(self, i: int, signal: np.ndarray, takes_padding: bool = False) -> None:
        """Checks that a recording has an allowed length and is not padded with zeros.

        Args:
            i: Index of the recording in error messages.
            signal: Recording, shape `(time, channels)`.
            takes_padding: Whether the model ignores zeros at the end, so that padding is allowed.

        Raises:
            ValueError: If the recording is too short, too long or padded.
        """
        steps = len(signal)
        if steps < self.min_steps or steps > (self.max_steps or math.inf):
            allowed = (
                f"{self.min_steps} or more"
                if self.max_steps is None
                else f"{self.min_steps} to {self.max_steps}"
            )
            raise ValueError(
                f"Recording {i} has {steps} steps, but the model's contract or card allows "
                f"{allowed}. The model's error rates do not hold for other lengths. Cut windows of "
                "a longer recording, or leave out a shorter recording."
            )
        zeros = steps - _end(signal)
        if zeros == steps:
            raise ValueError(f"Recording {i} is zero throughout. Leave it out.")
        may_end_in_zeros = takes_padding or self.events  # flags may all be 0 in an event
        if not may_end_in_zeros and zeros >= max(MIN_PADDING, PADDING_FRACTION * steps):
            raise ValueError(
                f"Recording {i} ends in {zeros} steps of exact zeros in all channels, which is "
                f"padding. Cut it off: `recording[:{steps - zeros}]`. Pass recordings of different "
                "lengths as a list."
            )

    def warn_of_magnitudes(self, signals: Recordings) -> None:
        """Warns if the magnitudes of most recordings are outside the range of the training
        recordings.

        For each channel, the standard deviation is divided by the nearest value in the training
        range. The median of these quotients over all channels with the same unit is the ratio of
        the recording. The method warns if the median ratio over all recordings is too large or too
        small.

        Args:
            signals: Arrays of shape `(time, channels)`.
        """
        if self.stddev_range is None:
            return
        low, high = np.transpose(self.stddev_range)
        stddev = np.array([signal.std(axis=0, dtype=np.float64) for signal in signals])
        nearest = np.clip(stddev, low, high)
        # A flag may be constant in a training recording, so the smallest value may be 0.
        ratios = np.ones_like(stddev)
        tiny = np.finfo(np.float32).tiny
        np.divide(stddev, np.maximum(nearest, tiny), out=ratios, where=stddev != nearest)
        for unit in dict.fromkeys(self.units):
            columns = [i for i, channel_unit in enumerate(self.units) if channel_unit == unit]
            ratio = float(np.median(np.median(ratios[:, columns], axis=1)))
            if not 1 / MAGNITUDE_FACTOR <= ratio <= MAGNITUDE_FACTOR:
                self._warn(unit, columns, np.median(stddev[:, columns]), ratio)

    def _warn(self, unit, columns, stddev, ratio):
        ranges = np.median(np.array(self.stddev_range)[columns], axis=0)
        names = _abbreviated([self.channels[i] for i in columns])
        cause = "Either nothing moves in these channels, or" if ratio < 1 else "Perhaps"
        if unit == "1":
            unit, advice = "", "their scale differs. Scale the channels as in training"
        else:
            unit = f" {unit}"
            advice = (
                f"their unit is not{unit}. Convert the values: 1 g is 9.81 m/s^2, 1 rad/s is "
                "57.3 deg/s"
            )
        warnings.warn(
            f"In the channels {names}, most recordings have another magnitude than the training "
            f"recordings. Their standard deviation is {stddev:.3g}, but the training recordings "
            f"had {ranges[0]:.3g} to {ranges[1]:.3g}{unit}. {cause} {advice}.",
            UserWarning,
            stacklevel=6,
        )

    def as_dict(self) -> dict[str, Any]:
        """Returns a dictionary of the attributes, with lists and numbers that JSON can hold."""
        lists = {"channels": list(self.channels), "units": list(self.units)}
        if self.stddev_range is not None:
            lists["stddev_range"] = [list(pair) for pair in self.stddev_range]
        return {**vars(self), **lists}

    def named_channels(self) -> str:
        """Returns the number and the names of the channels, such as `6: LAX, LAY, LAZ, LRX, LRY,
        LRZ`."""
        return f"{len(self.channels)}: {_abbreviated(self.channels)}"


def _end(signal):
    """Returns the number of steps up to the last step that is not zero."""
    moving = np.flatnonzero(signal.any(axis=1))
    return moving[-1] + 1 if len(moving) else 0


def _abbreviated(names):
    if len(names) > MAX_NAMED:
        names = [*names[: MAX_NAMED - 1], "...", names[-1]]
    return ", ".join(names)


def _texts(name, values):
    texts = () if isinstance(values, str) else tuple(values)
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError(
            f"`{name}` must be a list of one or more texts. No text may be empty. "
            f"Received {values!r}."
        )
    return texts


def _rate(rate_hz):
    if rate_hz is None:
        return None
    if not isinstance(rate_hz, numbers.Real) or not 0 < rate_hz < math.inf:
        raise ValueError(f"`rate_hz` must be a positive number or None. Received {rate_hz!r}.")
    return int(rate_hz) if rate_hz == int(rate_hz) else float(rate_hz)


def _ranges(ranges, channels):
    if ranges is None:
        return None
    array = real("`stddev_range`", ranges, np.float64)
    if array.shape != (channels, 2) or not np.all((array >= 0) & (array[:, :1] <= array)):
        raise ValueError(
            f"`stddev_range` must hold two numbers of at least 0, (smallest, largest), for each of "
            f"{channels} channels. Received {ranges!r}."
        )
    return tuple(map(tuple, array.tolist()))
