import numpy as np
import pytest

import keras_dml
from keras_dml import models
from keras_dml._backend import keras
from zoo.voice_ge2e_sim import convert

SMALL = {"units": 5, "depth": 2, "bands": 12}


def small():
    """Returns a small random network whose embeddings of weak noise are not zero."""
    keras.utils.set_random_seed(20)
    model = models.ge2e(**SMALL)
    network = model.get_layer("embedding").network
    lstm, projection = network.get_layer("lstm"), network.get_layer("projection")
    lstm.set_weights([100 * lstm.get_weights()[0], *lstm.get_weights()[1:]])
    projection.set_weights([projection.kernel, np.full(SMALL["units"], 0.5)])
    return model


def noise(rng, *lengths):
    return [rng.normal(scale=0.1, size=(length, 1)).astype("float32") for length in lengths]


@pytest.mark.slow_on_jax
def test_the_default_network_is_the_published_one():
    model = models.ge2e()
    # The network has three LSTM layers and a dense layer. An LSTM layer has one bias in Keras and
    # two in PyTorch.
    lstm = 4 * 256 * (40 + 256 + 1) + 2 * 4 * 256 * (256 + 256 + 1)
    assert model.count_params() == lstm + 256 * 256 + 256
    assert model.output_shape == (None, 256)


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_a_recording_has_the_same_embedding_alone_and_in_a_padded_batch(rng):
    model = small()
    recordings = noise(rng, 9_000, 19_199, 31_519, 31_520, 50_000)
    together = keras_dml.embed(model, recordings)
    alone = np.concatenate([keras_dml.embed(model, [each]) for each in recordings])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(alone, axis=1), 1, rtol=1e-5)
    assert (alone >= 0).all()


@pytest.mark.slow_on_jax
def test_quiet_recordings_equal_amplified_ones(rng):
    model, (sound,) = small(), noise(rng, 30_000)
    actual = keras_dml.embed(model, [sound * 1e-2, sound * 1e-3, sound * 2])
    np.testing.assert_allclose(actual[0], actual[1], rtol=0, atol=1e-5)
    assert np.abs(actual[2] - actual[0]).max() > 1e-3


@pytest.mark.slow_on_jax
def test_weights_are_read_and_missing_files_are_named(tmp_path):
    with pytest.raises(ValueError, match="nowhere.*voice_ge2e_sim.convert"):
        models.ge2e(tmp_path / "nowhere.weights.h5")
    keras.utils.set_random_seed(3)
    item = models.ge2e(**SMALL)
    item.save_weights(tmp_path / "some.weights.h5")
    second = models.ge2e(tmp_path / "some.weights.h5", **SMALL)
    for a, b in zip(item.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def of_pytorch(rng, bands=12, units=5, depth=2):
    """Draws weights with the names and shapes of the arrays in a PyTorch file."""
    weights = {"linear.weight": (units, units), "linear.bias": (units,)}
    for i in range(depth):
        weights[f"lstm.weight_ih_l{i}"] = (4 * units, units if i else bands)
        weights[f"lstm.weight_hh_l{i}"] = (4 * units, units)
        weights[f"lstm.bias_ih_l{i}"] = weights[f"lstm.bias_hh_l{i}"] = (4 * units,)
    return {name: rng.normal(size=shape).astype("float32") for name, shape in weights.items()}


def by_the_equations(weights, x, depth=2):
    def sigmoid(value):
        return 1 / (1 + np.exp(-value))

    for i in range(depth):
        kernel, recurrent = weights[f"lstm.weight_ih_l{i}"], weights[f"lstm.weight_hh_l{i}"]
        bias = weights[f"lstm.bias_ih_l{i}"] + weights[f"lstm.bias_hh_l{i}"]
        h = c = np.zeros(recurrent.shape[1])
        states = []
        for step in x:
            a, b, g, o = np.split(kernel @ step + recurrent @ h + bias, 4)
            c = sigmoid(b) * c + sigmoid(a) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            states.append(h)
        x = np.array(states)
    return np.maximum(weights["linear.weight"] @ x[-1] + weights["linear.bias"], 0)


@pytest.mark.slow_on_jax
def test_arrays_of_pytorch_are_converted(rng):
    model, weights = models.ge2e(**SMALL), of_pytorch(rng)
    convert.take(model, weights)
    network = model.get_layer("embedding").network
    bands = keras.Model(network.input, network.get_layer("mel_power").output)
    (sound,) = noise(rng, network.input_shape[1])
    x = np.asarray(bands(sound[None]))[0]
    expected = by_the_equations(weights, x.astype("float64"))
    np.testing.assert_allclose(network(sound[None])[0], expected, rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="no layer for the weights .'lstm.weight_ih_l2'"):
        convert.take(model, weights | {"lstm.weight_ih_l2": weights["linear.bias"]})


def test_the_sounds_that_are_compared_have_one_to_four_windows():
    lengths = [len(sound) for sound in convert.sounds()]
    windows = [1 + max(0, (length - 19_200) // 12_320) for length in lengths]
    assert windows == [1, 1, 3, 4]
    again = np.concatenate(list(convert.sounds()))
    np.testing.assert_array_equal(np.concatenate(list(convert.sounds())), again)
