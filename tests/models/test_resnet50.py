import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras, ops

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="stock layers; to make them takes JAX long"
)


@pytest.mark.slow
def test_image_is_standardized_as_in_keras_applications(rng):
    x = rng.random((1, 32, 32, 3), "float32")
    model = models.resnet50((32, 32, 3))
    inside = keras.Model(model.input, model.get_layer("conv1_pad").input)
    expected = keras.applications.resnet.preprocess_input(255 * x)
    np.testing.assert_allclose(ops.convert_to_numpy(inside(x)), expected, rtol=1e-4, atol=1e-3)
    stock = keras.applications.ResNet50(include_top=False, weights=None, pooling="avg")
    assert model.count_params() == stock.count_params()
    assert model.output_shape == (None, 2048)


@pytest.mark.parametrize("shape", [(32, 32, 1), (31, 32, 3)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"must be \(height, width, 3\), with at least 32 by 32"):
        models.resnet50(shape)
