import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.layers import MinimumLevel


def rms(x):
    return np.sqrt(np.mean(np.square(x, dtype="float64"), axis=(1, 2)))


@pytest.mark.slow_on_jax
def test_only_quiet_recordings_are_amplified(rng):
    x = (
        rng.normal(size=(3, 500, 1)).astype("float32")
        * np.array([0.01, 0.2, 3], "float32")[:, None, None]
    )
    actual = ops.convert_to_numpy(MinimumLevel(0.1)(x))
    np.testing.assert_allclose(rms(actual)[0], 0.1, rtol=1e-5)
    np.testing.assert_array_equal(actual[1:], x[1:])
    np.testing.assert_allclose(actual[0] / x[0], 0.1 / rms(x)[0], rtol=1e-5)


@pytest.mark.slow_on_jax
def test_the_level_is_that_of_the_valid_steps(rng):
    x = rng.normal(scale=0.01, size=(1, 300, 1)).astype("float32")
    padded = np.concatenate([x, np.full((1, 200, 1), 7, "float32")], axis=1)
    mask = ops.convert_to_tensor(np.arange(500)[None] < 300)
    actual = ops.convert_to_numpy(MinimumLevel(0.1)(padded, mask=mask))
    np.testing.assert_allclose(actual[:, :300], MinimumLevel(0.1)(x), rtol=1e-5)


@pytest.mark.slow_on_jax
def test_silence_stays_silent():
    assert not ops.convert_to_numpy(MinimumLevel(0.1)(np.zeros((1, 50, 1)))).any()


@pytest.mark.parametrize("level", [0, -1, float("inf"), float("nan")])
def test_a_level_that_is_not_positive_is_refused(level):
    with pytest.raises(ValueError, match="must be a positive number. Received"):
        MinimumLevel(level)
