"""Builds LeNet, a small convolutional network for MNIST."""

from keras_dml._backend import keras
from keras_dml.models._choices import choose
from keras_dml.models.images import image_input

# Number of filters and padding of each of the two convolutions, and number of units of the hidden
# layer.
PRESETS = {
    "standard": ((6, "same"), (16, "valid"), (120,)),
    "madry": ((32, "same"), (64, "same"), (1024,)),
}


def lenet(
    input_shape: tuple[int, int, int] = (28, 28, 1),
    *,
    embedding: int = 84,
    preset: str = "standard",
) -> keras.Model:
    """Builds LeNet with a linear embedding (Monteiro2020, section 4.1: "a standard LeNet").

    The network has two 5 by 5 convolutions with ReLU and max pooling, a hidden layer with ReLU, and
    a linear layer. The last layer is linear, because after a ReLU all entries of embeddings and
    prototypes would be at least 0.

    Functional model:
        Input: `image`, shape `(batch, height, width, channels)`, in [0, 1], not standardized.
        Output: `(batch, embedding)`.

    Args:
        input_shape: Shape of an image, `(height, width, channels)`, with height and width at least
            12.
        embedding: Number of units of the last layer.
        preset: Size of the network: `"standard"` (6 and 16 filters, 120 hidden units, 60,856
            weights) or `"madry"` (32 and 64 filters, 1024 hidden units). Adversarial training needs
            the larger network (Madry2018).

    Returns:
        A `keras.Model`.

    Raises:
        ValueError: If the shape is invalid, or if the preset is unknown.
    """
    *convolutions, (hidden,) = choose("preset", preset, PRESETS)
    x = image = image_input(input_shape, 12)
    for i, (filters, padding) in enumerate(convolutions, start=1):
        x = keras.layers.Conv2D(filters, 5, padding=padding, activation="relu", name=f"conv_{i}")(x)
        x = keras.layers.MaxPooling2D(name=f"pool_{i}")(x)
    x = keras.layers.Flatten(name="flat")(x)
    x = keras.layers.Dense(hidden, activation="relu", name="hidden")(x)
    return keras.Model(image, keras.layers.Dense(embedding, name="embedding")(x), name="lenet")
