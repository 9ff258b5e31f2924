"""Provides batch normalization for the architectures of this package."""

from keras_dml._backend import keras

# With Keras's default momentum of 0.99, the moving statistics stay near their initial values for
# hundreds of steps. After five epochs of `conv4` on 2,000 digits, the accuracy was 99 % in training
# mode, but 11 % in inference mode. With a momentum of 0.9, the accuracy was 94 % in inference mode.
MOMENTUM = 0.9


def batch_normalization(name, **options):
    """Returns a batch normalization layer whose moving averages (EMA) adapt to the data within tens
    of training steps.

    Args:
        name: Name of the layer.
        **options: Options of `keras.layers.BatchNormalization`.
    """
    return keras.layers.BatchNormalization(momentum=MOMENTUM, name=name, **options)
