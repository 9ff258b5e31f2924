"""Input and output of the encoders of images."""

import numbers

from keras_dml._backend import keras


def image_input(input_shape, min_size, channels=None):
    """The input of a model of images.

    Args:
        input_shape: `(height, width, channels)`, all known.
        min_size: Smallest height and width, in pixels, that the network's strides reduce to one
            pixel or more.
        channels: The only number of channels allowed; None: any.

    Raises:
        ValueError: If the shape is impossible.
    """
    shape = tuple(input_shape)
    known = len(shape) == 3 and all(isinstance(n, numbers.Integral) and n > 0 for n in shape)
    if not known or min(shape[:2]) < min_size or channels not in (None, shape[2]):
        raise ValueError(
            f"`input_shape` must be (height, width, {channels or 'channels'}), with at least "
            f"{min_size} by {min_size} pixels. Received input_shape={shape}. Without the batch "
            "axis; a gray image has one channel, the last axis."
        )
    return keras.Input(shape, name="image")


def embedding_of(features, units):
    """The features themselves, or a linear layer of `units` on them."""
    if units is None:
        return features
    return keras.layers.Dense(units, name="embedding")(features)
