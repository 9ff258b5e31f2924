"""Resampling of recordings with uneven time stamps to even times."""

from __future__ import annotations

import numpy as np


def uniform_parts(
    time_ms: np.ndarray, sequence: np.ndarray, *, step_ms: int, longest_gap_ms: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divides a recording at its gaps, and interpolates each part linearly at even times.

    Samples with equal times are replaced by their mean.

    Args:
        time_ms: (T,) times in milliseconds that do not decrease.
        sequence: (T, channels) samples.
        step_ms: Milliseconds from one time to the next: 20 for 50 Hz.
        longest_gap_ms: Longest time between two samples of a part, in milliseconds. Longer gaps
            are not interpolated.

    Returns:
        Times (N,) int64 and samples (N, channels) float32 of each part, in order. The times of a
        part begin with that of its first sample and end within a step of its last.
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
