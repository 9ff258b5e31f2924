"""What may differ between two recordings of one person: changes of a batch `(rows, time, channels)`
for training."""

import numpy as np


def rotate(batch, rng, degrees, triplets):
    """Turns the sensor by a random angle about a random axis, for each row anew.

    Args:
        batch: Signals, shape `(rows, time, channels)`.
        rng: `numpy.random.Generator`.
        degrees: Greatest angle.
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


def scale(batch, rng, share):
    """Changes the gain of every channel by up to the share, for each row anew."""
    return batch * rng.uniform(1 - share, 1 + share, (len(batch), 1, batch.shape[-1]))


def add_noise(batch, rng, deviation):
    """Adds white noise; `deviation` in the channels' units, a number or shape `(channels,)`."""
    return batch + rng.normal(size=batch.shape) * deviation


def mix_channels(batch, rng, share, together=0.0):
    """Mixes the channels of both rows of a pair alike: another head, or another sensor, for the
    pair.

    Every pair becomes a person that nobody has recorded, which keeps an encoder from learning the
    few people by heart. Where all pairs of a batch are mixed alike, the mixing itself tells nobody
    apart: the harder task.

    Args:
        batch: Pairs in neighbouring rows, shape `(2 pairs, time, channels)`.
        rng: `numpy.random.Generator`.
        share: Size of the change; 0 is none.
        together: Probability that one mixing serves the whole batch.
    """
    channels = batch.shape[-1]
    mixings = 1 if rng.random() < together else len(batch) // 2
    change = rng.normal(size=(mixings, channels, channels)) / np.sqrt(channels)
    mixing = np.repeat(np.eye(channels) + share * change, len(batch) // mixings, axis=0)
    return batch @ mixing.transpose(0, 2, 1)
