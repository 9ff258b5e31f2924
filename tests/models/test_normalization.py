"""Tests that batch normalization gives correct inference after few training steps."""

import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras

once = pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="the same on every backend, and JAX compiles for long"
)
BUILT = {
    "conv4": lambda: models.conv4((16, 16, 1), width=2),
    "resnet12": lambda: models.resnet12((16, 16, 3), widths=(2, 3)),
    "wide_resnet": lambda: models.wide_resnet(10, 1, (8, 8, 3)),
    "efficientnet_lite0": lambda: models.efficientnet_lite0((32, 32, 3)),
    "sequence_encoder": lambda: models.sequence_encoder(2),
    "xvector": lambda: models.xvector(((4, 1, 1),), embedding=2, bands=4),
}


@pytest.mark.slow
@once
@pytest.mark.parametrize(
    "build", [*BUILT.values(), lambda: models.resnet50((32, 32, 3))], ids=[*BUILT, "resnet50"]
)
def test_moving_statistics_follow_after_tens_of_steps(build):
    layers = build()._flatten_layers()
    momenta = [
        layer.momentum for layer in layers if isinstance(layer, keras.layers.BatchNormalization)
    ]
    assert momenta and set(momenta) == {0.9}


@once
def test_a_file_keeps_its_own_momentum(tmp_path):
    model = models.conv4((4, 4, 1), width=2, blocks=1)
    model.get_layer("norm_1").momentum = 0.99
    model.save(tmp_path / "model.keras")
    assert keras.saving.load_model(tmp_path / "model.keras").get_layer("norm_1").momentum == 0.99


@pytest.mark.slow
def test_inference_is_right_after_forty_steps():
    """Tests accuracy at inference after training on dark images whose left or right half is
    brighter.
    """
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    x = 0.1 * rng.random((160, 8, 8, 1), "float32")
    x[y == 0, :, :4] += 0.1
    x[y == 1, :, 4:] += 0.1
    keras.utils.set_random_seed(0)
    encoder = models.conv4((8, 8, 1), width=8, blocks=2)
    model = models.PrototypicalClassifier(encoder, 2, hidden=8, decay=0.5)
    model.compile(keras.optimizers.Adam(0.003), metrics=["accuracy"])
    actual = model.fit(x, y, batch_size=16, epochs=4, validation_data=(x, y), verbose=0).history
    assert actual["accuracy"][-1] > 0.95
    assert actual["val_accuracy"][-1] > 0.95
