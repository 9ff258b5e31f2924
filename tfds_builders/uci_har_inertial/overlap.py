"""Recovery of recordings from windows that overlap by half."""

from __future__ import annotations

import numpy as np


def runs(sequence: np.ndarray, *owners: np.ndarray) -> list[np.ndarray]:
    """Finds windows that follow one another in one recording.

    Args:
        sequence: (windows, time, channels) in the order of the file.
        owners: Properties that all windows of a run share, (windows,) each: person, activity.

    Returns:
        The places of the windows of each run, in order. Of two neighbors in a run, the second half
        of the one is the first half of the other, in every value of every channel.
    """
    half = sequence.shape[1] // 2
    follows = (sequence[1:, :half] == sequence[:-1, half:]).all(axis=(1, 2))  # (windows - 1,)
    for owner in owners:
        follows &= owner[1:] == owner[:-1]
    return np.split(np.arange(len(sequence)), np.flatnonzero(~follows) + 1)


def joined(windows: np.ndarray) -> np.ndarray:
    """Joins the windows of a run, each sample once.

    Args:
        windows: (windows, time, channels), at least one.

    Returns:
        (time / 2 * (windows + 1), channels) samples.
    """
    half = windows.shape[1] // 2
    return np.concatenate([windows[0], *windows[1:, half:]])
