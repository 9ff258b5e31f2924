"""Compares filters on the mel axis, power spectra and pre-emphasis with librosa."""

import warnings

import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.geometry.signals.spectrum import power_spectrum
from keras_dml.layers import LogMel, MelPower
from keras_dml.layers.log_mel import mel_filters
from keras_dml.layers.mel_power import slaney_filters

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    librosa = pytest.importorskip("librosa", reason="librosa is not here: pip install '.[parity]'")

SETTINGS = ((16000, 400, 40), (16000, 512, 30), (8000, 200, 20), (44000, 1100, 64))


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def speech(rng, seconds, rate):
    """Draws a signal in [-1, 1] that resembles speech: harmonics with changing loudness, and weak
    noise.
    """
    t = np.arange(round(seconds * rate)) / rate
    voice = np.sin(2 * np.pi * 140 * t + np.sin(20 * t)) ** 3 * (1.1 + np.sin(30 * t)) * 0.2
    return voice + rng.normal(scale=0.01, size=len(t))


def test_filters_on_slaneys_mel_axis():
    for rate, transform, bands in SETTINGS:
        expected = librosa.filters.mel(sr=rate, n_fft=transform, n_mels=bands, dtype=np.float64)
        result = slaney_filters(transform, bands, rate)
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


def test_filters_on_the_mel_axis_of_htk():
    """Tests that mel filters have the same edges as in librosa.

    The sides of the triangles are straight on the mel axis in keras-dml, and straight on the axis
    in hertz in librosa. All triangles are 0 at their edges and 1 at their peaks, and no weight
    differs by more than 0.06 between the libraries.
    """
    for rate, transform, bands in SETTINGS:
        low, high = 20.0, 0.475 * rate
        result = mel_filters(transform, bands, rate, low, high)
        edges = librosa.mel_frequencies(bands + 2, fmin=low, fmax=high, htk=True)
        mel = librosa.hz_to_mel(librosa.fft_frequencies(sr=rate, n_fft=transform), htk=True)
        marks = librosa.hz_to_mel(edges, htk=True)
        expected = [
            np.interp(mel, marks[band : band + 3], [0, 1, 0], left=0, right=0)
            for band in range(bands)
        ]
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-9)
        straight_in_hertz = librosa.filters.mel(
            sr=rate, n_fft=transform, n_mels=bands, fmin=low, fmax=high, htk=True, norm=None
        )
        np.testing.assert_allclose(result, straight_in_hertz, rtol=0, atol=0.06)


def test_power_in_mel_bands(rng):
    for rate, bands in ((16000, 40), (8000, 20)):
        audio = speech(rng, 0.3, rate)
        expected = librosa.feature.melspectrogram(
            y=audio,
            sr=rate,
            n_fft=round(0.025 * rate),
            hop_length=round(0.010 * rate),
            n_mels=bands,
            center=False,
            dtype=np.float64,
        ).T
        for dtype, rtol in (("float64", 1e-9), ("float32", 1e-5)):
            result = numpy(MelPower(bands, rate, dtype=dtype)(audio[None, :, None]))[0]
            limit = rtol * expected.max()
            np.testing.assert_allclose(result, expected, rtol=0, atol=limit)


def test_power_spectra(rng):
    audio = rng.normal(size=400)
    for window in ("hann", "boxcar"):
        expected = np.abs(
            librosa.stft(audio, n_fft=400, hop_length=400, window=window, center=False)
        )
        weights = librosa.filters.get_window(window, 400, fftbins=True)
        result = numpy(power_spectrum((audio * weights)[None]))[0]
        np.testing.assert_allclose(result, expected[:, 0] ** 2, rtol=0, atol=1e-9)


def test_logarithms_of_mel_bands(rng):
    """Compares log-mel bands that are computed from librosa's spectra frame by frame.

    Pre-emphasis is applied to each frame, where the predecessor of the first sample is the first
    sample itself. Then a Hamming window is applied, and the mean over frames is subtracted. The
    functions of librosa apply pre-emphasis to whole recordings and do not subtract the mean.
    """
    rate, bands = 16000, 30
    audio = speech(rng, 0.3, rate)
    frames = librosa.util.frame(audio, frame_length=400, hop_length=160).T
    emphasized = np.stack(
        [librosa.effects.preemphasis(frame, coef=0.97, zi=[-0.97 * frame[0]]) for frame in frames]
    )
    power = np.abs(np.fft.rfft(emphasized * np.hamming(400), 512)) ** 2
    logs = np.log(np.maximum(power @ mel_filters(512, bands, rate).T, 1e-6))
    for dtype, atol in (("float64", 1e-9), ("float32", 1e-3)):
        result = numpy(LogMel(bands, rate, dtype=dtype)(audio[None, :, None]))[0]
        np.testing.assert_allclose(result, logs - logs.mean(axis=0), rtol=0, atol=atol)
