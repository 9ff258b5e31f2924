"""Builds ResNet-12, the usual encoder in few-shot benchmarks."""

from collections.abc import Sequence

from keras_dml._backend import keras
from keras_dml._typing import ArrayLike
from keras_dml.layers.fixed_normalization import FixedNormalization
from keras_dml.models._normalization import batch_normalization
from keras_dml.models.images import convolution, embedding_of, image_input

SLOPE = 0.1  # slope of the leaky ReLUs for negative inputs


def resnet12(
    input_shape: tuple[int, int, int] = (84, 84, 3),
    *,
    widths: Sequence[int] = (64, 160, 320, 640),
    dropout: float = 0.1,
    embedding: int | None = None,
    mean: ArrayLike = 0.5,
    stddev: ArrayLike = 0.5,
) -> keras.Model:
    """Builds ResNet-12, the usual encoder in few-shot benchmarks (Oreshkin2018). The default
    numbers of filters come from Lee2019.

    The network has four residual blocks, each with three 3 by 3 convolutions. Max pooling follows
    each block. The features are means over all positions in the last feature map.

    Functional model:
        Input: `image`, shape `(batch, height, width, channels)`, in [0, 1].
        Output: Features, shape `(batch, widths[-1])`. With `embedding`, the output is
            `(batch, embedding)`.

    Args:
        input_shape: Shape of an image, `(height, width, channels)`, with height and width at least
            `2 ** len(widths)`.
        widths: Number of filters of each block. (64, 128, 256, 512) is another common choice.
        dropout: Fraction of the activations after each block that dropout sets to zero.
        embedding: Number of units of a linear layer on the features. By default, there is no linear
            layer.
        mean: Mean that is subtracted to standardize images. `mean` is a number or a list with one
            number per channel.
        stddev: Standard deviation by which images are divided. `stddev` is a number or a list with
            one number per channel.

    Returns:
        A `keras.Model`, which has 12.4 million weights with the default `widths`.

    Raises:
        ValueError: If the shape is invalid.

    Example:
        >>> encoder = resnet12((28, 28, 1), widths=(4, 8, 16), embedding=32)
        >>> keras_dml.models.PrototypicalClassifier(encoder, classes=5).embed(
        ...     np.zeros((2, 28, 28, 1), "float32")
        ... ).shape
        TensorShape([2, 32])
    """
    image = image_input(input_shape, 2 ** len(widths))
    x = FixedNormalization(mean, stddev, name="normalization")(image)
    for i, filters in enumerate(widths, start=1):
        x = _block(x, filters, f"block_{i}")
        x = keras.layers.Dropout(dropout, name=f"block_{i}_dropout")(x)
    features = keras.layers.GlobalAveragePooling2D(name="features")(x)
    return keras.Model(image, embedding_of(features, embedding), name="resnet12")


def _block(x, filters, name):
    shortcut = _normalized(x, filters, 1, f"{name}_shortcut")
    for i in (1, 2, 3):
        x = _normalized(x, filters, 3, f"{name}_{i}")
        if i < 3:
            x = keras.layers.LeakyReLU(SLOPE, name=f"{name}_{i}_relu")(x)
    x = keras.layers.Add(name=f"{name}_add")([shortcut, x])
    x = keras.layers.LeakyReLU(SLOPE, name=f"{name}_relu")(x)
    return keras.layers.MaxPooling2D(name=f"{name}_pool")(x)


def _normalized(x, filters, kernel, name):
    x = convolution(filters, kernel, f"{name}_conv")(x)
    return batch_normalization(f"{name}_norm")(x)
