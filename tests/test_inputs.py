"""Tests the checks of model inputs, and input contracts (the recordings that a model accepts)."""

import warnings

import numpy as np
import pytest

import keras_dml
from keras_dml import inputs, layers, models
from keras_dml._backend import keras
from keras_dml.contract import Contract

CHANNELS, UNITS = ["ax", "ay", "turn"], ["g", "g", "deg/s"]
RANGE = [[0.5, 2.0], [0.5, 2.0], [50.0, 200.0]]


def network(*before, channels=3):
    keras.utils.set_random_seed(3)
    signal = keras.Input((None, channels))
    return keras.Sequential([signal, *before, layers.SequencePooling(), keras.layers.Dense(3)])


def contracted(**options):
    given = {"units": UNITS, "rate_hz": 100, "min_steps": 8, "stddev_range": RANGE, **options}
    return network(layers.InputContract(CHANNELS, **given))


def walk(rng, steps=100, scale=1.0):
    """Returns a random recording whose standard deviations are in the middle of the range of the
    training recordings."""
    return rng.normal(size=(steps, 3)) * [scale, scale, 100]


# ---- kinds ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, kind",
    [
        (network, inputs.Signals),
        (contracted, inputs.Signals),
        (lambda: models.spdnet((4, 3, 2)), inputs.Matrices),
        (
            lambda: keras.Sequential([keras.Input((4, 4)), models.spdnet((4, 3, 2))]),
            inputs.Matrices,
        ),
        (lambda: models.spdnet((4, 3), estimator="oas"), inputs.Signals),
        (models.conv4, inputs.Images),
        (lambda: models.PrototypicalClassifier(models.conv4(), 3), inputs.Images),
    ],
)
def test_the_kind_is_known_from_the_model(make, kind):
    assert type(inputs.from_model(make())) is kind


def test_a_contract_before_a_layer_on_matrices_leaves_matrices():
    rows = layers.InputContract([*"abcd"], "uV^2")
    assert isinstance(
        inputs.from_model(models.with_contract(models.spdnet((4, 3)), rows)), inputs.Matrices
    )


def test_a_model_of_vectors_is_refused_with_its_shape():
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match=r"takes arrays of shape \(batch, 5\)"):
        inputs.from_model(model)


def test_a_batch_is_padded_with_zeros_and_says_where_recordings_end(rng):
    given = [np.float32(walk(rng, steps)) for steps in (4, 9)]
    taken = inputs.from_model(network())
    batch = taken.batch(given, steps=10)
    assert batch["signal"].shape == (2, 10, 3) and batch["length"].tolist() == [4, 9]
    assert not batch["signal"][0, 4:].any()
    np.testing.assert_array_equal(batch["signal"][0, :4], given[0])
    assert taken.batch(given)["signal"].shape[1] == 9
    item = taken.single(given[1])
    assert item["signal"].shape == (1, 9, 3) and item["length"] == 9


# ---- the contract -----------------------------------------------------------------------------


def parts():
    model = contracted()
    inner = keras.Input((None, 3))
    encoder = keras.Sequential([contracted(), keras.layers.Dense(2)])
    return {
        "model": model,
        "part": keras.Model(model.inputs[0], model.layers[1].output),
        "within": keras.Model(inner, model(inner)),
        "classifier": models.PrototypicalClassifier(encoder, 2, hidden=4),
    }


@pytest.mark.parametrize("name", ["model", "part", "within", "classifier"])
def test_every_model_with_a_contract_checks_rate_channels_length_and_padding(rng, name):
    model, good = parts()[name], walk(rng)
    assert len(keras_dml.embed(model, [good], rate_hz=100)) == 1
    with pytest.raises(ValueError, match="takes recordings of 100 Hz. Received rate_hz=50. Resam"):
        keras_dml.embed(model, [good], rate_hz=50)
    with pytest.raises(
        ValueError, match="Recording 1 has 2 channels, but the model takes 3: ax, ay, turn, in this"
    ):
        keras_dml.embed(model, [good, good[:, :2]])
    with pytest.raises(ValueError, match="Recording 1 has 7 steps.*allows 8 or more"):
        keras_dml.embed(model, [good, good[:7]])
    padded = np.concatenate([good, np.zeros((30, 3))])
    with pytest.raises(
        ValueError, match=r"Recording 1 ends in 30 steps of exact zeros.*recording\[:100\]"
    ):
        keras_dml.embed(model, [good, padded])


