import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import keras, ops
from keras_dml.layers import LogMel
from keras_dml.layers.log_mel import mel_filters
from tests.goldens import golden
from tests.gradients import finite_differences, gradients

RATE = 16000


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def speech(samples, rng, batch=1):
    """Returns a synthetic signal in [-1, 1] that resembles speech. The signal consists of modulated
    harmonics and weak noise.
    """
    t = np.arange(samples) / RATE
    voice = np.sin(2 * np.pi * 140 * t + np.sin(20 * t)) ** 3 * (1.1 + np.sin(30 * t)) * 0.2
    noise = rng.normal(scale=0.01, size=(batch, samples))
    return (voice + noise)[..., None].astype("float32")  # (batch, samples, 1)


def by_loops(audio, bands):
    """Computes log-mel bands from their definition, frame by frame in float64."""
    audio, filters, frames = audio.astype("float64"), mel_filters(512, bands), []
    for start in range(0, len(audio) - 400 + 1, 160):
        frame = audio[start : start + 400, 0]
        frame = np.array([frame[i] - 0.97 * frame[max(i - 1, 0)] for i in range(400)])
        power = np.abs(np.fft.fft(frame * np.hamming(400), 512)[:257]) ** 2
        frames.append([np.log(max(np.sum(power * band), 1e-6)) for band in filters])
    return np.array(frames) - np.mean(frames, axis=0)


# ---- what it computes -------------------------------------------------------------------------


def test_the_triangles_are_those_of_the_definition():
    example = golden("mel-filters", "seeds_p2")
    inputs, expected = example["inputs"], example["expected"]
    actual = mel_filters(
        inputs["n_fft"], inputs["filters"], inputs["sample_rate"], inputs["low"], inputs["high"]
    )
    np.testing.assert_allclose(actual, expected["matrix"], rtol=1e-9, atol=1e-12)
    frequencies = np.arange(33) * 250
    for band, low, high in zip(
        actual, expected["edges_hz"][:-2], expected["edges_hz"][2:], strict=True
    ):
        np.testing.assert_array_equal(band > 0, (frequencies > low) & (frequencies < high))


@pytest.mark.parametrize("samples", [559, 4000])
def test_bands_are_those_of_the_definition(samples, rng):
    layer, audio = LogMel(30), speech(samples, rng)
    expected = by_loops(audio[0], 30)
    actual = numpy(layer(audio))[0]
    assert actual.shape == (1 + (samples - 400) // 160, 30)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-4)


@given(st.integers(400, 10**6))
def test_output_shape_matches_the_number_of_frames(samples):
    _, frames, _ = LogMel(4).compute_output_shape((1, samples, 1))
    assert 400 + 160 * (frames - 1) <= samples < 400 + 160 * frames


def test_bands_are_invariant_to_loudness_and_microphone(rng):
    """Tests that multiplying the signal by a factor does not change the bands. A factor adds a
    constant to each logarithm, and the layer subtracts the mean of each band.
    """
    layer, audio = LogMel(30), speech(4000, rng)
    np.testing.assert_allclose(numpy(layer(2 * audio)), numpy(layer(audio)), rtol=0, atol=1e-4)


def test_silence_is_zero_and_finite():
    actual = numpy(LogMel(30)(np.zeros((1, 4000, 1), "float32")))
    np.testing.assert_allclose(actual, 0, rtol=0, atol=1e-5)


def test_another_rate_has_frames_of_the_same_duration():
    layer = LogMel(10, rate=8000, high=3800)
    assert (layer.frame, layer.hop, layer.transform) == (200, 80, 256)
    assert layer.compute_output_shape((1, 8000, 1)) == (1, 98, 10)


@pytest.mark.slow_on_jax
def test_gradients_are_those_of_finite_differences(rng):
    layer = LogMel(2, rate=200, low=0, high=100, dtype="float64")
    audio, weights = rng.normal(size=(1, 11, 1)), rng.normal(size=(1, 4, 2))

    def value(x):
        return ops.sum(layer(x) * weights)

    (actual,) = gradients(value, audio)
    expected = finite_differences(lambda x: numpy(value(x)), audio)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-8)


# ---- masks ------------------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_a_frame_is_valid_if_all_its_samples_are(rng):
    layer, audio, mask = LogMel(4), speech(2000, rng), np.ones((1, 2000), bool)
    mask[0, 700] = False  # in the frames that start at 320, 480 and 640
    actual = numpy(layer.compute_mask(audio, mask))[0]
    np.testing.assert_array_equal(np.flatnonzero(~actual), [2, 3, 4])


@pytest.mark.slow_on_jax
def test_padding_changes_no_frame_and_adds_zeros(rng):
    layer, audio = LogMel(8), speech(2500, rng)
    bare = numpy(layer(audio[:, :1700]))
    audio[:, 1700:] = np.nan
    actual = numpy(layer(audio, mask=np.arange(2500)[None] < 1700))
    np.testing.assert_allclose(actual[:, : bare.shape[1]], bare, rtol=0, atol=1e-5)
    assert (actual[:, bare.shape[1] :] == 0).all()


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 4000), (1, 4000, 2), (4000,)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(batch, samples, 1\)[^$]*stereo"):
        LogMel()(np.zeros(shape, "float32"))


def test_a_recording_shorter_than_a_frame_is_refused():
    with pytest.raises(ValueError, match="399 samples .*25 ms at 16000 Hz.* 400 samples .*25 ms"):
        LogMel()(np.zeros((1, 399, 1), "float32"))
    with pytest.raises(ValueError, match="399 samples"):
        LogMel()(keras.Input((399, 1)))


@pytest.mark.slow_on_jax
def test_recordings_shorter_than_min_frames_are_refused(rng):
    layer = LogMel(4, min_frames=3)
    assert layer.compute_output_shape((1, 720, 1)) == (1, 3, 4)
    with pytest.raises(ValueError, match="719 samples .*45 ms at 16000 Hz.* 720 samples .*45 ms"):
        layer(speech(719, rng))
    mask = np.arange(1000) < np.array([[1000], [600]])
    with pytest.raises(ValueError, match="600 samples"):
        layer(speech(1000, rng, batch=2), mask=mask)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rate": 22050}, "multiple of 200 Hz. Received rate=22050[^$]*Resample"),
        ({"rate": 0}, "multiple of 200 Hz"),
        ({"rate": 8000}, "4000 Hz.*high=7600"),
        ({"low": -1}, "8000 Hz"),
        ({"bands": 0}, "`bands` must be at least 1"),
        ({"bands": 200}, "200 bands between 20 and 7600 Hz are too many"),
    ],
)
def test_impossible_rates_and_bands_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LogMel(**options)
