"""Tests that resampling keeps frequencies in the pass band, and attenuates images and aliases."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.io.wavfile
import scipy.signal

from keras_dml import recordings
from keras_dml.recordings import _resampling
from tests.bench import resampling

# Pairs of old and new sampling rates of phones, eye trackers, amplifiers and telephones.
PAIRS = resampling.PAIRS


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(resampling, "TONES", 7)
    monkeypatch.setattr(resampling, "SECONDS_OF_STEPS", 2000)


def test_the_list_of_pairs_of_rates_is_complete():
    assert len(PAIRS) >= 10 and {a < b for a, b in PAIRS} == {True, False}


@pytest.mark.parametrize(("native_hz", "rate_hz"), PAIRS)
def test_the_passband_is_kept_and_images_are_removed(native_hz, rate_hz):
    change, image = resampling.measured(native_hz, rate_hz)
    assert abs(change) < 0.5 and image < -50


def test_a_tone_of_a_call_keeps_its_level_when_the_rate_is_raised(tmp_path):
    path = tmp_path / "call.wav"
    tone = 0.5 * np.sin(2 * np.pi * 3000 * np.arange(16_000) / 8000)
    scipy.io.wavfile.write(path, 8000, tone.astype(np.float32))
    call = recordings.read(path, resample_hz=16_000)
    assert len(call.values) == 2 * 16_000 - 1 and call.rate_hz == 16_000
    power = np.abs(np.fft.rfft(call.values[1000:-1000, 0] * np.hanning(len(call.values) - 2000)))
    hz = np.fft.rfftfreq(len(call.values) - 2000, 1 / 16_000)
    image = power[np.abs(hz - 5000) < 200].max() / power[np.abs(hz - 3000) < 200].max()
    assert 20 * np.log10(image) < -50
    level, _ = resampling.level(call.values[1000:-1000, 0], 3000, 16_000)
    assert level == pytest.approx(0.5, rel=0.01)
    assert any("frequencies above 4000 Hz" in note for note in call.notes)


def test_a_lower_rate_leaves_no_note(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(400, 2)))
    assert recordings.read(tmp_path / "a.npy", None, 100, 50).notes == ()


def test_recordings_of_all_lengths_are_resampled_correctly(tmp_path):
    """Tests recordings that are beginnings of one long recording. After resampling, each short
    recording must still be a beginning of the long recording.
    """
    signal = np.random.default_rng(0).normal(size=1200).round(4)
    path, lengths = tmp_path / "a.csv", range(600, 1200, 7)
    assert len(lengths) > 50
    whole = None
    for count in reversed(lengths):
        rows = [f"{i * 0.01},{x}" for i, x in enumerate(signal[:count])]
        path.write_text("\n".join(["t,x", *rows]))
        values = recordings.read(path, resample_hz=50).values[:, 0]
        assert len(values) == (count - 1) // 2 + 1
        whole = values if whole is None else whole
        np.testing.assert_allclose(values[:-40], whole[: len(values) - 40], rtol=0, atol=1e-3)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
@pytest.mark.parametrize(("native_hz", "rate_hz"), [(100, 50), (50, 100), (44_100, 16_000)])
def test_short_recordings_are_resampled_without_new_extremes(tmp_path, count, native_hz, rate_hz):
    path = tmp_path / "a.npy"
    np.save(path, np.full((count, 2), 7.0))
    if rate_hz * count < native_hz:
        with pytest.raises(ValueError, match="shorter than one time step"):
            recordings.read(path, ["1", "2"], native_hz, rate_hz)
        return
    values = recordings.read(path, ["1", "2"], native_hz, rate_hz).values
    assert len(values) == int((count - 1) * rate_hz / native_hz) + 1
    np.testing.assert_allclose(values, 7, rtol=1e-3)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("up", "down"), [(1, 2), (2, 1), (160, 441), (125, 256), (1, 50)])
def test_the_filter_equals_scipys(up, down, channels):
    values = np.random.default_rng(up).normal(size=(6000, channels))
    width, cutoff = 0.1 / max(up, down), 0.95 / max(up, down)
    taps, beta = scipy.signal.kaiserord(65, width)
    window = scipy.signal.firwin(2 * (taps // 2 + 1) + 1, cutoff, window=("kaiser", beta))
    expected = scipy.signal.resample_poly(values, up, down, axis=0, window=window)
    result = _resampling.polyphase(values, Fraction(up, down))
    end = len(window) // (2 * down) + 1  # SciPy adds zeros at the ends
    inner = slice(end, len(result) - end)
    assert len(result[inner]) > 10
    np.testing.assert_allclose(result[inner], expected[inner], rtol=0, atol=1e-12)


def test_a_ramp_stays_a_ramp_to_its_ends():
    ramp = np.arange(300.0)[:, None]
    values = _resampling.polyphase(ramp, _resampling.ratio_of(16_000, 44_100))
    np.testing.assert_allclose(values[:, 0], np.arange(len(values)) * 441 / 160, rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("wanted", "native", "ratio"),
    [
        (16_000, 44_100, (160, 441)),
        (50, 100.00000000001, (1, 2)),
        (50, 99.99999, (1, 2)),
        (50, 102.4, (125, 256)),
        (100, 49.999, (2, 1)),
    ],
)
def test_ratios_of_rates_do_not_follow_rounding(wanted, native, ratio):
    assert _resampling.ratio_of(wanted, native) == Fraction(*ratio)


def test_the_clock_decides_between_similar_rates(tmp_path):
    """Tests that resampling from 49.5 to 50 Hz keeps the frequency of a wave of 5 Hz for 40 s."""
    times = np.arange(2000) / 49.5
    rows = [f"{t:.6f},{np.sin(2 * np.pi * 5 * t):.6f}" for t in times]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    values = recordings.read(tmp_path / "a.csv", resample_hz=50).values[:, 0]
    expected = np.sin(2 * np.pi * 5 * np.arange(len(values)) / 50)
    np.testing.assert_allclose(values[50:-50], expected[50:-50], rtol=0, atol=0.01)


def jittered(rate_hz, count, spread, frequency):
    rng = np.random.default_rng(1)
    times = (np.arange(count) + rng.uniform(-spread, spread, count)) / rate_hz
    times -= times[0]
    return times, np.sin(2 * np.pi * frequency * times)


@pytest.mark.parametrize("spread", [0.05, 0.2, 0.4])
@pytest.mark.parametrize(
    ("rate_hz", "frequency"), [(50, 22), (100, 44), (200, 44), (128, 44), (64, 28), (100, 10)]
)
def test_jitter_of_a_clock_of_100_hz_keeps_the_passband(tmp_path, spread, rate_hz, frequency):
    times, wave = jittered(100, 3000, spread, frequency)
    rows = [f"{t:.6f},{x:.6f}" for t, x in zip(times, wave, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    values = recordings.read(tmp_path / "a.csv", resample_hz=rate_hz).values[300:-300, 0]
    level, rest = resampling.level(values, frequency, rate_hz)
    assert abs(20 * np.log10(level)) < 0.5 and rest < 0.12


@pytest.mark.parametrize("count", [3, 5, 9, 20])
@pytest.mark.parametrize("rate_hz", [25, 50, 100])
def test_a_short_jittered_recording_stays_within_its_range(tmp_path, count, rate_hz):
    times, _ = jittered(50, count, 0.3, 5)
    rows = [f"{t:.6f},{7 + 0.5 * (i % 2)}" for i, t in enumerate(times)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    values = recordings.read(tmp_path / "a.csv", ["x"], resample_hz=rate_hz).values
    assert values.min() > 6 and values.max() < 8.5


def test_two_samples_at_nearly_one_time_do_not_ring(tmp_path):
    times = np.sort(np.r_[np.arange(300) / 50, np.arange(5, 290, 37) / 50 + 1e-5])
    noise = np.random.default_rng(0).normal(size=len(times))
    rows = [f"{t:.6f},{x:.6f}" for t, x in zip(times, noise, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    values = recordings.read(tmp_path / "a.csv", resample_hz=50).values
    assert np.abs(values).max() < 1.6 * np.abs(noise).max()


def test_times_that_were_rounded_to_milliseconds_are_even(tmp_path):
    """Tests times at 512 Hz that are rounded to whole milliseconds. The resulting steps of 1 and 2
    ms do not count as jitter."""
    times = np.arange(5000) / 512
    wave = np.sin(2 * np.pi * 100 * times)
    rows = [f"{t:.3f},{x:.6f}" for t, x in zip(times, wave, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["time_s,x", *rows]))
    assert recordings.read(tmp_path / "a.csv").rate_hz == pytest.approx(512, rel=1e-3)
    values = recordings.read(tmp_path / "a.csv", resample_hz=256).values[200:-200, 0]
    level, rest = resampling.level(values, 100, 256)
    assert abs(20 * np.log10(level)) < 0.1 and rest < 0.02


@pytest.mark.parametrize("factor", [2.1, 3, 100])
def test_a_rate_that_was_not_recorded_is_refused(tmp_path, factor):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(400, 2)))
    with pytest.raises(ValueError, match=f"cannot be resampled to {50 * factor:g} Hz"):
        recordings.read(tmp_path / "a.npy", None, 50, 50 * factor)


def test_a_clock_that_is_slow_by_one_percent_may_be_raised_to_twice_its_nominal_rate(tmp_path):
    rows = [f"{i / 49.6:.6f},{i % 7}" for i in range(300)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x", *rows]))
    assert recordings.read(tmp_path / "a.csv", resample_hz=100).rate_hz == 100