def test_a_largest_number_of_steps_is_kept(rng):
    model = contracted(max_steps=90)
    with pytest.raises(ValueError, match="Recording 0 has 100 steps.*allows 8 to 90"):
        keras_dml.embed(model, [walk(rng)])


def test_zeros_that_may_have_been_measured_pass(rng):
    model, signal = contracted(), walk(rng)
    signal[-4:] = 0  # less than a twentieth of the steps
    signal[20:40] = 0
    signal[:, 1] = walk(rng)[:, 1]
    keras_dml.embed(model, [signal])
    with pytest.raises(ValueError, match="Recording 0 is zero throughout"):
        keras_dml.embed(model, [np.zeros((50, 3))])


def test_long_lists_of_channels_are_cut_in_messages(rng):
    names = [f"c{i}" for i in range(64)]
    model = network(layers.InputContract(names, "uV"), channels=64)
    with pytest.raises(ValueError, match="takes 64: c0, .*, c10, ..., c63, in this order"):
        keras_dml.embed(model, [walk(rng)])


@pytest.mark.parametrize("factor, size", [(9.81, "9.[5-9]"), (1 / 9.81, "0.[01]")])
def test_another_unit_is_warned_of_with_its_channels(rng, factor, size):
    model = contracted()
    recordings = [walk(rng, scale=factor) for _ in range(3)]
    with pytest.warns(
        UserWarning, match=f"In the channels ax, ay, .* is ({size}).*had 0.5 to 2 g.*unit is not g"
    ):
        result = keras_dml.embed(model, [*recordings, walk(rng)])
    assert result.shape == (4, 3)


@pytest.mark.parametrize("factor, cause", [(30, "Perhaps"), (1 / 30, "Either nothing .*, or")])
def test_numbers_without_a_unit_are_not_told_to_be_converted(rng, factor, cause):
    model = contracted(units="1")
    with pytest.warns(UserWarning, match=rf"had .* to \S+\. {cause} their scale differs") as told:
        keras_dml.embed(model, [walk(rng, scale=factor)])
    assert not any("1 g is" in str(item.message) for item in told)


def test_a_few_loud_or_quiet_recordings_are_no_other_unit(rng):
    model = contracted()
    odd = [walk(rng, scale=scale) for scale in (30, 1e-3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keras_dml.embed(model, [walk(rng), *odd, walk(rng), walk(rng, scale=2.8)])


def test_a_channel_that_was_silent_in_training_is_compared(rng):
    model = contracted(stddev_range=[[0, 0], [0, 0], [50, 200]])
    with pytest.warns(UserWarning, match="In the channels ax, ay,"):
        keras_dml.embed(model, [walk(rng)])


def test_without_magnitudes_nothing_is_compared(rng):
    model = contracted(stddev_range=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keras_dml.embed(model, [walk(rng, scale=1e6)])


def test_a_contract_without_a_rate_says_that_there_is_none(rng):
    with pytest.raises(ValueError, match="rate_hz=100, but this model has no"):
        keras_dml.embed(contracted(rate_hz=None), [walk(rng)], rate_hz=100)


def test_a_model_without_a_contract_gets_that_of_its_card(rng):
    model = network()
    keras_dml.embed(model, [walk(rng, 3)])
    inputs.declare(model, Contract(CHANNELS, UNITS, 50, 4))
    with pytest.raises(ValueError, match="takes recordings of 50 Hz"):
        keras_dml.embed(model, [walk(rng)], rate_hz=100)
    with pytest.raises(ValueError, match="Recording 0 has 3 steps"):
        keras_dml.embed(model, [walk(rng, 3)])
    carrying = contracted()
    inputs.declare(carrying, Contract(CHANNELS, UNITS, 50))
    assert inputs.from_model(carrying).contract.rate_hz == 100
