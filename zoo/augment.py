"""What may differ between two recordings of one person, or two pictures of one kind: changes of a
batch `(rows, time, channels)` or `(rows, height, width, channels)` for training."""

import numpy as np
from PIL import Image

LUMA = np.array([0.299, 0.587, 0.114])  # of red, green and blue in a gray image (ITU-R BT.601)


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


def add_noise(batch, rng, stddev):
    """Adds white noise; `stddev` in the channels' units, a number or shape `(channels,)`."""
    return batch + rng.normal(size=batch.shape) * stddev


def mix_channels(batch, rng, share, together=0.0):
    """Mixes the channels of both rows of a pair alike: another head, or another sensor, for the
    pair.

    Every pair becomes a person that nobody has recorded, which keeps an encoder from learning the
    few people by heart. Where all pairs of a batch are mixed alike, the mixing itself tells nobody
    apart: the harder task.

    Args:
        batch: Pairs in neighboring rows, shape `(2 pairs, time, channels)`.
        rng: `numpy.random.Generator`.
        share: Size of the change; 0 is none.
        together: Probability that one mixing serves the whole batch.
    """
    channels = batch.shape[-1]
    mixings = 1 if rng.random() < together else len(batch) // 2
    change = rng.normal(size=(mixings, channels, channels)) / np.sqrt(channels)
    mixing = np.repeat(np.eye(channels) + share * change, len(batch) // mixings, axis=0)
    return batch @ mixing.transpose(0, 2, 1)


def shift_pixels(images, rng, most):
    """Images moved by up to `most` pixels along both axes, zeros moving in.

    Args:
        images: Shape `(rows, height, width, channels)`.
        rng: `numpy.random.Generator`.
        most: Greatest shift, pixels.
    """
    height, width = images.shape[1:3]
    padded = np.pad(images, [(0, 0), (most, most), (most, most), (0, 0)])
    rows, columns = rng.integers(0, 2 * most + 1, size=(2, len(images)))
    return np.stack(
        [
            image[row : row + height, column : column + width]
            for image, row, column in zip(padded, rows, columns, strict=True)
        ]
    )


def mirror(images, rng):
    """Images, every other one by chance turned left to right.

    Args:
        images: Shape `(rows, height, width, channels)`.
        rng: `numpy.random.Generator`.
    """
    turned = rng.random((len(images), 1, 1, 1)) < 0.5
    return np.where(turned, images[:, :, ::-1], images)


def crop(images, rng, side, least):
    """A random square part of each image, resized to `side` by `side` pixels (bilinear).

    Args:
        images: Shape `(rows, height, width, 3)`, uint8.
        rng: `numpy.random.Generator`.
        side: Pixels a side of what comes out.
        least: Smallest area of the part, as a share of the largest square; up to 1.
    """
    largest = min(images.shape[1:3])
    extent = largest * np.sqrt(rng.uniform(least, 1, len(images)))
    places = (np.array(images.shape[2:0:-1]) - extent[:, None]) * rng.random((len(images), 2))
    return np.stack(
        [
            np.asarray(
                Image.fromarray(image).resize(
                    (side, side),
                    Image.Resampling.BILINEAR,
                    box=(left, top, left + size, top + size),
                )
            )
            for image, (left, top), size in zip(images, places, extent, strict=True)
        ]
    )


def recolor(images, rng, share, gray=0.0):
    """Changes brightness, contrast and saturation by up to the share, for each image anew.

    Args:
        images: Shape `(rows, height, width, 3)`, RGB in [0, 1].
        rng: `numpy.random.Generator`.
        share: Greatest change of each of the three.
        gray: Probability that an image loses its colors.
    """
    brightness, contrast, saturation = rng.uniform(1 - share, 1 + share, (3, len(images), 1, 1, 1))
    saturation = np.where(rng.random(saturation.shape) < gray, 0, saturation)
    images = images * brightness
    middle = images.mean(axis=(1, 2, 3), keepdims=True)
    images = middle + contrast * (images - middle)
    lightness = (images @ LUMA)[..., None]
    return np.clip(lightness + saturation * (images - lightness), 0, 1).astype(np.float32)
