"""What the encoders of images share: their input and their end."""

import numbers

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras

CHANNELS_OF_PICTURES = (1, 3, 4)  # gray, RGB, with transparency; maps of features have others


def are_pictures(shape):
    """Whether inputs of a shape, without the batch, are pictures, which lie in [0, 1]."""
    return len(shape) == 3 and shape[-1] in CHANNELS_OF_PICTURES


def image_input(input_shape, least, channels=None):
    """The input of a model of images.

    Args:
        input_shape: `(height, width, channels)`, all known.
        least: The smallest height and width, in pixels, that the network's strides leave anything
            of.
        channels: The only number of channels there may be; None: any.

    Raises:
        ValueError: If the shape is another one.
    """
    shape = tuple(input_shape)
    known = len(shape) == 3 and all(isinstance(n, numbers.Integral) and n > 0 for n in shape)
    if not known or min(shape[:2]) < least or channels not in (None, shape[2]):
        raise ValueError(
            f"`input_shape` must be (height, width, {channels or 'channels'}), with at least "
            f"{least} by {least} pixels. Received input_shape={shape}. Without the batch axis; a "
            "gray image has one channel, the last axis."
        )
    return keras.Input(shape, name="image")


def embedding_of(features, units):
    """The features themselves, or a linear layer of `units` on them."""
    if units is None:
        return features
    return keras.layers.Dense(units, name="embedding")(features)


def check_images(images, shape):
    """Refuses what is no image of a model's size, before it is taken for one; maps of features,
    which have other numbers of channels, may hold any number.

    Args:
        images: Images, an array or a list.
        shape: `(height, width, channels)`; None is any number.

    Raises:
        ValueError: If one has another size, holds no floats, or leaves [0, 1], or a map is not
            finite; the message names its place.
    """
    if isinstance(images, np.ndarray) and _are_images(real("`x`", images), shape):
        return
    for place, image in enumerate(images):
        image = real(f"Image {place}", image)
        if not _fits(image.shape, shape):
            raise ValueError(
                f"Image {place} must have shape ({', '.join(map(str, shape))}). Received shape "
                f"{image.shape}. Resize it, for example by `keras.ops.image.resize`; a single "
                "image goes in as a list of one."
            )
        if not are_pictures(shape):
            if not np.isfinite(image).all():
                raise ValueError(f"Map {place} holds NaN or infinity; leave it out.")
            continue
        if not np.issubdtype(image.dtype, np.floating):
            raise ValueError(
                f"Image {place} must hold floats in [0, 1]. Received dtype {image.dtype}. Bytes "
                'become such floats by `(image / 255).astype("float32")`.'
            )
        if not _in_range(image):
            raise ValueError(
                f"Image {place} must hold floats in [0, 1]. Received values from "
                f"{image.min():.3g} to {image.max():.3g}. Divide bytes by 255; the model "
                "standardizes by itself."
            )


def _are_images(images, shape):
    floats = np.issubdtype(images.dtype, np.floating)
    return floats and _fits(images.shape[1:], shape) and len(images) and _in_range(images)


def _fits(found, shape):
    same_rank = len(found) == len(shape)
    return same_rank and all(n in (None, m) for m, n in zip(found, shape, strict=True))


def _in_range(images):
    return images.min() >= 0 and images.max() <= 1  # of NaN neither holds
