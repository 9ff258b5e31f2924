"""Provides the convolutional encoder of prototypical networks."""

import numbers
from collections.abc import Sequence

from keras_dml._backend import keras
from keras_dml.models._normalization import batch_normalization
from keras_dml.models.images import embedding_of, image_input


def conv4(
    input_shape: tuple[int, int, int] = (28, 28, 1),
    *,
    width: int | Sequence[int] = 64,
    blocks: int = 4,
    embedding: int | None = None,
    early_pooling: bool = False,
) -> keras.Model:
    """Builds the convolutional encoder of prototypical networks (Snell2017).

    Each block consists of a 3 by 3 convolution, batch normalization, ReLU and max pooling over 2 by
    2 pixels.

    Functional model:
        Input: `image`, shape `(batch, height, width, channels)`, in [0, 1], not standardized.
        Output: `(batch, features)`, the flattened feature map of the last block (64 features for
            images of 28 by 28 pixels, 1600 for 84 by 84 pixels). With `embedding`, the output is
            `(batch, embedding)`.

    Args:
        input_shape: Shape of an image, `(height, width, channels)`, with height and width at least
            `2 ** blocks`.
        width: Number of filters per block, or a list with one number for each block.
        blocks: Number of blocks.
        embedding: Number of units of a linear layer on the features. By default, there is no linear
            layer.
        early_pooling: Whether each block pools before batch normalization, so that batch
            normalization processes a quarter of the pixels. Early pooling halves the time of a
            training step on a CPU.

    Returns:
        A `keras.Model`.

    Raises:
        ValueError: If the shape is invalid, or if `width` is a list without one entry per block.
    """
    x = image = image_input(input_shape, 2**blocks)
    widths = [width] * blocks if isinstance(width, numbers.Integral) else list(width)
    if len(widths) != blocks:
        raise ValueError(
            f"`width` must be a number, or a list with one number for each of the {blocks} blocks. "
            f"Received width={width!r}."
        )
    for i, filters in enumerate(widths, start=1):
        x = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"conv_{i}")(x)
        pooling = keras.layers.MaxPooling2D(name=f"pool_{i}")
        x = pooling(x) if early_pooling else x
        x = batch_normalization(f"norm_{i}")(x)
        x = keras.layers.ReLU(name=f"relu_{i}")(x)
        x = x if early_pooling else pooling(x)
    features = keras.layers.Flatten(name="features")(x)
    return keras.Model(image, embedding_of(features, embedding), name="conv4")
