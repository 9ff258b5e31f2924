"""Tests that the quality checks give a reason for each faulty recording, and no reason for good
recordings."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml import inference, quality
from keras_dml._backend import keras
from keras_dml.fitted_potato import FittedPotato
from keras_dml.layers import Covariance, LogEig, TangentVector
from keras_dml.potato import Potato
from keras_dml.quality import Gate, Usual

CHANNELS = ("x", "y", "z")


def smooth(seed=0, steps=200, scale=1.0):
    white = np.random.default_rng(seed).normal(size=(steps + 6, 3))
    return scale * np.apply_along_axis(np.convolve, 0, white, np.hanning(7), "valid")


@pytest.fixture
def usual():
    return Usual(CHANNELS).measured([smooth(seed) for seed in range(9)])


def changed(change, seed=0):
    recording = smooth(seed)
    change(recording)
    return recording


def clip(x):
    np.clip(x[:, 0], -0.5, 0.5, out=x[:, 0])


@pytest.mark.parametrize(
    ("recording", "reason"),
    [
        (changed(lambda x: x[:, 1].fill(0.25)), "channel y is flat: its value is always 0.25"),
        (changed(lambda x: np.multiply(x[:, 1], 1e-4, out=x[:, 1])), "channel y is flat"),
        (changed(clip), "channel x is clipped: its value is at the limit -0.5 for"),
        (changed(lambda x: x[50:90].__setitem__(slice(None), x[50])), "values of step 50 for 39"),
        (changed(lambda x: x[50:150, 2].fill(9.0)), "channel z is stuck|channel z is clipped"),
        (smooth(scale=9.81), "9.* times as strong as usual. .* another unit"),
        (smooth(scale=1 / 9.81), "0.1.* times as strong as usual"),
        (changed(lambda x: x[7:9, 1].fill(np.nan)), "2 of 200 steps hold NaN .* first step 7 of"),
        (changed(lambda x: x[7, 1:2].fill(1e300)), "it has gaps: 1 of 200 steps"),
        (smooth()[:, :2], r"shape \(200, 2\), not \(time, 3\)"),
        (smooth()[:0], r"shape \(0, 3\)"),
        (np.full((9, 3), "one"), "it must hold real numbers"),
    ],
)
def test_what_is_wrong_is_said(usual, recording, reason):
    actual = usual.reason(recording)
    assert actual is not None and re.search(reason, actual), actual


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), factor=st.floats(0.4, 2.5), offset=st.floats(-50, 50))
def test_recordings_of_people_who_differ_pass(seed, factor, offset):
    usual = Usual(CHANNELS).measured([smooth(i) for i in range(5)])
    assert usual.reason(factor * smooth(seed) + offset) is None


UNITS = ("g", "g", "g", "deg/s", "deg/s", "deg/s", "hPa")


def of_units(seed):
    """Returns the usual properties of recordings with an accelerometer, a gyroscope and one channel
    of air pressure."""
    parts = [smooth(seed), smooth(1000 + seed, scale=90.0), smooth(2000 + seed)[:, :1]]
    return np.concatenate(parts, axis=1)


@pytest.fixture(scope="module")
def usual_of_units():
    recordings = [of_units(seed) for seed in range(9)]
    return Usual(tuple("abcdefp"), units=UNITS).measured(recordings)


@pytest.mark.parametrize(
    ("kind", "factor", "reason"),
    [
        (slice(0, 3), 9.81, "its channels in g are [0-9.]+ times as strong .* another unit"),
        (slice(0, 3), 1e-3, "its channels in g are 0.00[0-9.]+ times as strong as usual"),
        (slice(3, 6), np.pi / 180, "its channels in deg/s are 0.0[0-9.]+ times as strong"),
        (slice(2, 3), 1e-3, "channel c is flat"),
    ],
)
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 900))
def test_another_unit_of_one_kind_of_sensor_is_told(usual_of_units, kind, factor, reason, seed):
    recording = of_units(seed)
    recording[:, kind] *= factor
    assert re.match(reason, usual_of_units.reason(recording))


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 900),
    acc=st.floats(0.4, 2.5),
    gyro=st.floats(0.4, 2.5),
    air=st.floats(0.1, 9),
)
def test_sensors_may_vary_apart_and_a_channel_alone_of_its_unit_more(
    usual_of_units, seed, acc, gyro, air
):
    assert usual_of_units.reason(of_units(seed) * ([acc] * 3 + [gyro] * 3 + [air])) is None


def test_each_flat_channel_is_named_with_its_value():
    still = np.tile([0, 0.5, 9.81], (20, 1))
    reason = Usual(("x", "y", "z")).reason(still)
    assert reason == "channels x, y, z are flat: their values are always 0, 0.5, 9.81"
    more = Usual(tuple("abcd")).reason(np.tile([1.0, 2, 3, 4], (20, 1)))
    assert more == "channels a, b, c ... are flat: their values are always 1, 2, 3 ..."


def test_a_short_recording_is_judged_by_flat_channels_and_gaps_only(usual):
    usual = dataclasses.replace(usual, steps=100)
    weak, short = smooth(scale=0.1), 0.1 * smooth(steps=99)
    assert "times as strong" in usual.reason(weak) and usual.reason(short) is None
    assert usual.reason(changed(clip)[:99]) is None and "clipped" in usual.reason(changed(clip))
    short[:, 1] *= 1e-3
    assert usual.reason(short) is None
    short[:, 1] = 7.0
    assert "channel y is flat" in usual.reason(short)
    short[3, 0] = np.nan
    assert "it has gaps" in usual.reason(short)


def test_loudness_and_silence_of_sound_tell_nothing():
    sound = changed(lambda x: x[50:120].fill(0.0))[:, :1]
    usual = Usual(("sound",), is_sound=True).measured([sound])
    assert usual.reason(sound) is None and usual.reason(1e-3 * sound) is None
    assert "flat" in usual.reason(np.zeros((100, 1)))
    assert "clipped" in usual.reason(np.clip(sound, -0.2, 0.2))
    assert "times as strong" in Usual(CHANNELS[:1]).measured([sound]).reason(1e-3 * smooth()[:, :1])


RATE = 16_000


def voice(seed=0, seconds=2.0):
    """Draws a synthetic voice: pulses of falling pitch through a resonance, with weak noise."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * RATE)) / RATE
    pitch = rng.uniform(100, 140)
    pulses = np.sin(2 * np.pi * pitch * time * (1 - time / 20)) ** 15
    ringing = np.exp(-np.arange(200) / 40) * np.sin(2 * np.pi * 700 * np.arange(200) / RATE)
    syllables = 0.5 - 0.5 * np.cos(2 * np.pi * 3 * time)
    sound = syllables * np.convolve(pulses, ringing)[: len(time)]
    sound = sound / np.abs(sound).max() + 1e-3 * rng.normal(size=len(time))
    return 0.9 * sound[:, None]


