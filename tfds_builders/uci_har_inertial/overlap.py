"""Functions that recover continuous recordings from windows, if each window shares half of its
samples with the next window.
"""

from __future__ import annotations

import numpy as np


def runs(sequence: np.ndarray, *owners: np.ndarray) -> list[np.ndarray]:
    """Finds runs of windows that follow one another in the same recording.

    Args:
        sequence: Windows in the order of the file, shape (windows, time, channels).
        owners: Arrays of shape (windows,) with properties of the windows, such as person and
            activity. The windows of a run do not differ in these properties.

    Returns:
        The indices of the windows of each run, in order. In a run, the second half of each window
        equals the first half of the next window in all channels.
    """
    half = sequence.shape[1] // 2
    follows = (sequence[1:, :half] == sequence[:-1, half:]).all(axis=(1, 2))  # (windows - 1,)
    for owner in owners:
        follows &= owner[1:] == owner[:-1]
    return np.split(np.arange(len(sequence)), np.flatnonzero(~follows) + 1)


def joined(windows: np.ndarray) -> np.ndarray:
    """Joins the windows of a run into one recording, in which each sample occurs once.

    Args:
        windows: At least one window, shape (windows, time, channels).

    Returns:
        Samples of shape (time / 2 * (windows + 1), channels).
    """
    half = windows.shape[1] // 2
    return np.concatenate([windows[0], *windows[1:, half:]])
