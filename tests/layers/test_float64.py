"""Tests that layers compute means in float64 under a float64 policy. Keras's own mean would round
to float32 on JAX."""

import numpy as np
import pytest

from keras_dml import layers
from keras_dml._backend import ops
from keras_dml.layers.log_mel import mel_filters

ROUNDING = 1e-12


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def standardized(x):
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-6)


def averaged(x):
    return x.mean(axis=1)


def mean_and_deviation(x):
    return np.concatenate([x.mean(axis=1), x.std(axis=1)], axis=-1)


def in_windows(x):
    return x.reshape(len(x), -1, 3, x.shape[-1]).mean(axis=2)


CASES = {
    "standardization": (layers.InstanceStandardization, standardized),
    "mean pooling": (lambda **kwargs: layers.SequencePooling("mean", **kwargs), averaged),
    "statistics pooling": (layers.StatisticsPooling, mean_and_deviation),
    "average pooling": (lambda **kwargs: layers.MaskedAveragePooling1D(3, **kwargs), in_windows),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("masked", [False, True])
def test_means_over_time_are_not_rounded_to_float32(rng, name, masked):
    build, expected = CASES[name]
    x = rng.normal(size=(3, 12, 4)) * 10 + 3
    actual = numpy(build(dtype="float64")(x, mask=np.ones((3, 12), bool) if masked else None))
    np.testing.assert_allclose(actual, expected(x), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("masked", [False, True])
def test_log_mel_bands_are_not_rounded_to_float32(rng, masked):
    layer, audio = layers.LogMel(8, dtype="float64"), rng.uniform(-1, 1, size=(1, 720, 1))
    frames = np.stack([audio[0, start : start + 400, 0] for start in (0, 160, 320)])
    before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    windowed = (frames - 0.97 * before) * np.hamming(400)
    power = np.abs(np.fft.rfft(windowed, 512)) ** 2
    bands = np.log(power @ mel_filters(512, 8).T)
    actual = numpy(layer(audio, mask=np.ones((1, 720), bool) if masked else None))[0]
    np.testing.assert_allclose(actual, bands - bands.mean(axis=0), rtol=ROUNDING, atol=ROUNDING)


def test_the_level_of_speech_is_not_rounded_to_float32():
    """Tests that a change of the level by 1e-12 is visible. A mean in float32 would hide the
    change, because its rounding error is 1e-8.
    """
    level = np.array([1.0, 1.2, 1.4, 1.7])
    gap, stddev = level - level.mean(), np.sqrt(level.var() + 1e-4)
    for change, expected in ((1e-12, True), (-1e-12, False)):
        layer = layers.VoiceActivity(-gap[1] / stddev + change, dtype="float64")
        mask = layer.compute_mask(np.repeat(level[None, :, None], 3, axis=2))
        assert numpy(mask).tolist() == [[False, expected, True, True]]


def test_the_batch_mean_of_matrices_is_not_rounded_to_float32(rng):
    x = np.exp(rng.normal(scale=1e-4, size=(8, 1, 1)))
    start = x.mean()
    center = start * np.exp(np.mean(np.log(x / start)))
    actual = numpy(layers.RiemannianBatchNormalization(dtype="float64")(x, training=True))
    np.testing.assert_allclose(actual, x / center, rtol=ROUNDING)