def eight_bits(sound):
    return np.round(127 * sound) / 128


DISTORTIONS = {
    "square wave": np.sign,
    "hard": lambda x: np.clip(x, -0.09, 0.09),
    "hard, then half": lambda x: np.clip(10 * x, -0.9, 0.9) / 2,
    "hard, then noise": lambda x: (
        np.clip(10 * x, -0.9, 0.9) + 1e-3 * np.random.default_rng(9).normal(size=x.shape)
    ),
    "hard, then 8 bits": lambda x: eight_bits(np.clip(10 * x, -0.9, 0.9)),
    "hard, then 8 bits at a fifth": lambda x: eight_bits(np.clip(10 * x, -0.9, 0.9) / 5),
    "soft": lambda x: np.tanh(15 * x),
    "soft, then half": lambda x: np.tanh(15 * x) / 2,
    "soft, then another gain each second": lambda x: (
        np.tanh(15 * x) * np.repeat([0.2, 0.9], RATE)[:, None]
    ),
    "soft, with silence around": lambda x: np.pad(np.tanh(15 * x), ((80_000, 80_000), (0, 0))),
    "one side": lambda x: np.minimum(x, 0.05) + 0.4 * np.tanh(10 * np.minimum(x, 0)),
    "with an offset": lambda x: np.tanh(15 * x) / 2 + 0.3,
}


@pytest.fixture(scope="module")
def usual_voice():
    return Usual(("sound",), is_sound=True).measured([voice(seed) for seed in range(8)])


@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_a_distorted_voice_is_refused(usual_voice, distortion):
    reason = usual_voice.reason(DISTORTIONS[distortion](voice(20)))
    assert reason is not None and "clip" in reason, reason


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x,
        lambda x: x / np.abs(x).max(),  # at full scale
        lambda x: 1e-3 * x,
        lambda x: 10 * x,
        eight_bits,
        lambda x: eight_bits(0.1 * x),
        lambda x: x + 0.3,
        lambda x: np.pad(x, ((160_000, 160_000), (0, 0))),
        lambda x: np.tanh(x),  # one or two decibels louder than a voice
        lambda x: x + 0.02 * np.random.default_rng(9).normal(size=x.shape),
    ],
)
def test_a_clean_voice_passes_loud_quiet_in_eight_bits_and_with_noise(usual_voice, change):
    assert usual_voice.reason(change(voice(21))) is None


