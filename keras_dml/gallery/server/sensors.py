"""Finds out which sensor of a phone can make recordings for a model."""

import pathlib
from typing import TYPE_CHECKING

import numpy as np

from keras_dml import recordings

if TYPE_CHECKING:  # loads a backend
    from keras_dml.contract import Contract

# The page writes acceleration and angular rate in these units, and the reader converts them to the
# units of the model.
ACCELERATION, ANGULAR_RATE = "m/s2", "rad/s"
WITHOUT_GRAVITY = ("linear", "user")  # in channel names of phyphox and Core Motion


def sensor(contract: "Contract | None") -> str | None:
    """Returns the name of the phone sensor that can make recordings for a model.

    Args:
        contract: Contract of the model, or None.

    Returns:
        `"microphone"` if the model has one channel with the name `sound`. `"accelerometer"` if the
        model has three channels of acceleration whose names end in x, y and z.
        `"linear-acceleration"` if the names of the three acceleration channels also state that
        gravity is removed. `"accelerometer-gyroscope"` if the model has three channels of
        acceleration, followed by three channels of angular rate, and the names of the channels of
        each sensor end in x, y and z. None for other models.
    """
    if contract is None or contract.rate_hz is None:
        return None
    if contract.channels == ("sound",):
        return "microphone"
    names = [name.casefold() for name in contract.channels]
    sensors = [names[i : i + 3] for i in range(0, len(names), 3)]
    if any(sorted(name[-1:] for name in each) != ["x", "y", "z"] for each in sensors):
        return None
    if len(sensors) > 2 or not _is_measured_by_phones(contract):
        return None
    is_linear = all(any(word in name for word in WITHOUT_GRAVITY) for name in sensors[0])
    if len(sensors) == 2:
        return None if is_linear else "accelerometer-gyroscope"
    return "linear-acceleration" if is_linear else "accelerometer"


def _is_measured_by_phones(contract):
    """Returns True if accelerations in m/s2, followed by angular rates in rad/s, can be converted
    to the units of a model.
    """
    count = len(contract.channels)
    recording = recordings.Recording(
        pathlib.Path("recording.csv"),
        np.zeros((1, count), np.float32),
        contract.channels,
        (3 * (ACCELERATION,) + 3 * (ANGULAR_RATE,))[:count],
        contract.rate_hz,
    )
    return recordings.convert(recording, contract.units).units == contract.units
