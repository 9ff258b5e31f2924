import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import WindowedMean

WINDOW, STEP, REACH, LEAD = 8, 3, 6, 2


@pytest.fixture
def network():
    keras.utils.set_random_seed(4)
    layers = [keras.Input((WINDOW, 2)), keras.layers.Flatten(), keras.layers.Dense(5)]
    return keras.Sequential(layers)


def by_loops(network, x):
    """Computes the means over windows by their definition, for one recording of shape `(time,
    channels)`.
    """
    padded = np.concatenate([np.zeros((LEAD, 2)), x, np.zeros((WINDOW, 2))]).astype("float32")
    vectors = []
    for start in range(0, len(x), STEP):
        if start == 0 or len(x) >= start + REACH:
            z = np.asarray(network(padded[None, start : start + WINDOW]))[0]
            vectors.append(z / np.linalg.norm(z))
    mean = np.mean(vectors, axis=0)
    return mean / np.linalg.norm(mean), len(vectors)


@pytest.mark.parametrize(("time", "windows"), [(1, 1), (8, 1), (9, 2), (11, 2), (12, 3), (30, 9)])
def test_the_embedding_is_that_of_the_definition(time, windows, network, rng):
    layer = WindowedMean(network, STEP, REACH, LEAD)
    x = rng.normal(size=(time, 2)).astype("float32")
    expected, count = by_loops(network, x)
    assert count == windows
    actual = ops.convert_to_numpy(layer(x[None]))[0]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


@pytest.mark.slow_on_jax
def test_recordings_of_a_padded_batch_have_their_own_windows(network, rng):
    layer, lengths = WindowedMean(network, STEP, REACH, LEAD), np.array([4, 9, 14, 20])
    batch = rng.normal(size=(4, 20, 2)).astype("float32")
    mask = np.arange(20) < lengths[:, None]
    actual = ops.convert_to_numpy(layer(batch, mask=ops.convert_to_tensor(mask)))
    expected = [by_loops(network, x[:n])[0] for x, n in zip(batch, lengths, strict=True)]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


def test_invalid_networks_and_numbers_are_refused(network):
    any_length = keras.Sequential([keras.Input((None, 2)), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="must take windows .* of a fixed length"):
        WindowedMean(any_length, 3, 3)
    for numbers in ((0, 6, 2), (3, 9, 2), (3, 0, 2), (3, 6, 8), (3, 6, -1)):
        with pytest.raises(ValueError, match="`reach` must be from 1 to 8, .* `lead` must be"):
            WindowedMean(network, *numbers)
