"""The convolutional encoder of prototypical networks."""

from keras_dml._keras import keras
from keras_dml.models._images import embedding_of, image_input


def convolutional(input_shape=(28, 28, 1), *, width=64, blocks=4, embedding=None):
    """Blocks of a 3 by 3 convolution, batch normalisation, ReLU and the maxima of 2 by 2 pixels
    (Snell et al. 2017).

    Functional model:
        Input: `image`, shape `(batch, height, width, channels)`, in [0, 1], not standardised.
        Output: `(batch, features)`: all that is left of the image, 64 of Omniglot's 28 by 28
            pixels, 1600 of 84 by 84; or `(batch, embedding)`.

    Args:
        input_shape: `(height, width, channels)`, each side at least `2 ** blocks`.
        width: Filters of every block.
        blocks: Number of blocks.
        embedding: Units of a linear layer on the features; None: no such layer.

    Returns:
        A `keras.Model`.

    Raises:
        ValueError: If the shape is another one.
    """
    x = image = image_input(input_shape, 2**blocks)
    for i in range(1, blocks + 1):
        x = keras.layers.Conv2D(width, 3, padding="same", use_bias=False, name=f"conv_{i}")(x)
        x = keras.layers.BatchNormalization(name=f"norm_{i}")(x)
        x = keras.layers.ReLU(name=f"relu_{i}")(x)
        x = keras.layers.MaxPooling2D(name=f"pool_{i}")(x)
    features = keras.layers.Flatten(name="features")(x)
    return keras.Model(image, embedding_of(features, embedding), name="convolutional")
