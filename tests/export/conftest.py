"""Contains fixtures for tests of exports: small models and the encoder for devices."""

import numpy as np
import pytest

from keras_dml import layers, models
from keras_dml._backend import keras

CHANNELS = 3


def build(head, *, steps=None, convolution=layers.MaskedConv1D):
    """Returns a model for 3 channels that has two convolutions and a head."""
    keras.utils.set_random_seed(2)
    return lived_in(
        keras.Sequential(
            [
                keras.Input((steps, CHANNELS)),
                layers.ChannelNormalization(),
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
    """Changes statistics and slopes of a model, so that they differ from their initial values."""
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
    """Returns the encoder for devices, with 6 channels and sixteen convolutions."""
    keras.utils.set_random_seed(2)
    return lived_in(models.sequence_encoder(6, size="edge"))


@pytest.fixture(scope="session")
def recordings():
    return [sample(length, CHANNELS, seed) for seed, length in enumerate((1, 9, 40, 120))]


CLASSES, FEATURES, SIDE = 3, 6, 8


@pytest.fixture(scope="session")
def images():
    """Draws noisy images with bright rows, bright columns or no pattern, and their labels."""
    rng = np.random.default_rng(11)
    labels = np.arange(48) % CLASSES
    actual = rng.uniform(0, 0.3, size=(len(labels), SIDE, SIDE, 1)).astype(np.float32)
    actual[labels == 0, ::2] += 0.6
    actual[labels == 1, :, ::2] += 0.6
    return actual, labels


@pytest.fixture(scope="session")
def classifier(images):
    """Returns a classifier of images after ten training steps."""
    x, y = images
    keras.utils.set_random_seed(4)
    encoder = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            layers.FixedNormalization(0.5, 0.25),
            keras.layers.Conv2D(8, 3, padding="same", use_bias=False),
            keras.layers.BatchNormalization(momentum=0.5),
            keras.layers.ReLU(6.0),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(12, 3, padding="same", activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(FEATURES),
        ]
    )
    model = models.PrototypicalClassifier(encoder, CLASSES, hidden=(128, 16))
    model.compile(keras.optimizers.Adam(0.01))
    model.fit(x, y, batch_size=24, epochs=5, verbose=0)
    model.refit_prototypes(x, y)
    return model


@pytest.fixture(scope="session")
def speaker():
    """Returns a classifier of audio for two voices."""
    keras.utils.set_random_seed(5)
    encoder = models.xvector(((8, 3, 1), (8, 3, 2)), embedding=FEATURES, bands=6)
    for seed in range(3):
        encoder(np.stack([voice(4000, seed + i) for i in range(2)]), training=True)
    return models.PrototypicalClassifier(encoder, 2, hidden=(16,), class_names=["ann", "bob"])


def voice(length, seed=0, loudness=0.1):
    """Draws a humming tone with noise, shape `(length, 1)`."""
    rng = np.random.default_rng(seed)
    hum = np.sin(2 * np.pi * rng.uniform(80, 300) * np.arange(length) / 16000)
    return (loudness * (hum + 0.1 * rng.normal(size=length)))[:, None].astype(np.float32)


def sample(length, channels, seed=0):
    return np.random.default_rng(seed).normal(size=(length, channels)).astype(np.float32)
