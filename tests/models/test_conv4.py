import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="stock layers; to make them takes JAX long"
)


@pytest.mark.parametrize("shape, features", [((28, 28, 1), 64), ((84, 84, 3), 1600)])
def test_features_are_those_of_prototypical_networks(shape, features):
    assert models.conv4(shape).output_shape == (None, features)


def test_blocks_and_width_are_chosen():
    model = models.conv4((8, 8, 1), width=5, blocks=2, embedding=7)
    convolutions = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    assert [layer.filters for layer in convolutions] == [5, 5]
    assert model.get_layer("features").output.shape == (None, 2 * 2 * 5)
    assert model.output_shape == (None, 7)


def test_each_block_has_the_width_that_the_list_gives():
    assert models.conv4(width=[2, 3, 5, 7]).output_shape == (None, 7)
    with pytest.raises(ValueError, match=r"3 blocks.*\[2, 3\]"):
        models.conv4(width=[2, 3], blocks=3)


def test_early_pooling_gives_equal_outputs_for_positive_scales(rng):
    late, early = (
        models.conv4((16, 16, 1), width=3, blocks=2, early_pooling=early) for early in (False, True)
    )
    weights = [np.abs(rng.normal(size=w.shape)) + 0.1 for w in late.get_weights()]
    for model in (late, early):
        model.set_weights(weights)
    images = rng.random((2, 16, 16, 1)).astype("float32")
    np.testing.assert_allclose(early(images), late(images), rtol=1e-5)


def test_too_small_images_are_refused():
    with pytest.raises(ValueError, match="at least 16 by 16 pixels"):
        models.conv4((15, 28, 1))
