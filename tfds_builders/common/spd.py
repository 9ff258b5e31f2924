"""Covariance matrices of recordings, in double precision."""

from __future__ import annotations

import numpy as np

from tfds_builders.common.errors import FormatError

JITTER = 1e-6


def covariance(sequence: np.ndarray, jitter: float, *, name: str) -> np.ndarray:
    """Returns the sample covariance of the channels, made positive definite.

    Args:
        sequence: (T, C) signal.
        jitter: Amount added to the diagonal, as a fraction of the mean variance; matrices of fewer
            than C + 1 steps, or of channels that depend on each other, are singular without it.
        name: Name of the recording, for errors.

    Returns:
        (C, C) float64, symmetric, in squared units of the signal.

    Raises:
        FormatError: When there is one step, or nothing varies.
    """
    centered = sequence - np.mean(sequence, axis=0, dtype=np.float64)  # (T, C)
    matrix = centered.T @ centered / max(1, len(sequence) - 1)
    variance = np.trace(matrix) / len(matrix)
    if not variance > 0:
        raise FormatError(
            name, "", f"{len(sequence)} steps in which nothing varies", "a signal with a variance",
            "Leave the recording out.",
        )  # fmt: skip
    return (matrix + matrix.T) / 2 + jitter * variance * np.eye(len(matrix))