def test_crest_factors_are_those_of_known_waves():
    time = np.arange(RATE)[:, None]
    sine = np.sin(2 * np.pi * 100 * time / RATE)
    assert quality.crest_factor(sine) == pytest.approx(10 * np.log10(2), abs=0.01)
    assert quality.crest_factor(np.sign(sine + 1e-9)) == pytest.approx(0, abs=0.2)
    triangle = np.abs((time / 160) % 2 - 1) - 0.5
    assert quality.crest_factor(triangle) == pytest.approx(10 * np.log10(3), abs=0.1)
    for silent in (np.zeros((RATE, 1)), np.ones((RATE, 1)), sine[:100], sine[:0]):
        assert np.isnan(quality.crest_factor(silent))


@pytest.mark.parametrize("shape", [(), (RATE,), (RATE, 0), (2, RATE, 1)])
def test_the_crest_factor_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=re.escape(str(shape))):
        quality.crest_factor(np.zeros(shape))


@pytest.fixture(scope="module")
def model():
    signal = keras.Input((None, 3))
    layers = [Covariance(), LogEig(), TangentVector()]
    return keras.Sequential([signal, *layers])


@pytest.fixture(scope="module")
def gate(model):
    recordings = [smooth(seed) for seed in range(30)]
    matrices = np.stack([np.cov(x, rowvar=False) for x in recordings])
    usual = Usual(CHANNELS).measured(recordings)
    covariances = quality.covariances_of(model)
    potato = Potato(4.0).fit(matrices)
    fitted = FittedPotato(potato.statistics_, **potato.get_params())
    return Gate(usual, fitted, lambda x: inference.embed(covariances, x))


def test_a_loose_sensor_is_refused_by_the_potato_with_the_channel(gate):
    together = smooth(40)
    together[:, 2] = 4 * together[:, 0] + 0.01 * together[:, 2]
    clean = smooth(41)
    actual = gate.refused([clean, together, np.zeros((200, 3))])
    assert set(actual) == {1, 2}
    assert "vary together in a way that differs" in actual[1] and actual[1].endswith("channel z")
    assert "flat" in actual[2]


def test_without_a_potato_only_plain_checks_are_made(gate):
    assert Gate(gate.usual).refused([smooth(40)]) == {}
    assert quality.covariances_of(keras.Sequential([keras.Input((3, 3)), TangentVector()])) is None


def test_a_model_that_was_not_loaded_has_no_gate(model):
    assert quality.gate_of(model) is None


def typing(seed=0, flag=None):
    """Returns the hold times of 40 key presses, and a flag."""
    rng = np.random.default_rng(seed)
    flags = rng.random(40) < 0.2 if flag is None else np.full(40, flag)
    return np.c_[rng.gamma(2, 0.1, size=(40, 2)), flags]


@pytest.mark.parametrize("events", [False, True])
def test_flags_may_be_constant_in_a_recording_but_have_no_other_values(events):
    recordings = [*map(typing, range(4)), typing(4, flag=0), typing(5, flag=1)]
    usual = Usual(("hold", "gap", "key"), events=events)
    usual = usual.with_flags([None, [[1, 2]], *recordings]).measured(recordings)
    assert usual.flags == ("key",)
    assert [usual.reason(recording) for recording in recordings] == 6 * [None]
    recordings[0][3, 2] = 2
    assert "key is 2 in step 3" in usual.reason(recordings[0])
    recordings[1][:, 0] = 0.5
    assert "channel hold is flat" in usual.reason(recordings[1])


def test_a_sensor_that_is_sometimes_dead_is_not_a_flag():
    dead = smooth()
    dead[:, 0] = 0
    assert Usual(CHANNELS).with_flags([dead, dead, smooth(1)]).flags == ()
    assert Usual(CHANNELS).with_flags([dead, dead]).flags == ()


def test_events_may_repeat_their_limits_and_pause_but_have_the_usual_unit():
    recordings = [typing(seed) for seed in range(9)]
    usual = Usual(("hold", "gap", "key"), events=True).with_flags(recordings).measured(recordings)
    recordings[0][:20, 0] = 0
    recordings[1][5, :2] = 60.0
    assert usual.reason(recordings[0]) is usual.reason(recordings[1]) is None
    assert "strong as usual" in usual.reason(recordings[2] * [1000, 1000, 1])


def test_flags_and_events_are_stored_in_a_card():
    usual = Usual(("a", "b"), flags=("b",), events=True, stddev=(1.0, 0.4))
    described = quality.described(usual)
    assert described["flags"] == ["b"] and described["events"] is True
    assert {"flags", "events"}.isdisjoint(quality.described(Usual(("a",))))
