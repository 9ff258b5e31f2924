"""Builds wide residual networks for images of 32 by 32 pixels."""

from keras_dml._backend import keras
from keras_dml._typing import ArrayLike
from keras_dml.layers.fixed_normalization import FixedNormalization
from keras_dml.models._normalization import batch_normalization
from keras_dml.models.images import convolution, embedding_of, image_input

STEM = 16
GROUPS = ((16, 1), (32, 2), (64, 2))  # number of filters at width 1, and stride of the first block
# Mean and standard deviation of the training images of CIFAR-10, RGB in [0, 1].
CIFAR_MEAN, CIFAR_STDDEV = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def wide_resnet(
    depth: int = 28,
    width: int = 10,
    input_shape: tuple[int, int, int] = (32, 32, 3),
    *,
    dropout: float = 0.3,
    embedding: int | None = None,
    mean: ArrayLike = CIFAR_MEAN,
    stddev: ArrayLike = CIFAR_STDDEV,
) -> keras.Model:
    """Builds a wide residual network (Zagoruyko2016), which Monteiro2020 uses for CIFAR-10.

    The network has three groups of pre-activation blocks. The features that the network returns are
    means over all positions in the last feature map. A block applies batch normalization, ReLU and
    a 3 by 3 convolution twice, with dropout in between. If a block changes the shape, its shortcut
    is a 1 by 1 convolution.

    Functional model:
        Input: `image`, shape `(batch, height, width, channels)`, in [0, 1].
        Output: Non-negative features, shape `(batch, 64 * width)`. With `embedding`, the output is
            `(batch, embedding)`.

    Args:
        depth: Number of layers, which is 6 n + 4 for n blocks per group.
        width: Factor by which the numbers of filters 16, 32 and 64 are multiplied.
        input_shape: Shape of an image, `(height, width, channels)`, with height and width at least
            8.
        dropout: Fraction of the activations in each block that dropout sets to zero.
        embedding: Number of units of a linear layer on the features. By default, there is no linear
            layer.
        mean: Mean that is subtracted to standardize images. `mean` is a number or a list with one
            number per channel. The default is the mean of CIFAR-10.
        stddev: Standard deviation by which images are divided. `stddev` is a number or a list with
            one number per channel. The default is the standard deviation of CIFAR-10.

    Returns:
        A `keras.Model`, which has 36.5 million weights with depth 28 and width 10.

    Raises:
        ValueError: If the depth is not 6 n + 4 for a positive n, or if the shape is invalid.
    """
    blocks, rest = divmod(depth - 4, 6)
    if blocks < 1 or rest:
        raise ValueError(f"`depth` must be 10, 16, 22, 28, ... Received depth={depth!r}.")
    image = image_input(input_shape, 8)
    x = FixedNormalization(mean, stddev, name="normalization")(image)
    x = convolution(STEM, 3, "stem")(x)
    for i, (filters, stride) in enumerate(GROUPS, start=1):
        for j in range(1, blocks + 1):
            first = stride if j == 1 else 1
            x = _block(x, filters * width, first, dropout, f"group_{i}_block_{j}")
    x = _activated(x, "last")
    features = keras.layers.GlobalAveragePooling2D(name="features")(x)
    return keras.Model(image, embedding_of(features, embedding), name="wide_resnet")


def _block(x, filters, stride, dropout, name):
    """Applies a residual block.

    In a block that changes the shape, the shortcut begins after the first activation.
    """
    shortcut, x = x, _activated(x, f"{name}_1")
    if stride != 1 or shortcut.shape[-1] != filters:
        shortcut = convolution(filters, 1, f"{name}_shortcut", stride)(x)
    x = convolution(filters, 3, f"{name}_conv_1", stride)(x)
    x = _activated(x, f"{name}_2")
    x = keras.layers.Dropout(dropout, name=f"{name}_dropout")(x)
    x = convolution(filters, 3, f"{name}_conv_2")(x)
    return keras.layers.Add(name=f"{name}_add")([shortcut, x])


def _activated(x, name):
    x = batch_normalization(f"{name}_norm")(x)
    return keras.layers.ReLU(name=f"{name}_relu")(x)
