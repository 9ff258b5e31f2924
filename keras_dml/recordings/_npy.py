"""Recordings as NumPy's files of one array, whose channels have no names."""

import numpy as np

from keras_dml._arrays import real
from keras_dml.recordings import _channels, _recording


def read(path, channels, rate_hz):
    """The recording of an array `(time, channels)`, or `(time,)` of one channel.

    Args:
        path: The file.
        channels: Names of all columns in order, or numbers of some from 1; None: all.
        rate_hz: Steps a second, or None; the file does not say it.

    Raises:
        ValueError: If it is no array of numbers, of another shape, or cut. Nothing in it is run.
    """
    values = _array(path)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(
            f"{path} holds an array of shape {values.shape}; a recording has (time, channels). "
            "Save each recording in a file of its own."
        )
    wanted = () if channels is None else channels
    if len(wanted) == len(values) != values.shape[1]:
        raise ValueError(
            f"{path} has shape {values.shape}, channels first; (time, channels) is expected. Save "
            "`array.T`."
        )
    columns, names = _channels.numbered(path, values.shape[1], channels)
    values = _recording.checked(path, values[:, columns], names, lambda row: f"row {row}")
    return _recording.Recording(path, values, names, (None,) * len(names), rate_hz)


def _array(path):
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")  # refuses objects, and sizes beyond it
        return np.array(real("the array", mapped))
    except Exception as error:  # a header is text that is parsed: it raises what parsers raise
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ValueError(
            f"{path} is not a .npy file of one array of numbers: {reason}. Write it with "
            "numpy.save(path, recording), of shape (time, channels)."
        ) from None
