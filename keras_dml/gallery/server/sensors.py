"""Finds out which sensor of a phone can make recordings for a model."""

import pathlib
from typing import TYPE_CHECKING

import numpy as np

from keras_dml import recordings

if TYPE_CHECKING:  # loads a backend
    from keras_dml.contract import Contract

# The page writes acceleration in this unit, and the reader converts it to the unit of the model.
ACCELERATION = "m/s2"
WITHOUT_GRAVITY = ("linear", "user")  # in channel names of phyphox and Core Motion


def sensor(contract: "Contract | None") -> str | None:
    """Returns the name of the phone sensor that can make recordings for a model.

    Args:
        contract: Contract of the model, or None.

    Returns:
        `"microphone"` if the model has one channel with the name `sound`. `"accelerometer"` if the
        model has three channels of acceleration whose names end in x, y and z.
        `"linear-acceleration"` if the names of the three acceleration channels also state that
        gravity is removed. None for other models.
    """
    if contract is None or contract.rate_hz is None:
        return None
    if contract.channels == ("sound",):
        return "microphone"
    names = [name.casefold() for name in contract.channels]
    if sorted(name[-1:] for name in names) != ["x", "y", "z"] or not _is_acceleration(contract):
        return None
    is_linear = all(any(word in name for word in WITHOUT_GRAVITY) for name in names)
    return "linear-acceleration" if is_linear else "accelerometer"


def _is_acceleration(contract):
    """Returns True if a recording in m/s2 can be converted to the units of a model."""
    count = len(contract.channels)
    recording = recordings.Recording(
        pathlib.Path("recording.csv"),
        np.zeros((1, count), np.float32),
        contract.channels,
        count * (ACCELERATION,),
        contract.rate_hz,
    )
    return recordings.convert(recording, contract.units).units == contract.units
