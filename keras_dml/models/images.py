"""Provides functions that make the input, the convolutions and the embedding layer of image
encoders.
"""

import numbers

from keras_dml._backend import keras


def image_input(
    input_shape: tuple[int, int, int], min_size: int, channels: int | None = None
) -> keras.KerasTensor:
    """Returns the symbolic input of an image encoder.

    Args:
        input_shape: Shape of an image, `(height, width, channels)`. No entry may be None.
        min_size: Smallest allowed height and width, in pixels.
        channels: Required number of channels. By default, any number of channels is allowed.

    Raises:
        ValueError: If the shape is invalid.
    """
    shape = tuple(input_shape)
    is_valid = len(shape) == 3 and all(isinstance(n, numbers.Integral) and n > 0 for n in shape)
    if not is_valid or min(shape[:2]) < min_size or channels not in (None, shape[2]):
        raise ValueError(
            f"`input_shape` must be (height, width, {channels or 'channels'}), with at least "
            f"{min_size} by {min_size} pixels. Received input_shape={shape}. Leave out the batch "
            "axis. For gray images, use one channel: (height, width, 1)."
        )
    return keras.Input(shape, name="image")


def convolution(filters: int, kernel: int, name: str, stride: int = 1) -> keras.layers.Layer:
    """Returns a convolution layer without a bias, because batch normalization follows. The
    initializer is `he_normal` (He initialization).

    Args:
        filters: Number of output channels.
        kernel: Height and width of the kernel, in pixels.
        name: Name of the layer.
        stride: Vertical and horizontal stride, in pixels.
    """
    return keras.layers.Conv2D(
        filters,
        kernel,
        stride,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
        name=name,
    )


def embedding_of(features: keras.KerasTensor, units: int | None) -> keras.KerasTensor:
    """Applies a linear layer to the features, or returns the features if `units` is None."""
    if units is None:
        return features
    return keras.layers.Dense(units, name="embedding")(features)
