"""Convolution of the architectures of images."""

from keras_dml._backend import keras


def convolution(filters, kernel, name, stride=1):
    """A convolution without a bias, as batch normalization follows it, and with He's initializer.

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
