"""Tests that SilenceRemoval removes silence at any place in recordings of any loudness."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml import layers
from keras_dml._backend import keras, ops

RATE = 16_000
BLOCK = 320


def speech(seconds, seed=0, level=0.1):
    """Returns noise whose loudness changes between 0 and -8 dB, as in speech with syllables."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * RATE)) / RATE
    loudness = 0.7 + 0.3 * np.sin(2 * np.pi * 3 * time)
    return (level * loudness * rng.normal(size=len(time))).astype("float32")


def cut(sound, **options):
    """Returns the steps of the layer's output that are valid in its mask."""
    layer = layers.SilenceRemoval(**options)
    batch = ops.convert_to_tensor(np.asarray(sound, "float32")[None, :, None])
    mask = np.asarray(ops.convert_to_numpy(layer.compute_mask(batch)))[0]
    output = np.asarray(ops.convert_to_numpy(layer(batch)))[0, :, 0]
    assert output.shape == mask.shape and (np.diff(mask.astype(int)) <= 0).all()
    return output[mask]


def silence(kind, seconds, seed=1):
    count = round(seconds * RATE)
    rng = np.random.default_rng(seed)
    return {
        "zeros": np.zeros(count),
        "an offset": np.full(count, 0.03),
        "one bit": np.round(rng.random(count)) / 2**15,
        "quiet noise": 1e-3 * rng.normal(size=count),
        "noise 16 dB below": 1.6e-2 * rng.normal(size=count),
        "hum": 1e-3 * np.sin(2 * np.pi * 50 * np.arange(count) / RATE),
    }[kind].astype("float32")


KINDS = ("zeros", "an offset", "one bit", "quiet noise", "noise 16 dB below", "hum")


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seconds", [3, 10, 30])
def test_silence_before_after_and_within_is_cut_out(kind, seconds):
    first, second = speech(1.2), speech(0.8, 2)
    quiet = silence(kind, seconds)
    sound = np.concatenate([quiet, first, quiet, second, quiet])
    output = cut(sound)
    assert len(output) <= len(first) + len(second) + 4 * BLOCK  # blocks at the four ends
    for part in (first, second):  # the output has whole blocks of both parts, one after the other
        start = np.flatnonzero(np.isclose(output, part[BLOCK], rtol=0, atol=1e-7))
        rest = part[BLOCK:-BLOCK]
        assert any(np.array_equal(output[i : i + len(rest)], rest) for i in start)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("where", ["before", "after", "within"])
def test_zeros_change_nothing(where):
    """Tests that added zeros do not change the result. The test adds whole blocks of zeros, so that
    the blocks of speech do not shift."""
    sound, zeros = speech(2.0), np.zeros(10 * RATE, "float32")
    half = len(sound) // 2
    parts = {
        "before": [zeros, sound],
        "after": [sound, zeros],
        "within": [sound[:half], zeros, sound[half:]],
    }[where]
    np.testing.assert_array_equal(cut(np.concatenate(parts)), sound)


@pytest.mark.slow
@pytest.mark.slow_on_jax
@settings(deadline=None, max_examples=20)
@given(gain=st.floats(1e-3, 10), start=st.integers(0, 20_000))
def test_the_scale_of_a_recording_and_the_beginning_of_speech_do_not_matter(gain, start):
    sound = np.concatenate([1e-4 * speech(start / RATE, 5), speech(1.0), 1e-4 * speech(2.0, 3)])
    output = cut(gain * sound)
    assert RATE <= len(output) <= 1.7 * RATE
    np.testing.assert_allclose(np.std(output), gain * np.std(cut(sound)), rtol=1e-2)


