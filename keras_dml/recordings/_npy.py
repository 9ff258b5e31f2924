"""Reads recordings from npy files. An npy file holds one NumPy array without channel names."""

import pathlib
from typing import TYPE_CHECKING

import numpy as np

from keras_dml._arrays import real
from keras_dml._messages import Message
from keras_dml.recordings import _bounds, _table
from keras_dml.recordings._recording import Signal

if TYPE_CHECKING:
    from keras_dml.recordings._options import Options

LEAST_STEPS_PER_CHANNEL = 0.5  # an array with fewer steps is almost certainly transposed


def read(path: pathlib.Path, options: "Options") -> tuple[Signal, float]:
    """Reads an array of shape `(time, channels)`, or `(time,)` for one channel.

    If the array has fewer rows than columns, and `options` names as many channels as the array has
    rows, the function transposes the array. If `options` contains no names, the channels are
    numbered from 1. The function never executes code in the file.

    Raises:
        ValueError: If the file is not an array of numbers, if the array has another shape, or if
            the file is truncated.
    """
    return _table.read_signal(_read_table(path, options.channels), options)


def _read_table(path, channels):
    values = _array(path)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(
            f"{path} holds an array of shape {values.shape}, but a recording has the shape (time, "
            "channels). Save each recording in its own file."
        )
    if not len(values):
        raise ValueError(f"{path} has shape {values.shape} and holds no steps. Leave it out.")
    values, notes = _oriented(path, values, channels)
    _bounds.check_columns(path, "its shape", values.shape[1])
    most = _bounds.most_numbers(path)
    # An array of whole numbers has no missing values. So no gaps are filled, and reading the array
    # takes only half the memory.
    _bounds.check_numbers(path, values.size, most if values.dtype.kind == "f" else 2 * most)
    columns, names = _table.numbered(path, values.shape[1], channels)
    if len(columns) < values.shape[1]:
        names = tuple(str(i) for i in range(1, values.shape[1] + 1))
    else:
        values = values[:, columns]
    return _table.Table(
        path,
        names,
        "its shape",
        lambda row: f"row {row}",
        lambda i: values[:, i].astype(np.float64),
        lambda i: None,
        notes,
    )


def _oriented(path, values, channels):
    """Returns the values in the shape `(time, channels)`, and notes that say how the order of the
    axes was determined."""
    steps, count = values.shape
    wanted = [] if channels is None else list(channels)
    numbers = [str(i) for i in range(1, len(wanted) + 1)]
    is_named = len(wanted) == steps > 0 and (wanted == numbers or not {*wanted} <= {*numbers})
    if is_named and steps < count:
        return values.T, (
            "The array has as many rows as there are channels, and was transposed to (time, "
            "channels).",
        )
    if len(wanted) == count or steps >= count:
        return values, ()
    if steps < LEAST_STEPS_PER_CHANNEL * count:
        raise ValueError(
            Message(
                "{path} has shape {shape}. The expected shape is (time, channels), which would be "
                "{steps:,} steps of {count:,} channels. If the array is (channels, time), save "
                "its transpose `array.T`. If it is (time, channels), name all channels by "
                "{channels}.",
                path=path,
                shape=values.shape,
                steps=steps,
                count=count,
            )
        )
    return values, (
        "The array was read as (time, channels), so it has fewer steps than channels. If its axes "
        "are (channels, time), save the transpose `array.T`.",
    )


def _array(path):
    try:
        # `open_memmap` raises an error for object arrays and for arrays that are larger than the
        # file.
        mapped = np.lib.format.open_memmap(path, mode="r")
        return np.array(real("the array", mapped))
    except Exception as error:  # NumPy parses the header as Python, which may raise any error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(
            f"{path} is not a .npy file with one array of numbers: {reason}. Save an array of "
            "shape (time, channels) by numpy.save(path, recording)."
        ) from None
