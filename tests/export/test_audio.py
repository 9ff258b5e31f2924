"""Tests exports of models that take raw audio. The mel bands of these models must stay in float."""

import timeit

import numpy as np
import pytest
import tensorflow as tf

import keras_dml
from keras_dml import export, layers, models
from keras_dml._backend import keras
from keras_dml.export import litert, parity

COMPACT = {"frame_layers": [(16, 5, 1), (16, 3, 2), (24, 1, 1)], "embedding": 8, "bands": 12}


def sound(samples, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / 16000
    voice = np.sin(2 * np.pi * 150 * t + np.sin(25 * t)) ** 3 * (1.1 + np.sin(30 * t)) * 0.2
    return (voice + rng.normal(scale=0.005, size=samples))[:, None].astype("float32")


@pytest.mark.slow
@pytest.mark.parametrize("quantization, bound", [("dynamic", 1e-5), ("float16", 0.01)])
def test_mel_bands_on_a_device_are_those_of_keras(quantization, bound, tmp_path):
    """Tests quiet mel bands, which int8 weights would change by 10 log units."""
    audio = keras.Input((None, 1))
    bands = layers.LogMel(30, name="log_mel")(audio)
    model = keras.Model(audio, layers.SequencePooling("max")(bands))
    file = export.tflite(model, tmp_path / "bands.tflite", quantization).path
    recordings = [sound(length, length) for length in (400, 3000, 9999)]
    actual, expected = litert.embed(file, recordings), keras_dml.embed(model, recordings)
    assert parity.relative_rms(actual[1:], expected[1:]) < bound
    np.testing.assert_allclose(actual[0], 0, rtol=0, atol=1e-5)  # one frame equals the mean


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["dynamic", "int8"])
def test_a_speech_network_takes_raw_audio_of_any_length(quantization, tmp_path):
    keras.utils.set_random_seed(3)
    model = models.xvector(**COMPACT)
    representative = [sound(length, length) for length in range(2000, 9000, 900)]
    file = export.tflite(
        model, tmp_path / "speech.tflite", quantization, representative, distance="cosine"
    ).path
    recordings = [sound(length, 1) for length in (1680, 5000, 12000)]
    actual, expected = litert.embed(file, recordings), keras_dml.embed(model, recordings)
    assert parity.relative_rms(actual, expected) < parity.BOUNDS[quantization].embedding


@pytest.mark.slow
def test_a_classifier_on_covariances_of_the_frames_with_speech(tmp_path):
    """Tests a model that computes a mask, covariance matrices and a learned similarity."""
    keras.utils.set_random_seed(4)
    audio = keras.Input((None, 1))
    x = layers.LogMel(12, min_frames=20)(audio)
    x = layers.VoiceActivity()(x)
    x = keras.layers.Dense(5)(x)
    x = layers.TangentVector()(layers.LogEig(1e-2)(layers.Covariance()(x)))
    encoder = keras.Model(audio, keras.layers.Dense(6)(x))
    model = models.PrototypicalClassifier(encoder, 3, hidden=(8,), normalize=True)
    recordings = [sound(length, 1) for length in (3500, 8000, 12000)]
    expected = keras_dml.embed(model, recordings)
    file = export.tflite(model, tmp_path / "speech.tflite", None).path
    assert parity.relative_rms(litert.embed(file, recordings), expected) < 1e-3
    export.saved_model(model, tmp_path / "speech")  # refuses itself where padding counts


@pytest.mark.slow
def test_a_long_recording_is_amplified_on_a_device_as_by_keras(tmp_path):
    """Tests a recording so long that rounding errors in its sum of squares could change the gain by
    1e-5.
    """
    audio = keras.Input((None, 1))
    louder = layers.MinimumLevel(10.0)(audio)
    model = keras.Model(audio, layers.SequencePooling("max")(louder))
    file = export.tflite(model, tmp_path / "level.tflite", None).path
    recordings = [sound(length, length) for length in (16_000, 53_387, 160_001)]
    actual, expected = litert.embed(file, recordings), keras_dml.embed(model, recordings)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=0)


@pytest.fixture(scope="module")
def speech_classifier():
    """Returns a classifier with a recurrent network after a layer `SilenceRemoval`."""
    keras.utils.set_random_seed(5)
    audio, window = keras.Input((None, 1)), keras.Input((4000, 1))
    frames = layers.MelPower(8)(window)
    network = keras.Model(window, layers.LastLSTM(6)(frames))
    x = layers.SilenceRemoval(least=4000)(audio)
    x = layers.WindowedMean(network, 2000, 3000)(layers.MinimumLevel(0.03)(x))
    encoder = keras.Model(audio, keras.layers.Dense(5)(x))
    return models.PrototypicalClassifier(encoder, 3, hidden=(8,), normalize=True)


def recordings_with_silence():
    """Draws synthetic speech. Before, after and within the speech there are zeros, noise, a click
    and an offset.
    """
    noise = np.random.default_rng(4).normal(scale=1e-3, size=(24_000, 1)).astype("float32")
    zeros, first, second = np.zeros((48_000, 1), "float32"), sound(12_000, 1), sound(9_000, 2)
    click = zeros.copy()
    click[20_000:20_050] = 0.9
    return [
        np.concatenate([zeros, first]),
        np.concatenate([noise, first, noise, second, noise]),
        np.concatenate([first, zeros, second, zeros + np.float32(0.01)]),
        np.concatenate([click, first, 1e-4 * second]),
        1e-3 * np.concatenate([zeros, second, noise]),
        zeros,
        zeros + np.float32(0.2),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("quantization", "bound"), [(None, 1e-4), ("float16", 5e-3)])
def test_a_device_cuts_out_the_silence_that_keras_cuts_out(
    quantization, bound, speech_classifier, tmp_path
):
    recordings = recordings_with_silence()
    expected = keras_dml.embed(speech_classifier, recordings, batch_size=1)
    file = export.tflite(speech_classifier, tmp_path / "speech.tflite", quantization).path
    rows = litert.embed(file, recordings)
    for row, wanted in zip(rows, expected, strict=True):
        assert parity.relative_rms(row, wanted) < bound
    together = keras_dml.embed(speech_classifier, recordings, batch_size=len(recordings))
    np.testing.assert_allclose(together, expected, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_a_saved_model_cuts_out_silence_in_padded_batches(speech_classifier, tmp_path):
    recordings = recordings_with_silence()
    expected = keras_dml.embed(speech_classifier, recordings, batch_size=1)
    folder = export.saved_model(speech_classifier, tmp_path / "speech").path
    steps = [len(recording) for recording in recordings]
    batch = np.full((len(steps), max(steps) + 700, 1), 0.5, "float32")
    for row, recording in zip(batch, recordings, strict=True):
        row[: len(recording)] = recording
    embed = tf.saved_model.load(str(folder)).signatures["embed"]
    rows = embed(signal=batch, length=np.int32(steps))["embedding"]
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_silence_costs_no_time_on_a_device(speech_classifier, tmp_path):
    """Tests that silence in a recording does not make a recurrent network after `SilenceRemoval`
    slower.
    """
    file = export.tflite(speech_classifier, tmp_path / "speech.tflite", None).path
    speech = sound(16_000, 1)
    padded = np.concatenate([speech, np.zeros((320_000, 1), "float32")])
    litert.embed(file, [speech])
    alone, within = (
        min(timeit.repeat(lambda x=x: litert.embed(file, [x]), number=1, repeat=5))
        for x in (speech, padded)
    )
    assert within < 5 * alone  # with all 21 windows it was more than ten times
