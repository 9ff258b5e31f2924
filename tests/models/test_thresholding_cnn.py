import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras, ops
from keras_dml.models.thresholding_cnn import HIGHEST, LOWEST, NOISE, SLOPE

pytestmark = pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="Keras's own layers; contracts run there"
)


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def test_it_has_the_stated_weights_and_a_linear_embedding():
    model = models.thresholding_cnn()
    assert model.count_params() == 1_680_192
    assert model.output_shape == (None, 64)
    small = models.thresholding_cnn((8, 8, 1), width=4, embedding=8)
    z = numpy(small(np.random.default_rng(0).random((4, 8, 8, 1), "float32")))
    assert (z < 0).any() and (z > 0).any()


@pytest.mark.parametrize("channels", [1, 3])
def test_it_starts_by_looking_at_single_pixels_through_thresholds(channels):
    model = models.thresholding_cnn((8, 8, channels), width=6, embedding=2)
    kernel, bias = map(numpy, model.get_layer("thresholds").weights)
    ups = SLOPE * np.array([1, -1] * 3)
    np.testing.assert_allclose(bias, -ups * np.linspace(LOWEST, HIGHEST, 6), rtol=1e-6)
    random = kernel.copy()
    random[1, 1] -= ups / channels
    limit = NOISE * np.sqrt(6 / (9 * channels + 9 * 6))  # of Keras's usual start
    assert 0.5 * limit < np.abs(random).max() <= limit + 1e-6
    # without the random part a flat image passes the thresholds below it, then those above it
    model.get_layer("thresholds").kernel.assign(kernel - random)
    first = model.get_layer("thresholds")(np.full((1, 8, 8, channels), 0.5, "float32"))
    expected = np.maximum(ups * (0.5 - np.linspace(LOWEST, HIGHEST, 6)), 0)
    np.testing.assert_allclose(numpy(first)[0, 4, 4], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 28, 1), (28, 28), (None, 28, 1)])
def test_other_shapes_are_refused_with_a_way_out(shape):
    with pytest.raises(ValueError, match=r"`input_shape` must be \(height, width, channels\)"):
        models.thresholding_cnn(shape)
