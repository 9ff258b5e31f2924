import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras, ops

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="stock layers; to make them takes JAX long"
)


@pytest.mark.slow
def test_28_10_has_the_published_weights():
    """Compares the number of weights with the published number (36,479,194) minus the weights of
    the classifier.
    """
    model = models.wide_resnet()
    trained = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert trained == 36_479_194 - (640 * 10 + 10)
    assert model.output_shape == (None, 640)


def test_depth_counts_the_convolutions_of_the_blocks():
    model = models.wide_resnet(16, 1, (8, 8, 3))
    names = [layer.name for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    shortcuts = [name for name in names if "shortcut" in name]
    # The network has 13 convolutions that are not shortcuts. The depth is this number plus three.
    assert len(names) - len(shortcuts) == 16 - 3
    assert shortcuts == ["group_2_block_1_shortcut", "group_3_block_1_shortcut"]


def test_groups_halve_the_image_and_double_the_filters():
    model = models.wide_resnet(10, 2, (16, 16, 3))
    shapes = [model.get_layer(f"group_{i}_block_1_add").output.shape[1:] for i in (1, 2, 3)]
    assert shapes == [(16, 16, 32), (8, 8, 64), (4, 4, 128)]


def test_the_image_is_standardized_inside(rng):
    x = rng.random((2, 8, 8, 1), "float32")
    model = models.wide_resnet(10, 1, (8, 8, 1), mean=0.3, stddev=0.2)
    inside = keras.Model(model.input, model.get_layer("stem").input)
    np.testing.assert_allclose(ops.convert_to_numpy(inside(x)), (x - 0.3) / 0.2, rtol=0, atol=1e-5)


def test_dropout_is_between_the_convolutions_of_every_block():
    model = models.wide_resnet(10, 1, (8, 8, 3), dropout=0.4)
    layers = [layer for layer in model.layers if isinstance(layer, keras.layers.Dropout)]
    assert [layer.rate for layer in layers] == [0.4] * 3


@pytest.mark.parametrize("depth", [4, 27, 30, -2])
def test_another_depth_is_refused(depth):
    with pytest.raises(ValueError, match="`depth` must be 10, 16, 22, 28"):
        models.wide_resnet(depth, 1)


def test_numbers_of_three_channels_are_refused_for_gray_images():
    with pytest.raises(ValueError, match="`mean` has 3 numbers.* 1 channels"):
        models.wide_resnet(10, 1, (32, 32, 1))