@pytest.mark.slow_on_jax
def test_a_click_does_not_hide_the_speech():
    sound = np.concatenate([speech(1.0), 1e-4 * speech(5.0, 3)])
    sound[RATE // 2 :: 6 * RATE][:1] = 30.0
    sound[2 * RATE : 2 * RATE + 1600] = 20.0 * np.random.default_rng(7).normal(size=1600)
    output = cut(sound)
    assert RATE <= len(output) <= 2.4 * RATE


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("start", [0.02, 0.1, 0.6])
def test_only_long_pauses_are_removed(start):
    """Tests which pauses are removed from recordings that begin and end at several offsets."""
    for seconds, length in ((0.6, 0.6), (0.64, 0)):
        pause = silence("quiet noise", seconds)
        parts = [speech(start), pause, speech(0.62, 2), pause, speech(start, 3)]
        assert len(cut(np.concatenate(parts))) == round(RATE * (2 * start + 0.62 + 2 * length))


@pytest.mark.slow_on_jax
def test_weak_sounds_between_loud_ones_stay():
    sound = np.concatenate([speech(0.6), 1e-2 * speech(0.2, 4), speech(0.6, 5)])
    np.testing.assert_array_equal(cut(sound), sound)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("sound", [np.zeros(20_000), np.full(20_000, 0.3), speech(1.25)])
def test_silence_keeps_some_samples_and_constant_sound_keeps_all(sound):
    output = cut(sound, least=8000)
    assert 8000 <= len(output) <= len(sound)
    assert len(output) == len(sound) or np.ptp(sound) == 0


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.5])
def test_least_samples_of_a_short_sound_are_kept(seconds):
    output = cut(np.concatenate([np.zeros(30_000), speech(seconds), np.zeros(30_000)]), least=8000)
    assert 8000 <= len(output) <= 8000 + 2 * BLOCK + len(speech(seconds))


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("steps", [1, 319, 320, 321, 7999, 8160])
def test_recordings_of_any_length_pass(steps):
    sound = speech(1.0)[:steps]
    np.testing.assert_array_equal(cut(sound), sound)


@pytest.mark.slow_on_jax
def test_padding_is_never_speech_and_changes_nothing():
    sounds = [np.concatenate([speech(s), np.zeros(n, "float32")]) for s, n in ((1, 900), (0.7, 0))]
    steps = [len(sound) for sound in sounds]
    batch = np.full((2, max(steps) + 5000, 1), 9.0, "float32")
    for row, sound in zip(batch, sounds, strict=True):
        row[: len(sound), 0] = sound
    mask = np.arange(batch.shape[1]) < np.array(steps)[:, None]
    layer = layers.SilenceRemoval()
    output = np.asarray(ops.convert_to_numpy(layer(batch, mask=ops.convert_to_tensor(mask))))
    valid = layer.compute_mask(batch, ops.convert_to_tensor(mask))
    valid = np.asarray(ops.convert_to_numpy(valid))
    for row, rest, sound in zip(output, valid, sounds, strict=True):
        np.testing.assert_array_equal(row[rest, 0], cut(sound))


@pytest.mark.slow_on_jax
def test_nan_stays_in_the_recording():
    sound = np.concatenate([speech(1.0), np.zeros(RATE)])
    sound[20_000] = np.nan
    assert np.isnan(cut(sound)).any()


@pytest.mark.slow_on_jax
def test_a_recurrent_layer_sees_the_speech_alone():
    """Tests that a later recurrent layer processes only the speech, also in a saved model that is
    called on a batch."""
    keras.utils.set_random_seed(3)
    audio = keras.Input((None, 1))
    x = layers.SilenceRemoval(least=3200)(audio)
    window = keras.Input((1600, 1))
    frames = keras.layers.Reshape((10, 160))(window)
    network = keras.Model(window, layers.LastLSTM(4)(frames))
    model = keras.Model(audio, layers.WindowedMean(network, 800, 1200)(x))
    sound, zeros = speech(1.0), np.zeros(5 * RATE, "float32")
    padded = np.concatenate([zeros, sound[:8000], zeros, sound[8000:], zeros])
    alone, within = (
        ops.convert_to_numpy(model(ops.convert_to_tensor(item[None, :, None])))
        for item in (sound, padded)
    )
    np.testing.assert_allclose(within, alone, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rate": 11025}, ValueError),
        ({"depth": 0}, ValueError),
        ({"depth": "30"}, TypeError),
        ({"pause": -0.1}, ValueError),
        ({"least": 0}, ValueError),
        ({"least": 2.5}, TypeError),
    ],
)
def test_invalid_arguments_are_refused_by_name(options, error):
    with pytest.raises(error, match=f"`{next(iter(options))}`"):
        layers.SilenceRemoval(**options)


def test_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"Received shape \(2, 30, 2\)"):
        layers.SilenceRemoval()(np.zeros((2, 30, 2), "float32"))
