"""Models for the exports: small ones of every kind, and the encoder of the zoo with weights as
after training."""

import numpy as np
import pytest

from keras_dml import layers, models
from keras_dml._keras import keras

CHANNELS = 3


def build(head, *, steps=None, convolution=layers.MaskedConv1D):
    """Two convolutions under a head, 3 channels."""
    return lived_in(
        keras.Sequential(
            [
                keras.Input((steps, CHANNELS)),
                layers.ChannelNormalisation(),
                convolution(8, 3, padding="same"),
                keras.layers.BatchNormalization(),
                keras.layers.PReLU(shared_axes=[1]),
                layers.MaskedAveragePooling1D(2),
                convolution(12, 3, padding="same"),
                keras.layers.PReLU(shared_axes=[1]),
                head,
            ]
        )
    )


def lived_in(model):
    """The model with statistics and slopes as after training: none at its initial value."""
    rng = np.random.default_rng(3)
    steps, channels = model.inputs[0].shape[1:]
    for _ in range(8):
        model(rng.normal(size=(4, steps or 96, channels)).astype(np.float32), training=True)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.gamma.assign(rng.uniform(0.7, 1.3, layer.gamma.shape))
            layer.beta.assign(rng.normal(0, 0.2, layer.beta.shape))
        if isinstance(layer, keras.layers.PReLU):
            layer.alpha.assign(rng.uniform(0.05, 0.4, layer.alpha.shape))
    return model


@pytest.fixture(scope="session")
def small():
    return build(layers.QuantileLayer(knots=4))


@pytest.fixture(scope="session")
def edge():
    """The encoder for devices: 6 channels, sixteen convolutions."""
    return lived_in(models.sequence_encoder(6, size="edge"))


@pytest.fixture(scope="session")
def recordings():
    return [sample(length, CHANNELS, seed) for seed, length in enumerate((1, 9, 40, 120))]


def sample(length, channels, seed=0):
    return np.random.default_rng(seed).normal(size=(length, channels)).astype(np.float32)
