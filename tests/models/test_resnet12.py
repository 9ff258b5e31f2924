import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="stock layers; to make them takes JAX long"
)


@pytest.mark.slow
def test_the_wide_one_has_the_published_weights():
    model = models.resnet12()
    trained = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert round(trained / 1e6, 1) == 12.4
    assert model.output_shape == (None, 640)


def test_each_block_halves_the_image():
    model = models.resnet12((28, 28, 1), widths=(4, 5, 6), embedding=3)
    shapes = [model.get_layer(f"block_{i}_pool").output.shape[1:] for i in (1, 2, 3)]
    assert shapes == [(14, 14, 4), (7, 7, 5), (3, 3, 6)]
    assert model.output_shape == (None, 3)


def test_too_small_images_are_refused():
    with pytest.raises(ValueError, match="at least 16 by 16 pixels"):
        models.resnet12((28, 15, 1))
