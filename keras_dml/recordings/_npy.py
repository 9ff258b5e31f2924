"""Recordings as NumPy's files of one array, whose channels have no names."""

import numpy as np

from keras_dml._arrays import real
from keras_dml.recordings import _bounds, _channels, _table

LEAST_STEPS_PER_CHANNEL = 0.5  # at fewer the axes were almost certainly confused


def read(path, channels):
    """Reads the table of an array `(time, channels)`, or `(time,)` of one channel.

    An array `(channels, time)` is turned if the names of the channels decide it.

    Args:
        path: The file.
        channels: Names of all columns in order, or numbers of some from 1; None: all.

    Returns:
        `Table`, whose columns have the names that `channels` gives them, or numbers from 1.

    Raises:
        ValueError: If it is not an array of numbers, has another shape, or is cut. Nothing in
            it is run.
    """
    values = _array(path)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(
            f"{path} holds an array of shape {values.shape}; a recording has (time, channels). "
            "Save each recording in a file of its own."
        )
    if not len(values):
        raise ValueError(f"{path} has shape {values.shape} and holds no steps: leave it out.")
    values, notes = _oriented(path, values, channels)
    _bounds.check_columns(path, "its shape", values.shape[1])
    most = _bounds.most_numbers(path)
    # whole numbers are never missing, so that no gaps are filled, which takes half of the memory
    _bounds.check_numbers(path, values.size, most if values.dtype.kind == "f" else 2 * most)
    columns, names = _channels.numbered(path, values.shape[1], channels)
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
    """The values as `(time, channels)`, and notes on what decided it."""
    steps, count = values.shape
    wanted = [] if channels is None else list(channels)
    numbers = [str(i) for i in range(1, len(wanted) + 1)]
    is_named = len(wanted) == steps > 0 and (wanted == numbers or not {*wanted} <= {*numbers})
    if is_named and steps < count:
        return values.T, (
            "The array has its channels first, as their number says, and was turned to (time, "
            "channels).",
        )
    if len(wanted) == count or steps >= count:
        return values, ()
    if steps < LEAST_STEPS_PER_CHANNEL * count:
        raise ValueError(
            f"{path} has shape {values.shape}: {steps:,} steps of {count:,} channels, or channels "
            f"first. (time, channels) is expected. Save `array.T`, or name all channels by "
            "`channels`, whose number decides."
        )
    return values, (
        "The array has fewer steps than channels; (time, channels) was assumed. If it is "
        "(channels, time), save `array.T`.",
    )


def _array(path):
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")  # refuses objects, and sizes beyond it
        return np.array(real("the array", mapped))
    except Exception as error:  # a header is text that is parsed: it raises what parsers raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(
            f"{path} is not a .npy file of one array of numbers: {reason}. Write it with "
            "numpy.save(path, recording), of shape (time, channels)."
        ) from None
