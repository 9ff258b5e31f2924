"""Function that resamples recordings with uneven time stamps to evenly spaced times."""

from __future__ import annotations

import numpy as np


def uniform_parts(
    time_ms: np.ndarray, sequence: np.ndarray, *, step_ms: int, longest_gap_ms: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divides a recording at its gaps, and interpolates each part linearly at evenly spaced times.

    If several samples have the same time, they are replaced by their mean.

    Args:
        time_ms: Times in milliseconds, shape (T,). Times must not decrease.
        sequence: (T, channels) samples.
        step_ms: Milliseconds between two resampled times, for example 20 for 50 Hz.
        longest_gap_ms: Longest allowed time between two neighboring samples of a part, in
            milliseconds. If the time between two samples is longer, the function divides the
            recording there.

    Returns:
        Times (N,) int64 and samples (N, channels) float32 of each part, in order. In each part, the
        first time is the time of the first sample. The time from the last resampled time to the
        last sample is less than one step.
    """
    times, first, counts = np.unique(time_ms, return_index=True, return_counts=True)
    values = np.add.reduceat(sequence, first, axis=0, dtype=np.float64) / counts[:, None]
    borders = np.flatnonzero(np.diff(times) > longest_gap_ms) + 1
    parts = zip(np.split(times, borders), np.split(values, borders), strict=True)
    return [_uniform(*part, step_ms) for part in parts]


def _uniform(times: np.ndarray, values: np.ndarray, step_ms: int) -> tuple[np.ndarray, np.ndarray]:
    grid = np.arange(times[0], times[-1] + 1, step_ms)  # (N,)
    columns = [np.interp(grid, times, column) for column in values.T]
    return grid, np.stack(columns, axis=1).astype(np.float32)  # (N, channels)
