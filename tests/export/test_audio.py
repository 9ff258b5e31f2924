"""Raw audio goes into the .tflite file, and its mel bands stay float."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("quantization, bound", [("dynamic", 1e-5), ("float16", 0.01)])
def test_mel_bands_on_a_device_are_those_of_keras(quantization, bound, tmp_path):
    """As one convolution or by a matrix, int8 weights would move quiet bands by 10 log units."""
    audio = keras.Input((None, 1))
    bands = layers.LogMel(30, name="log_mel")(audio)
    model = keras.Model(audio, layers.SequencePooling("max")(bands))
    file = export.tflite(model, tmp_path / "bands.tflite", quantization).path
    recordings = [sound(length, length) for length in (400, 3000, 9999)]
    found, expected = litert.embed(file, recordings), keras_dml.embed(model, recordings)
    assert parity.relative_rms(found[1:], expected[1:]) < bound
    np.testing.assert_allclose(found[0], 0, rtol=0, atol=1e-5)  # the only frame is its own mean


@pytest.mark.parametrize("quantization", ["dynamic", "int8"])
def test_a_speech_network_takes_raw_audio_of_any_length(quantization, tmp_path):
    keras.utils.set_random_seed(3)
    model = models.xvector(**COMPACT)
    own = [sound(length, length) for length in range(2000, 9000, 900)]
    file = export.tflite(
        model, tmp_path / "speech.tflite", quantization, own, distance="cosine"
    ).path
    recordings = [sound(length, 1) for length in (1680, 5000, 12000)]
    found, expected = litert.embed(file, recordings), keras_dml.embed(model, recordings)
    assert parity.relative_rms(found, expected) < parity.BOUNDS[quantization].embedding


def test_a_classifier_on_covariances_of_the_frames_with_speech(tmp_path):
    """A mask made within, matrices, and a learned similarity: each alone was exported before."""
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


def test_a_long_recording_is_amplified_on_a_device_as_by_keras(tmp_path):
    """A device adds squares one after the other: in one row they moved the gain by 1e-5."""
    audio = keras.Input((None, 1))
    louder = layers.MinimumLevel(10.0)(audio)
    model = keras.Model(audio, layers.SequencePooling("max")(louder))
    file = export.tflite(model, tmp_path / "level.tflite", None).path
    recordings = [sound(length, length) for length in (16_000, 53_387, 160_001)]
    found, expected = litert.embed(file, recordings), keras_dml.embed(model, recordings)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0)
