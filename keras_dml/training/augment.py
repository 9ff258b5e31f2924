"""Augments batches of recordings `(rows, time, channels)`.

Some functions simulate the variation between two recordings of a person. Other functions of this
module simulate additional people.
"""

from collections.abc import Sequence

import numpy as np

from keras_dml._typing import ArrayLike


def rotate(
    batch: np.ndarray, rng: np.random.Generator, degrees: float, triplets: Sequence[int]
) -> np.ndarray:
    """Rotates the signals of each row by a random angle about a random axis.

    Args:
        batch: Signals, shape `(rows, time, channels)`.
        rng: `numpy.random.Generator`.
        degrees: Largest angle in degrees.
        triplets: Index of the first channel of each x, y, z triplet.
    """
    axis = rng.normal(size=(len(batch), 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    angle = np.deg2rad(rng.uniform(-degrees, degrees, len(batch)))[:, None, None]
    cross = np.zeros((len(batch), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        cross[:, i, j], cross[:, j, i] = -axis[:, k], axis[:, k]
    turn = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross  # Rodrigues
    turned = batch.astype(np.float64)
    for first in triplets:
        turned[..., first : first + 3] = turned[..., first : first + 3] @ turn.transpose(0, 2, 1)
    return turned


def scale(batch: np.ndarray, rng: np.random.Generator, fraction: float) -> np.ndarray:
    """Multiplies each channel of each row by a random gain in [1 - fraction, 1 + fraction]."""
    return batch * rng.uniform(1 - fraction, 1 + fraction, (len(batch), 1, batch.shape[-1]))


def add_noise(batch: np.ndarray, rng: np.random.Generator, stddev: ArrayLike) -> np.ndarray:
    """Adds white noise.

    The standard deviation `stddev` is a number or an array `(channels,)`, in the units of the
    channels.
    """
    return batch + rng.normal(size=batch.shape) * stddev


def mix_channels(
    batch: np.ndarray, rng: np.random.Generator, size: float, together: float = 0.0
) -> np.ndarray:
    """Mixes the channels of the two recordings of each pair by the same random matrix.

    The mixing simulates another head or another sensor. Every pair becomes an additional person, so
    an encoder overfits less if the training set has few people. If one matrix mixes all pairs of a
    batch, the encoder cannot distinguish the pairs by their mixing, so the task is harder.

    Args:
        batch: Pairs in neighboring rows, shape `(2 * number of pairs, time, channels)`.
        rng: `numpy.random.Generator`.
        size: Standard deviation of the random change that is added to the identity matrix. If
            `size` is 0, the channels do not change.
        together: Probability that one matrix mixes the whole batch.
    """
    channels = batch.shape[-1]
    mixings = 1 if rng.random() < together else len(batch) // 2
    change = rng.normal(size=(mixings, channels, channels)) / np.sqrt(channels)
    mixing = np.repeat(np.eye(channels) + size * change, len(batch) // mixings, axis=0)
    return batch @ mixing.transpose(0, 2, 1)


def filter_pairs(
    batch: np.ndarray, rng: np.random.Generator, size: float, taps: int = 5
) -> np.ndarray:
    """Filters all channels of the two recordings of each pair by the same random filter.

    The filter simulates another walker, or another way to carry the sensor. The filter does not
    change the means of the channels, which contain gravity. The filter also commutes with rotations
    of the sensor.

    Args:
        batch: Pairs in neighboring rows, shape `(2 * number of pairs, time, channels)`.
        rng: `numpy.random.Generator`.
        size: Standard deviation of the random changes of the filter taps. If `size` is 0, the
            signals do not change.
        taps: Length of the filter in steps, an odd number.
    """
    change = rng.normal(size=(len(batch) // 2, taps)) * size
    weights = np.repeat(change - change.mean(axis=1, keepdims=True), 2, axis=0)
    weights[:, taps // 2] += 1
    padded = np.pad(batch, [(0, 0), (taps // 2, taps // 2), (0, 0)], mode="edge")
    time = batch.shape[1]
    parts = (weights[:, i, None, None] * padded[:, i : i + time] for i in range(taps))
    return sum(parts)
