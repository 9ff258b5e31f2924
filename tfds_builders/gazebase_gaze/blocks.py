"""Function that downsamples gaze by averaging the samples in short blocks of time."""

from __future__ import annotations

import numpy as np


def block_means(
    time_ms: np.ndarray, sequence: np.ndarray, valid: np.ndarray, step_ms: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the mean of the valid samples in each block of time.

    Args:
        time_ms: Increasing times in milliseconds, shape (T,).
        sequence: Samples of shape (T, channels). Invalid samples are ignored.
        valid: 1 for a valid sample, 0 for an invalid sample, shape (T,).
        step_ms: Length of a block in milliseconds. Each block begins at a multiple of `step_ms`.

    Returns:
        Tuple of three arrays. The first array, shape (N,) int32, has the start times of all blocks
        from the block of the first sample to the block of the last sample. The second array, shape
        (N, channels) float32, has the means of the blocks. The mean is NaN for a block without
        valid samples. The last array, shape (N,) uint8, is 1 for blocks with a valid sample and 0
        for all other blocks.

    >>> time_ms, gaze = np.array([8, 9, 10, 31]), np.array([[1.0], [3], [9], [5]])
    >>> starts_ms, means, valid = block_means(time_ms, gaze, np.array([1, 1, 0, 1]), 10)
    >>> starts_ms.tolist(), means[:, 0].tolist(), valid.tolist()
    ([0, 10, 20, 30], [2.0, nan, nan, 5.0], [1, 0, 0, 1])
    """
    block = time_ms // step_ms - time_ms[0] // step_ms  # (T,)
    seen = valid == 1
    count = np.bincount(block[seen], minlength=block[-1] + 1)  # (N,)
    sums = [
        np.bincount(block[seen], weights=channel[seen], minlength=len(count))
        for channel in sequence.T
    ]
    means = np.stack(sums, axis=1) / np.maximum(count, 1)[:, None]  # (N, channels)
    means[count == 0] = np.nan
    starts_ms = (np.arange(len(count)) + time_ms[0] // step_ms) * step_ms
    return starts_ms.astype(np.int32), means.astype(np.float32), (count > 0).astype(np.uint8)
