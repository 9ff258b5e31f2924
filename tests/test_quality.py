"""Recordings that are not fit to be compared are refused in words; others pass."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml import quality
from keras_dml._backend import keras
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
        (changed(lambda x: x[:, 1].fill(0.25)), "channel y is flat: it stands at 0.25"),
        (changed(lambda x: np.multiply(x[:, 1], 1e-4, out=x[:, 1])), "channel y is flat"),
        (changed(clip), "channel x is clipped: it stands at -0.5, its limit, for"),
        (changed(lambda x: x[50:90].__setitem__(slice(None), x[50])), "values of step 50 for 39"),
        (changed(lambda x: x[50:150, 2].fill(9.0)), "channel z is stuck|channel z is clipped"),
        (smooth(scale=9.81), "9.* times as strong as usual: another unit"),
        (smooth(scale=1 / 9.81), "0.1.* times as strong as usual"),
        (changed(lambda x: x[7:9, 1].fill(np.nan)), "2 of 200 steps hold NaN .* first step 7 of"),
        (changed(lambda x: x[7, 1:2].fill(1e300)), "it has gaps: 1 of 200 steps"),
        (smooth()[:, :2], r"shape \(200, 2\), not \(time, 3\)"),
        (smooth()[:0], r"shape \(0, 3\)"),
        (np.full((9, 3), "one"), "it must hold real numbers"),
    ],
)
def test_what_is_wrong_is_said(usual, recording, reason):
    found = usual.reason(recording)
    assert found is not None and re.search(reason, found), found


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), factor=st.floats(0.4, 2.5), offset=st.floats(-50, 50))
def test_recordings_of_people_who_differ_pass(seed, factor, offset):
    usual = Usual(CHANNELS).measured([smooth(i) for i in range(5)])
    assert usual.reason(factor * smooth(seed) + offset) is None


UNITS = ("g", "g", "g", "deg/s", "deg/s", "deg/s", "hPa")


def of_units(seed):
    """Accelerometer, gyroscope and one channel of air pressure."""
    parts = [smooth(seed), smooth(1000 + seed, scale=90.0), smooth(2000 + seed)[:, :1]]
    return np.concatenate(parts, axis=1)


@pytest.fixture(scope="module")
def usual_of_units():
    recordings = [of_units(seed) for seed in range(9)]
    return Usual(tuple("abcdefp"), units=UNITS).measured(recordings)


@pytest.mark.parametrize(
    ("kind", "factor", "reason"),
    [
        (slice(0, 3), 9.81, "its channels in g are [0-9.]+ times as strong as usual: another unit"),
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
    assert "times as strong" in dataclasses.replace(usual, is_sound=False).reason(
        1e-3 * smooth()[:, :1]
    )


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
    return Gate(model, usual, Potato(4.0).fit(matrices))


def test_a_loose_sensor_is_refused_by_the_potato_with_the_channel(gate):
    together = smooth(40)
    together[:, 2] = 4 * together[:, 0] + 0.01 * together[:, 2]
    clean = smooth(41)
    found = gate.refused([clean, together, np.zeros((200, 3))])
    assert set(found) == {1, 2}
    assert "move together as in no recording" in found[1] and found[1].endswith("channel z")
    assert "flat" in found[2]


def test_without_a_potato_only_plain_checks_are_made(model, gate):
    assert Gate(model, gate.usual).refused([smooth(40)]) == {}
    assert quality.covariances_of(keras.Sequential([keras.Input((3, 3)), TangentVector()])) is None


def test_a_model_that_was_not_loaded_has_no_gate(model):
    assert quality.of(model) is None
