"""A recording of the demo as a file, for the commands that it prints."""

import numpy as np

from keras_dml import _files


def write(path, recording, takes):
    """Writes a recording as CSV, with a column of times.

    Args:
        path: `pathlib.Path` of the file; its folder is created.
        recording: Array `(time, channels)` of float32, which the file holds exactly.
        takes: The card's `input`: channels, units and rate.
    """
    times = np.arange(len(recording))[:, None] / takes["rate_hz"]
    header = ["time_s", *map(_column, takes["channels"], takes["units"])]
    rows = ([f"{value:.9g}" for value in row] for row in np.hstack([times, recording]).tolist())
    path.parent.mkdir(parents=True, exist_ok=True)
    _files.write_text(path, "\n".join(map(",".join, [header, *rows])) + "\n")


def _column(channel, unit):
    return channel if unit == "1" else f"{channel} ({unit})"
