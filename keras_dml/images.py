"""Checks that inputs are valid images."""

import numpy as np

from keras_dml._arrays import real
from keras_dml._typing import ArrayLike

IMAGE_CHANNELS = (1, 3, 4)  # gray, RGB, RGB with transparency


def are_images(shape: tuple[int | None, ...]) -> bool:
    """Returns True if inputs of the given shape are images with values from 0 to 1. The shape has
    no batch axis."""
    return len(shape) == 3 and shape[-1] in IMAGE_CHANNELS


def check_images(images: ArrayLike, shape: tuple[int | None, ...]) -> None:
    """Checks that images have the size that a model accepts, and hold floats in [0, 1].

    Inputs with 1, 3 or 4 channels are images. Inputs with another number of channels are feature
    maps, which may hold any finite numbers.

    Args:
        images: Images, an array or a list.
        shape: Required shape `(height, width, channels)`. An entry None stands for any size.

    Raises:
        ValueError: If an image has another size, if its dtype is not float, if it holds values
            outside [0, 1], or if a feature map is not finite. The error message contains the index
            of the input.
    """
    if isinstance(images, np.ndarray) and _all_fit(real("`x`", images), shape):
        return
    for i, image in enumerate(images):
        image = real(f"Image {i}", image)
        if not _fits(image.shape, shape):
            raise ValueError(
                f"Image {i} must have shape ({', '.join(map(str, shape))}). Received shape "
                f"{image.shape}. Resize the image, for example by `keras.ops.image.resize`. Pass a "
                "single image as a list with one element."
            )
        if not are_images(shape):
            if not np.isfinite(image).all():
                raise ValueError(f"Feature map {i} holds NaN or infinity. Leave it out.")
            continue
        if not np.issubdtype(image.dtype, np.floating):
            raise ValueError(
                f"Image {i} must hold floats in [0, 1]. Received dtype {image.dtype}. Convert "
                'bytes by `(image / 255).astype("float32")`.'
            )
        if not _in_range(image):
            raise ValueError(
                f"Image {i} must hold floats in [0, 1]. Received values from {image.min():.3g} to "
                f"{image.max():.3g}. Divide bytes by 255. The model standardizes images itself."
            )


def _all_fit(images, shape):
    floats = np.issubdtype(images.dtype, np.floating)
    return floats and _fits(images.shape[1:], shape) and len(images) and _in_range(images)


def _fits(shape, expected):
    return len(shape) == len(expected) and all(
        size in (None, received) for received, size in zip(shape, expected, strict=True)
    )


def _in_range(images):
    return images.min() >= 0 and images.max() <= 1  # both are False for NaN
