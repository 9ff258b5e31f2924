"""Parts that the image encoders share: input, convolution and embedding."""

import numbers

from keras_dml._backend import keras


def image_input(
    input_shape: tuple[int, int, int], min_size: int, channels: int | None = None
) -> keras.KerasTensor:
    """Returns the input of a model of images.

    Args:
        input_shape: `(height, width, channels)`, all known.
        min_size: Smallest allowed height and width, in pixels.
        channels: Required number of channels; None: any number.

    Raises:
        ValueError: If the shape is impossible.
    """
    shape = tuple(input_shape)
    is_valid = len(shape) == 3 and all(isinstance(n, numbers.Integral) and n > 0 for n in shape)
    if not is_valid or min(shape[:2]) < min_size or channels not in (None, shape[2]):
        raise ValueError(
            f"`input_shape` must be (height, width, {channels or 'channels'}), with at least "
            f"{min_size} by {min_size} pixels. Received input_shape={shape}. Leave out the batch "
            "axis, and give a gray image one channel, the last axis."
        )
    return keras.Input(shape, name="image")


def convolution(filters: int, kernel: int, name: str, stride: int = 1) -> keras.layers.Layer:
    """Returns a convolution with He's initializer and without a bias, for batch normalization.

    Args:
        filters: Number of output channels.
        kernel: Side of the kernel, in pixels.
        name: Name of the layer.
        stride: Stride along both axes.
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
    """Returns the features, or a linear layer of `units` on them if `units` is not None."""
    if units is None:
        return features
    return keras.layers.Dense(units, name="embedding")(features)
