"""Tests that the layer InputContract works in saved files and in parts of a model, and that it can
be added to a trained model."""

import numpy as np
import pytest

from keras_dml import layers, models
from keras_dml._backend import keras, ops
from keras_dml.contract import Contract

CHANNELS = ["x", "y", "z"]


def contract(**options):
    return layers.InputContract(CHANNELS, "g", 100, min_steps=5, **options)


def model():
    signal = keras.Input((None, 3))
    x = layers.MaskedConv1D(4, 3)(contract()(signal))
    return keras.Model(signal, layers.SequencePooling("mean")(x))


def carried(net):
    return [layer.contract for layer in net._flatten_layers() if hasattr(layer, "contract")]


def test_recordings_and_masks_pass_as_they_are(rng):
    x, mask = rng.normal(size=(2, 7, 3)).astype("float32"), np.arange(7) < [[7], [4]]
    layer = contract()
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(x)), x)
    assert layer.compute_mask(x, mask) is mask
    assert not layer.weights


def test_an_offset_beyond_half_precision_passes():
    layer = layers.InputContract(["height"], "m", dtype="mixed_float16")
    x = np.float32([[[100_000.5]]])
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(x)), x)


@pytest.mark.slow_on_jax
def test_it_is_in_a_keras_file_and_in_parts_of_the_model(tmp_path):
    net = model()
    net.layers[1].adapt([np.ones((9, 3)) * np.arange(9)[:, None]])
    (expected,) = carried(net)
    net.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    part = keras.Model(loaded.input, loaded.layers[2].output)
    signal = keras.Input((None, 3))
    within = keras.Model(signal, loaded(signal))
    encoder = keras.Sequential([loaded, keras.layers.Dense(2)])
    classifier = models.PrototypicalClassifier(encoder, 2, hidden=4)
    for item in (loaded, part, within, classifier):
        assert carried(item) == [expected]


def test_it_measures_the_range_of_standard_deviations():
    recordings = [scale * np.array([[-1.0, 0, 2], [1, 0, -2]]) for scale in range(1, 102)]
    layer = contract()
    layer.adapt(recordings)
    np.testing.assert_allclose(layer.contract.stddev_range, [[2, 100], [0, 0], [4, 200]])
    for bad in ([], [np.zeros((4, 2))], [np.zeros(3)]):
        with pytest.raises(ValueError, match=r"arrays of shape \(time, 3\)"):
            layer.adapt(bad)


@pytest.mark.slow_on_jax
def test_a_trained_model_gets_its_contract_and_keeps_its_weights(rng):
    net = models.sequence_encoder(3, knots=4)
    x = rng.normal(size=(2, 40, 3)).astype("float32")
    with_it = models.with_contract(net, contract())
    assert carried(with_it) == [contract().contract] and not carried(net)
    assert with_it.name == net.name and with_it.input.name == net.input.name
    assert [layer.name for layer in with_it.layers[2:]] == [layer.name for layer in net.layers[1:]]
    np.testing.assert_array_equal(ops.convert_to_numpy(with_it(x)), ops.convert_to_numpy(net(x)))
    with pytest.raises(ValueError, match="already has an input contract"):
        models.with_contract(with_it, contract())


@pytest.mark.slow_on_jax
def test_a_model_of_other_channels_is_refused():
    with pytest.raises(
        ValueError,
        match=r"names 3 channels. Received inputs with another number of channels.*None, 2",
    ):
        models.with_contract(models.sequence_encoder(2), contract())


@pytest.mark.parametrize(
    "given, message",
    [
        ({"channels": []}, "`channels` must be a list of one or more texts"),
        ({"channels": "xyz"}, "`channels` must be a list of one or more texts"),
        ({"channels": ["x", 2]}, "`channels` must be a list of one or more texts"),
        ({"units": ["g", "g"]}, "Received 2"),
        ({"units": " "}, "`units` must be a list of one or more texts"),
        ({"rate_hz": 0}, "`rate_hz` must be a positive number"),
        ({"rate_hz": "100"}, "`rate_hz` must be a positive number"),
        ({"rate_hz": 100, "events": True}, "events=True and rate_hz=100"),
        ({"min_steps": 0}, "`min_steps` must be at least 1"),
        ({"min_steps": 9, "max_steps": 8}, "`max_steps` must be at least 9"),
        ({"stddev_range": [[1, 2]]}, "`stddev_range` must hold .*smallest, largest.* each of 3"),
        ({"stddev_range": [[2, 1]] * 3}, "`stddev_range` must hold"),
        ({"stddev_range": [[-1, 1]] * 3}, "`stddev_range` must hold"),
    ],
)
def test_an_impossible_contract_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Contract(**{"channels": CHANNELS, "units": "g", **given})


@pytest.mark.parametrize("given", [{"min_steps": 2.5}, {"max_steps": "9"}])
def test_a_number_of_steps_is_an_integer(given):
    with pytest.raises(TypeError, match="must be an integer"):
        Contract(CHANNELS, "g", **given)


def test_events_may_end_in_zeros():
    signal = np.array([[1.0, 0]] * 8 + [[0, 0]] * 4)
    Contract(["key", "shift"], "1", events=True).check(0, signal)
    with pytest.raises(ValueError, match="which is padding"):
        Contract(["key", "shift"], "1").check(0, signal)


def test_a_constant_flag_gives_no_warning_of_magnitudes(recwarn):
    flags = Contract(["key", "shift"], "1", stddev_range=[[0, 0.5], [0, 0.5]], events=True)
    flags.warn_of_magnitudes([np.zeros((9, 2))])
    assert not recwarn
    with pytest.warns(UserWarning, match="key, shift"):
        flags.warn_of_magnitudes([np.arange(18.0).reshape(9, 2)])
