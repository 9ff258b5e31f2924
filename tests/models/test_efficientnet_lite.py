import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras, ops
from zoo import efficientnet_lite0 as conversion

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="stock layers; to make them takes JAX long"
)

SMALL = (32, 32, 3)


@pytest.fixture(scope="module")
def network():
    return models.efficientnet_lite0(SMALL)


@pytest.mark.slow
def test_it_has_the_published_weights(network):
    """Compares the number of weights with the published number (4,652,008) minus the weights of the
    classifier.
    """
    trained = sum(int(np.prod(weight.shape)) for weight in network.trainable_weights)
    assert trained == 4_652_008 - (1280 * 1000 + 1000)
    assert network.output_shape == (None, 1280)


@pytest.mark.slow
def test_activations_are_relu6(network):
    """Tests that ReLU6 is the only activation. Therefore the network contains no swish and no
    squeeze-and-excite.
    """
    kinds = {type(layer).__name__ for layer in network.layers}
    assert kinds == {
        *("Add", "BatchNormalization", "Conv2D", "DepthwiseConv2D", "GlobalAveragePooling2D"),
        *("InputLayer", "ReLU", "FixedNormalization"),
    }
    assert {layer.max_value for layer in network.layers if hasattr(layer, "max_value")} == {6.0}


@pytest.mark.slow
def test_a_file_of_weights_fits_another_size_and_an_embedding(network, tmp_path, rng):
    network.save_weights(tmp_path / "some.weights.h5")
    loaded = models.efficientnet_lite0((40, 48, 3), tmp_path / "some.weights.h5", embedding=5)
    assert loaded.output_shape == (None, 5)
    for ours, loaded_weights in zip(network.get_weights(), loaded.get_weights(), strict=False):
        np.testing.assert_array_equal(ours, loaded_weights)


def test_a_missing_file_of_weights_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nowhere.*efficientnet_lite0"):
        models.efficientnet_lite0(weights=tmp_path / "nowhere.weights.h5")


@pytest.mark.parametrize("shape", [(32, 32, 1), (31, 32, 3)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"must be \(height, width, 3\), with at least 32 by 32"):
        models.efficientnet_lite0(shape)


# ---- the conversion of the published weights --------------------------------------------------


def published(network, rng):
    """Returns arrays with the names and shapes of the arrays in the published PyTorch file."""
    arrays = {"_fc.weight": (1000, 1280), "_fc.bias": (1000,)}
    for layer in network.layers:
        if not layer.weights:
            continue
        name = conversion.original_name(layer.name)
        if layer.name.endswith("_norm"):
            for part in ("weight", "bias", "running_mean", "running_var"):
                arrays[f"{name}.{part}"] = layer.gamma.shape
            arrays[f"{name}.num_batches_tracked"] = ()
        else:
            height, width, in_channels, made = layer.kernel.shape
            filters = (in_channels, made) if "_filter_" in layer.name else (made, in_channels)
            arrays[f"{name}.weight"] = (*filters, height, width)
    return {name: rng.normal(size=shape).astype("float32") for name, shape in arrays.items()}


def test_every_array_of_the_published_file_finds_its_layer(network, rng):
    arrays = published(network, rng)
    assert len(arrays) == 296
    assert arrays["_conv_stem.weight"].shape == (32, 3, 3, 3)
    assert arrays["_blocks.0._depthwise_conv.weight"].shape == (32, 1, 3, 3)
    assert arrays["_blocks.1._expand_conv.weight"].shape == (96, 16, 1, 1)
    assert arrays["_blocks.15._bn2.running_var"].shape == (320,)
    conversion.take(network, arrays)
    kernel = ops.convert_to_numpy(network.get_layer("block_3_filter_conv").kernel)
    expected = arrays["_blocks.3._depthwise_conv.weight"]
    assert kernel[1, 2, 30, 0] == expected[30, 0, 1, 2]
    kernel = ops.convert_to_numpy(network.get_layer("stem_conv").kernel)
    assert kernel[0, 2, 1, 30] == arrays["_conv_stem.weight"][30, 1, 0, 2]


def test_unknown_arrays_are_reported(network, rng):
    arrays = {**published(network, rng), "_blocks.16._bn1.bias": np.zeros(3)}
    with pytest.raises(ValueError, match="no layer for the weights .*_blocks.16._bn1.bias"):
        conversion.take(network, arrays)
