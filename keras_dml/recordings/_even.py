"""A recording at even steps of another rate."""

import dataclasses
import math

import numpy as np
import scipy.signal

from keras_dml.recordings import _times

FINEST = 2  # times the rate that it was recorded at: a line between two samples says no more


def resampled(recording, seconds, rate_hz):
    """A recording at a wanted rate: linear between its steps, low-passed first where it has more.

    Args:
        recording: `Recording`.
        seconds: Time of each step from the first, rising; None: by its rate.
        rate_hz: The rate wanted.

    Raises:
        ValueError: If it does not say when its steps are, or has too few for the rate.
    """
    found, path = recording.rate_hz, recording.path
    if found is None:
        raise ValueError(
            f"{path} does not say when its steps are, and cannot be resampled. Give `rate_hz`, the "
            "steps a second of the file, or write a column of times."
        )
    if rate_hz > FINEST * found:
        raise ValueError(
            f"{path} has {found:.6g} Hz, of which no {rate_hz:g} Hz can be made: at most {FINEST} "
            "times as many. Record it faster."
        )
    if rate_hz * len(recording.values) < found:
        raise ValueError(
            f"{path} has {found:.6g} Hz and lasts {len(recording.values) / found:.3g} s, less than "
            f"a step at {rate_hz:g} Hz. If its times are in another unit than it says, mend that."
        )
    if seconds is None:
        seconds = np.arange(len(recording.values)) / found
    finer = 1 if _times.is_same_rate(found, rate_hz) else math.ceil(found / rate_hz)
    values = _linear(recording.values, seconds, finer * rate_hz)
    if finer > 1:
        values = scipy.signal.resample_poly(values, 1, finer, axis=0, padtype="line")
    return dataclasses.replace(recording, values=values.astype(np.float32), rate_hz=rate_hz)


def _linear(values, seconds, rate_hz):
    steps = math.floor(seconds[-1] * rate_hz + 1e-6) + 1  # the last may lie on the end
    grid = np.arange(steps) / rate_hz
    return np.stack([np.interp(grid, seconds, column) for column in values.T], axis=1)
