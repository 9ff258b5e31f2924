"""Writes the walks of the demo as CSV files, in the form in which a watch records them.

The model `watch_lda` was not trained on the people of the demo.

Run `python -m zoo.demo_walks` from the checkout.
"""

import pathlib

import numpy as np
import typer

import keras_dml
from keras_dml import _files
from tfds_builders.parsers import sp_sw_har
from zoo import people

FOLDER = pathlib.Path(keras_dml.__file__).parent / "cli" / "demo_data" / "walks"
SUBJECTS = ("s05", "s17", "s21", "s22")
HEADER = "time_ms,x (m/s2),y (m/s2),z (m/s2)"
STEP_MS = 10  # the median step of the clock, which takes the place of a turn
_WALKING = sp_sw_har.ACTIVITIES.index("WALKING")


def cut(time_ms, sequence, activity):
    """Returns the straight parts of a run, in which the person walks, and removes all other
    samples.

    Args:
        time_ms: Times of the samples in ms, as the watch delivered them, shape `(time,)`.
        sequence: Shape `(time, channels)`.
        activity: Shape `(time,)`.

    Returns:
        `(time_ms, acceleration)`. The times start at 0. A removed turn leaves a gap of one time
        step. The acceleration has shape `(steps, 3)`.
    """
    rows = np.flatnonzero(np.asarray(activity) == _WALKING)
    steps = np.diff(np.asarray(time_ms)[rows])
    steps[np.diff(rows) > 1] = STEP_MS
    return np.concatenate([[0], np.cumsum(steps)]), np.asarray(sequence)[rows, :3]


def main():
    """Writes one file per run."""
    for split in ("train", "validation", "test"):
        for record in people.read("sp_sw_har/runs", split):
            subject = record["subject"].decode()
            if subject in SUBJECTS and record["device"] == b"watch":
                times, acceleration = cut(record["time_ms"], record["sequence"], record["activity"])
                rows = (
                    ",".join([str(time), *(f"{value:.4f}" for value in row)])
                    for time, row in zip(times, acceleration, strict=True)
                )
                path = FOLDER / subject / f"{int(record['run']):02d}.csv"
                path.parent.mkdir(parents=True, exist_ok=True)
                _files.write_text(path, "\n".join([HEADER, *rows]) + "\n")


if __name__ == "__main__":
    typer.run(main)
