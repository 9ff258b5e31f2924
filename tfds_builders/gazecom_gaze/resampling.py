"""Function that resamples the recordings of GazeCom, whose samples are 1 to 100 ms apart, to evenly
spaced times.
"""

from __future__ import annotations

import numpy as np

STEP_US = 4_000  # 250 Hz
LONGEST_GAP_US = 20_000


def uniform(
    time_us: np.ndarray, sequence: np.ndarray, confidence: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Resamples gaze to 250 Hz by linear interpolation between neighboring samples.

    A new value is NaN if one of its two neighboring samples has confidence 0. The value is also NaN
    if the neighboring samples are more than 20 ms apart, as in a blink. If a new time equals the
    time of a sample, the new value is this sample.

    Args:
        time_us: Increasing times in microseconds, shape (T,).
        sequence: Positions in pixels, shape (T, 2).
        confidence: 1 if the tracker saw the eye, else 0, shape (T,).

    Returns:
        Evenly spaced times in microseconds, shape (N,) int64, and positions, shape (N, 2) float32.
        The first time is the time of the first sample. The last time is at most the time of the
        last sample.

    >>> time_us, gaze = np.array([0, 5_000, 10_000]), np.array([[0, 0], [10, 5], [20, 10]])
    >>> grid_us, positions = uniform(time_us, gaze, np.array([1, 1, 0]))
    >>> grid_us.tolist(), positions.tolist()
    ([0, 4000, 8000], [[0.0, 0.0], [8.0, 4.0], [nan, nan]])
    """
    grid_us = np.arange(time_us[0], time_us[-1] + 1, STEP_US)  # (N,)
    left = np.searchsorted(time_us, grid_us, side="right") - 1
    hit = time_us[left] == grid_us
    right = np.where(hit, left, np.minimum(left + 1, len(time_us) - 1))
    gap_us = time_us[right] - time_us[left]
    weight = (grid_us - time_us[left]) / np.maximum(gap_us, 1)
    between = sequence[left] + weight[:, None] * (sequence[right] - sequence[left])  # (N, 2)
    seen = (confidence[left] == 1) & (confidence[right] == 1) & (gap_us <= LONGEST_GAP_US)
    return grid_us, np.where(seen[:, None], between, np.nan).astype(np.float32)
