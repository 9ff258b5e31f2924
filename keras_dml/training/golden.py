"""Generates synthetic inputs for golden files, so that golden files contain no personal data."""

from collections.abc import Sequence

import numpy as np

from keras_dml._typing import ArrayLike


def synthetic_recordings(
    channels: int, lengths: Sequence[int], scale: ArrayLike, seed: int = 0
) -> list[np.ndarray]:
    """Generates smooth noise with the standard deviation of a sensor's channels.

    Args:
        channels: Number of channels.
        lengths: Number of steps of each recording.
        scale: Standard deviation of the channels, a number or an array of shape `(channels,)`.
        seed: Seed of the random numbers.

    Returns:
        List of arrays `(length, channels)`, float32.
    """
    rng = np.random.default_rng(seed)
    smooth = np.hanning(9) / np.linalg.norm(np.hanning(9))
    recordings = []
    for length in lengths:
        white = rng.normal(size=(length + 8, channels))
        recordings.append(
            np.apply_along_axis(np.convolve, 0, white, smooth, "valid").astype(np.float32)
            * np.float32(scale)
        )
    return recordings


def synthetic_images(
    count: int = 2, side: int = 28, channels: int = 1, seed: int = 0
) -> list[np.ndarray]:
    """Generates images that consist of uniform squares.

    Args:
        count: Number of images.
        side: Number of pixels per side, a multiple of 4.
        channels: Number of channels.
        seed: Seed of the random numbers.

    Returns:
        List of arrays `(side, side, channels)`, float32 in [0, 1].
    """
    rng = np.random.default_rng(seed)
    coarse = rng.random((count, side // 4, side // 4, channels))
    return list(coarse.repeat(4, axis=1).repeat(4, axis=2).astype(np.float32))
