"""Augmentation of batches of recordings `(rows, time, channels)`: what differs between two
recordings of a person, and people whom nobody has recorded."""

import numpy as np


def rotate(batch, rng, degrees, triplets):
    """Turns the sensor by a random angle about a random axis, for each row again.

    Args:
        batch: Signals, shape `(rows, time, channels)`.
        rng: `numpy.random.Generator`.
        degrees: Largest angle.
        triplets: First channel of each x, y, z triplet of the sensor.
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


def scale(batch, rng, fraction):
    """Changes the gain of every channel by up to a fraction, for each row again."""
    return batch * rng.uniform(1 - fraction, 1 + fraction, (len(batch), 1, batch.shape[-1]))


def add_noise(batch, rng, stddev):
    """Adds white noise; `stddev` in the channels' units, a number or shape `(channels,)`."""
    return batch + rng.normal(size=batch.shape) * stddev


def mix_channels(batch, rng, size, together=0.0):
    """Mixes the channels of both rows of a pair in the same way: another head, or another sensor,
    for the pair.

    Every pair becomes a person that nobody has recorded, which keeps an encoder from learning the
    few people by heart. Where all pairs of a batch are mixed in the same way, the mixing itself
    tells nobody apart: the harder task.

    Args:
        batch: Pairs in neighboring rows, shape `(2 pairs, time, channels)`.
        rng: `numpy.random.Generator`.
        size: Size of the change; 0 is none.
        together: Probability that one mixing serves the whole batch.
    """
    channels = batch.shape[-1]
    mixings = 1 if rng.random() < together else len(batch) // 2
    change = rng.normal(size=(mixings, channels, channels)) / np.sqrt(channels)
    mixing = np.repeat(np.eye(channels) + size * change, len(batch) // mixings, axis=0)
    return batch @ mixing.transpose(0, 2, 1)


def filter_pairs(batch, rng, size, taps=5):
    """Both rows of a pair through one random filter, whichever channel: another walker, or another
    way that a sensor is carried, for the pair. Means stay, and so does gravity; a rotation of the
    sensor before it is the same rotation after it.

    Args:
        batch: Pairs in neighboring rows, shape `(2 pairs, time, channels)`.
        rng: `numpy.random.Generator`.
        size: Standard deviation of the changes of the taps; 0 is none.
        taps: Steps that a filter sees, an odd number.
    """
    change = rng.normal(size=(len(batch) // 2, taps)) * size
    weights = np.repeat(change - change.mean(axis=1, keepdims=True), 2, axis=0)
    weights[:, taps // 2] += 1
    padded = np.pad(batch, [(0, 0), (taps // 2, taps // 2), (0, 0)], mode="edge")
    time = batch.shape[1]
    parts = (weights[:, i, None, None] * padded[:, i : i + time] for i in range(taps))
    return sum(parts)
