import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras, ops

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="stock layers; to make them takes JAX long"
)


def test_the_standard_one_has_the_published_weights():
    model = models.lenet()
    assert model.count_params() == 60856
    assert model.get_layer("flat").output.shape == (None, 400)
    assert model.output_shape == (None, 84)


def test_the_other_has_the_capacity_that_adversarial_training_asks_for():
    model = models.lenet(preset="madry", embedding=20)
    assert model.get_layer("flat").output.shape == (None, 7 * 7 * 64)
    assert model.get_layer("hidden").units == 1024
    assert model.output_shape == (None, 20)


def test_embedding_is_linear_without_standardization(rng):
    """Tests that the network is an affine function of its input as long as no ReLU changes between
    active and inactive.
    """
    model = models.lenet((12, 12, 1), embedding=30)
    x = rng.random((2, 12, 12, 1), "float32")
    z = np.asarray(ops.convert_to_numpy(model(x)))
    assert (z < 0).any() and (z > 0).any()
    for layer in model.layers:
        if layer.name.startswith("conv") or layer.name == "hidden":
            layer.bias.assign(np.zeros(layer.bias.shape))
    np.testing.assert_allclose(ops.convert_to_numpy(model(3 * x)), 3 * z, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(11, 28, 1), (28, 28), (None, 28, 1), (28, 28, 0)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"`input_shape` must be \(height, width, channels\)"):
        models.lenet(shape)


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="`preset` must be one of .*standard.*madry"):
        models.lenet(preset="large")


def test_an_image_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"shape=\(None, 28, 28, 1\)"):
        models.lenet()(np.zeros((1, 32, 32, 1), "float32"))
