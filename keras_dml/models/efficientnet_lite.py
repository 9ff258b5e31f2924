"""Provides EfficientNet-Lite0, a pretrained image encoder for devices."""

import pathlib

from keras_dml._backend import keras
from keras_dml._typing import Path
from keras_dml.layers.fixed_normalization import FixedNormalization
from keras_dml.models._normalization import batch_normalization
from keras_dml.models.images import convolution, embedding_of, image_input

# Each row describes a stage by kernel size, stride of the first block, expansion factor, number of
# filters and number of blocks (Tan2019, Table 1). Lite0 has the same stages as B0.
STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
STEM, HEAD = 32, 1280
# The published weights expect inputs (pixel - 127) / 128, where pixels are from 0 to 255.
MEAN, STDDEV = 127 / 255, 128 / 255


def efficientnet_lite0(
    input_shape: tuple[int, int, int] = (224, 224, 3),
    weights: Path | None = None,
    *,
    embedding: int | None = None,
) -> keras.Model:
    """Builds EfficientNet-Lite0 (Tan2019) without its classification layer, so that it returns
    pooled features.

    The network has seven stages of inverted bottlenecks. The Lite variant (TensorFlow, 2020) has no
    squeeze-and-excite blocks, and ReLU6 is its only activation. A network with these properties can
    be quantized to int8 for accelerators. `zoo/efficientnet_lite0.py` writes a file with weights
    that were trained on ImageNet.

    Functional model:
        Input: `image`, shape `(batch, height, width, 3)`, RGB in [0, 1]. The ImageNet weights were
            trained on images that were cropped to the middle 7/8 and resized (bicubic) to 224 by
            224 pixels.
        Output: `(batch, 1280)` features, each in [0, 6]. With `embedding`, the output is
            `(batch, embedding)`.

    Args:
        input_shape: Shape of an image, `(height, width, 3)`, with height and width at least 32. The
            same weights work for images of any size.
        weights: Path of a `.weights.h5` file of the network without `embedding`. By default, the
            weights are random.
        embedding: Number of units of an additional linear layer on the features. The initial
            weights of this layer are random. By default, there is no linear layer.

    Returns:
        A `keras.Model` with 3.4 million weights.

    Raises:
        ValueError: If the shape is invalid, or if the file of weights does not exist.
    """
    if weights is not None and not pathlib.Path(weights).is_file():
        raise ValueError(
            f"The file of weights {str(weights)!r} does not exist. Create the file in a clone of "
            "the repository of keras-dml (see `python -m zoo.efficientnet_lite0 --help`), or use "
            "weights=None for random weights."
        )
    image = image_input(input_shape, 32, channels=3)
    x = FixedNormalization([MEAN] * 3, [STDDEV] * 3, name="normalization")(image)
    x = _convolved(x, STEM, 3, "stem", stride=2)
    names = (f"block_{i}" for i in range(sum(stage[-1] for stage in STAGES)))
    for kernel, stride, expansion, filters, blocks in STAGES:
        for i in range(blocks):
            x = _block(x, filters, kernel, expansion, stride if i == 0 else 1, next(names))
    x = _convolved(x, HEAD, 1, "head")
    features = keras.layers.GlobalAveragePooling2D(name="features")(x)
    network = keras.Model(image, features, name="efficientnet_lite0")
    if weights is not None:
        network.load_weights(weights)
    return keras.Model(image, embedding_of(features, embedding), name="efficientnet_lite0")


def _block(x, filters, kernel, expansion, stride, name):
    """Applies an inverted bottleneck block.

    A 1 by 1 convolution expands the channels, a depthwise convolution filters each channel, and a
    second 1 by 1 convolution reduces the channels. If input and output have the same shape, the
    block adds its input to its output.
    """
    shortcut = x
    if expansion > 1:
        x = _convolved(x, expansion * x.shape[-1], 1, f"{name}_expand")
    x = keras.layers.DepthwiseConv2D(
        kernel,
        stride,
        padding="same",
        use_bias=False,
        depthwise_initializer="he_normal",
        name=f"{name}_filter_conv",
    )(x)
    x = _activated(x, f"{name}_filter")
    x = _convolved(x, filters, 1, f"{name}_project", activated=False)
    if stride == 1 and filters == shortcut.shape[-1]:
        x = keras.layers.Add(name=f"{name}_add")([shortcut, x])
    return x


def _convolved(x, filters, kernel, name, stride=1, activated=True):
    x = convolution(filters, kernel, f"{name}_conv", stride)(x)
    return _activated(x, name) if activated else _normalized(x, name)


def _activated(x, name):
    return keras.layers.ReLU(6.0, name=f"{name}_relu6")(_normalized(x, name))


def _normalized(x, name):
    return batch_normalization(f"{name}_norm", epsilon=1e-3)(x)
