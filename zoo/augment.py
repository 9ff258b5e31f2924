"""Augments batches of images, which have shape `(rows, height, width, channels)`. The augmentation
of recordings is in `keras_dml.training.augment`.
"""

import numpy as np
from PIL import Image

from keras_dml.training.augment import (  # noqa: F401  for recipes
    add_noise,
    filter_pairs,
    mix_channels,
    rotate,
    scale,
)

LUMA = np.array([0.299, 0.587, 0.114])  # of red, green and blue in a gray image (ITU-R BT.601)


def shift_pixels(images, rng, limit):
    """Shifts images by up to `limit` pixels along both axes, and fills the border with zeros.

    Args:
        images: Shape `(rows, height, width, channels)`.
        rng: `numpy.random.Generator`.
        limit: Largest shift in pixels.
    """
    height, width = images.shape[1:3]
    padded = np.pad(images, [(0, 0), (limit, limit), (limit, limit), (0, 0)])
    rows, columns = rng.integers(0, 2 * limit + 1, size=(2, len(images)))
    return np.stack(
        [
            image[row : row + height, column : column + width]
            for image, row, column in zip(padded, rows, columns, strict=True)
        ]
    )


def mirror(images, rng):
    """Mirrors each image from left to right with probability 1/2.

    Args:
        images: Shape `(rows, height, width, channels)`.
        rng: `numpy.random.Generator`.
    """
    turned = rng.random((len(images), 1, 1, 1)) < 0.5
    return np.where(turned, images[:, :, ::-1], images)


def erase(images, rng, side):
    """Replaces a square around a random pixel of each image by gray (Cutout, DeVries2017). The
    square may extend beyond the border.

    Args:
        images: Shape `(rows, height, width, channels)`, in [0, 1].
        rng: `numpy.random.Generator`.
        side: Pixels per side of the square.
    """
    height, width = images.shape[1:3]
    centers = rng.integers(0, (height, width), size=(len(images), 2))
    rows, columns = (
        (np.arange(extent) - centers[:, axis, None] + side // 2) // side == 0
        for axis, extent in enumerate((height, width))
    )
    lost = rows[:, :, None, None] & columns[:, None, :, None]
    return np.where(lost, np.float32(0.5), images)


def crop(images, rng, side, min_area):
    """Crops a random square of each image and resizes it to `side` by `side` pixels (bilinear).

    Args:
        images: Shape `(rows, height, width, 3)`, uint8.
        rng: `numpy.random.Generator`.
        side: Pixels per side of the output.
        min_area: Smallest area of the square, as a fraction of the largest possible square.
    """
    largest = min(images.shape[1:3])
    extent = largest * np.sqrt(rng.uniform(min_area, 1, len(images)))
    corners = (np.array(images.shape[2:0:-1]) - extent[:, None]) * rng.random((len(images), 2))
    return np.stack(
        [
            np.asarray(
                Image.fromarray(image).resize(
                    (side, side),
                    Image.Resampling.BILINEAR,
                    box=(left, top, left + size, top + size),
                )
            )
            for image, (left, top), size in zip(images, corners, extent, strict=True)
        ]
    )


def recolor(images, rng, fraction, gray=0.0):
    """Changes brightness, contrast and saturation of each image by a random factor.

    Args:
        images: Shape `(rows, height, width, 3)`, RGB in [0, 1].
        rng: `numpy.random.Generator`.
        fraction: Largest change of brightness, contrast and saturation, as a fraction.
        gray: Probability that an image loses its colors.
    """
    brightness, contrast, saturation = rng.uniform(
        1 - fraction, 1 + fraction, (3, len(images), 1, 1, 1)
    )
    saturation = np.where(rng.random(saturation.shape) < gray, 0, saturation)
    images = images * brightness
    middle = images.mean(axis=(1, 2, 3), keepdims=True)
    images = middle + contrast * (images - middle)
    lightness = (images @ LUMA)[..., None]
    return np.clip(lightness + saturation * (images - lightness), 0, 1).astype(np.float32)


def distort(drawings, rng, *, turn, stretch, shear, shift):
    """Rotates, stretches, shears and shifts each drawing at random, and fills the border with
    zeros.

    Args:
        drawings: Shape `(rows, size, size, 1)`, float32.
        rng: `numpy.random.Generator`.
        turn: Largest angle of rotation in radians.
        stretch: Largest change of an axis's scale, as a fraction.
        shear: Largest shear.
        shift: Largest shift along each axis in pixels.
    """
    center = (drawings.shape[1] - 1) / 2
    moved = []
    for drawing in drawings[..., 0]:
        angle = rng.uniform(-turn, turn)
        turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        stretched = np.diag(rng.uniform(1 - stretch, 1 + stretch, 2))
        stretched[0, 1] = rng.uniform(-shear, shear)
        matrix = turned @ stretched
        offset = center + rng.uniform(-shift, shift, 2) - matrix @ [center, center]
        moved.append(_affine(drawing, matrix, offset))
    return np.stack(moved)[..., None]


def _affine(drawing, matrix, offset):
    image = Image.fromarray(drawing)
    numbers = (*matrix[0], offset[0], *matrix[1], offset[1])
    return np.asarray(
        image.transform(
            image.size, Image.Transform.AFFINE, numbers, resample=Image.Resampling.BILINEAR
        )
    )
