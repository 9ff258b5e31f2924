import functools

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.losses import WassersteinLoss
from keras_dml.models import lenet, sequence_encoder, with_shift

CHANNELS, MOVED, LONGEST = 3, 5, 24


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@functools.cache
def models(aggregation="quantile", **options):
    """An encoder, and the same moved by random discriminants."""
    keras.utils.set_random_seed(5)
    encoder = sequence_encoder(CHANNELS, aggregation=aggregation, knots=4, **options)
    moved = with_shift(encoder, (0, 2, 9), MOVED)
    shift, rng = moved.get_layer("shift"), np.random.default_rng(5)
    shift.set_weights([rng.normal(size=weight.shape) for weight in shift.get_weights()])
    return encoder, moved


def recording(rng, length):
    return rng.normal(size=(1, length, CHANNELS)).astype("float32")


def test_it_answers_like_the_encoder_until_it_has_weights(rng):
    encoder = sequence_encoder(CHANNELS, knots=4)
    moved, x = with_shift(encoder, (0, 1), MOVED), recording(rng, LONGEST)
    np.testing.assert_allclose(numpy(moved(x)), numpy(encoder(x)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("normalization", ["channel", "instance", "difference"])
def test_distributions_of_the_first_filters_move_as_a_whole(rng, normalization):
    encoder, moved = models(normalization=normalization, halve_every=2)
    x = recording(rng, LONGEST)
    before, after = numpy(encoder(x))[0], numpy(moved(x))[0]
    shift = after[:MOVED, :1] - before[:MOVED, :1]
    assert np.abs(shift).min() > 1e-3
    np.testing.assert_allclose(after[:MOVED], before[:MOVED] + shift, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(after[MOVED:], before[MOVED:])


@pytest.mark.parametrize("aggregation", ["quantile", "max", "mean"])
@pytest.mark.parametrize("length", [1, 8, 13])
def test_the_embedding_of_a_padded_recording_is_the_bare_ones(rng, aggregation, length):
    _, moved = models(aggregation)
    signal = recording(rng, length)
    garbage = 1e3 * recording(rng, LONGEST)
    garbage[:, :length] = signal
    found = numpy(moved(garbage, mask=np.arange(LONGEST)[None] < length))
    np.testing.assert_allclose(found, numpy(moved(signal)), rtol=1e-5, atol=1e-5)


def test_it_is_trained_saved_and_loaded_like_any_model(rng, tmp_path):
    moved = with_shift(sequence_encoder(CHANNELS, knots=4), (0, 1), MOVED)
    x = np.repeat(rng.normal(size=(4, LONGEST, CHANNELS)), 2, axis=0).astype("float32")
    x += 0.1 * rng.normal(size=x.shape).astype("float32")
    moved.compile(keras.optimizers.Adam(1e-2), WassersteinLoss())
    moved.fit(x, np.repeat(np.arange(4), 2), batch_size=8, verbose=0)
    assert np.abs(moved.get_layer("shift").get_weights()[0]).max() > 1e-3
    moved.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(numpy(loaded(x)), numpy(moved(x)))


@pytest.mark.parametrize(
    "model",
    [
        "gait_qp_wl",
        keras.Sequential([keras.Input((None, 2)), keras.layers.GlobalMaxPooling1D()]),
        lenet((12, 12, 1)),
    ],
)
def test_what_is_no_such_encoder_is_refused(model):
    with pytest.raises(ValueError, match="with_shift takes an encoder of `keras_dml.models.seq"):
        with_shift(model, (0,), 1)


def test_a_second_shift_is_refused_and_not_put_in_place_of_the_first():
    with pytest.raises(ValueError, match="has a layer `shift` already"):
        with_shift(models()[1], (0,), 1)


def test_more_discriminants_than_filters_are_refused():
    with pytest.raises(ValueError, match="65 discriminants need as many filters; there are 64"):
        with_shift(sequence_encoder(CHANNELS), (0,), 65)
