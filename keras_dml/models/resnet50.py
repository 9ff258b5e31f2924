"""Builds an image encoder from the ResNet-50 of `keras.applications`."""

from keras_dml._backend import keras, ops
from keras_dml._typing import Path
from keras_dml.layers.fixed_normalization import FixedNormalization
from keras_dml.models._normalization import MOMENTUM
from keras_dml.models.images import embedding_of, image_input

# The ImageNet weights expect pixels from 0 to 255, with these means subtracted and with channels in
# the order blue, green, red (`keras.applications.resnet.preprocess_input`).
MEAN_RGB = (123.68, 116.779, 103.939)


def resnet50(
    input_shape: tuple[int, int, int] = (224, 224, 3),
    weights: Path | None = None,
    *,
    embedding: int | None = None,
) -> keras.Model:
    """Builds ResNet-50 (He2016) without its classification layer, so that it returns pooled
    features. The model also standardizes the images.

    The network is `keras.applications.ResNet50`. Monteiro2020 (section 4.2) uses ResNet-50 as
    encoder for mini-ImageNet.

    Functional model:
        Input: `image`, shape `(batch, height, width, 3)`, RGB in [0, 1].
        Output: Non-negative features, shape `(batch, 2048)`. With `embedding`, the output is
            `(batch, embedding)`.

    Args:
        input_shape: Shape of an image, `(height, width, 3)`, with height and width at least 32.
        weights: `"imagenet"` (Keras downloads the file), or the path of a file with weights of the
            network without its classification layer. By default, the weights are random.
        embedding: Number of units of a linear layer on the features. By default, there is no linear
            layer.

    Returns:
        A `keras.Model` with 23.6 million weights.

    Raises:
        ValueError: If the shape is invalid, or if the file of weights does not exist.

    Example:
        >>> resnet50((32, 32, 3), embedding=64).output_shape
        (None, 64)
    """
    image = image_input(input_shape, 32, channels=3)
    mean = [value / 255 for value in MEAN_RGB]
    x = FixedNormalization(mean, [1 / 255] * 3, name="normalization")(image)
    network = keras.applications.ResNet50(
        include_top=False,
        weights=weights,
        input_tensor=ops.flip(x, axis=-1),
        pooling="avg",
    )
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = MOMENTUM
    return keras.Model(image, embedding_of(network.output, embedding), name="resnet50")
