import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.layers import FixedNormalization


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("channels", [1, 3])
def test_one_number_serves_all_channels(channels, rng):
    x = rng.random((2, 4, 5, channels), "float32")
    actual = numpy(FixedNormalization(0.25, 0.5)(x))
    np.testing.assert_allclose(actual, (x - 0.25) / 0.5, rtol=1e-6, atol=1e-6)


def test_each_channel_has_its_own_numbers(rng):
    x, mean, stddev = rng.random((2, 4, 5, 3), "float32"), (0.1, 0.2, 0.3), (1, 2, 4)
    actual = numpy(FixedNormalization(mean, stddev)(x))
    np.testing.assert_allclose(actual, (x - mean) / stddev, rtol=1e-6, atol=1e-6)


def test_layer_has_no_weights():
    layer = FixedNormalization()
    layer.build((None, 4, 5, 3))
    assert not layer.weights


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0.5, 0), "`stddev` must be positive"),
        ((0.5, (1, -1)), "`stddev` must be positive"),
        ((float("nan"), 1), "`mean` must be a finite number"),
        (([[0.5]], 1), "`mean` must be a finite number, or a list"),
        (((), 1), "`mean` must be a finite number, or a list"),
    ],
)
def test_impossible_numbers_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        FixedNormalization(*arguments)


def test_numbers_for_other_channels_are_refused():
    with pytest.raises(ValueError, match="`mean` has 3 numbers.* 1 channels"):
        FixedNormalization((0.1, 0.2, 0.3))(np.zeros((2, 4, 5, 1)))
