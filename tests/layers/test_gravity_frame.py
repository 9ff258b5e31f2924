"""Tests that GravityFrame is invariant to the orientation of the sensor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from keras_dml.layers import GravityFrame

KINDS = ("axes", "magnitude", "both")
GRAVITY = 9.81


def walk(rng, time=100, period=20):
    """Returns the accelerations of a synthetic walk in the directions forward, left and up.

    The vertical channel leads the forward channel by a tenth of a stride.
    """
    phase = 2 * np.pi * np.arange(time) / period + rng.uniform(0, 6)
    noise = 0.1 * rng.normal(size=(time, 3))
    moved = np.stack([2 * np.sin(phase - 0.6), 0.5 * np.cos(2 * phase), 3 * np.sin(phase)], axis=1)
    moved = moved + noise
    return moved - moved.mean(axis=0) + [0, 0, GRAVITY]


def turned(x, seed):
    return x @ Rotation.random(random_state=seed).as_matrix().T


def framed(x, kind="axes", mask=None):
    x = np.asarray(x, "float32")[None]
    mask = None if mask is None else mask[None]
    return np.array(GravityFrame(kind, lag=3)(x, mask=mask))[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6))
def test_a_rotation_of_the_sensor_changes_nothing(kind, seed):
    x = walk(np.random.default_rng(seed))
    np.testing.assert_allclose(framed(turned(x, seed), kind), framed(x, kind), rtol=0, atol=2e-3)


@pytest.mark.slow_on_jax
def test_half_turns_about_each_axis_change_nothing(rng):
    """Tests half turns of the sensor, because they cover all cases in the construction of the
    frame.
    """
    x = walk(rng)
    for signs in ((1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
        np.testing.assert_allclose(framed(x * signs), framed(x), rtol=0, atol=1e-4)


def test_axes_are_up_forward_and_left(rng):
    x = walk(rng)
    actual = framed(turned(x, 5))
    forward, left, up = (x - [0, 0, GRAVITY]).T
    np.testing.assert_allclose(actual[:, 0], up, rtol=0, atol=1e-3)
    assert np.corrcoef(actual[:, 1], forward)[0, 1] > 0.99
    assert np.corrcoef(actual[:, 2], left)[0, 1] > 0.98


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("kind", ["axes", "magnitude"])
def test_lengths_do_not_change(kind, rng):
    x = walk(rng)
    actual = framed(turned(x, 2), kind)
    actual[:, 0] += GRAVITY
    np.testing.assert_allclose(np.linalg.norm(actual, axis=1), np.linalg.norm(x, axis=1), rtol=1e-4)


def test_both_are_the_axes_and_the_magnitude(rng):
    x = walk(rng)
    axes, magnitude, all_channels = (framed(x, kind) for kind in KINDS)
    np.testing.assert_array_equal(all_channels[:, :3], axes)
    np.testing.assert_array_equal(all_channels[:, [0, 3]], magnitude)


def test_forward_channel_has_the_largest_variance_and_a_defined_sign(rng):
    actual = framed(turned(walk(rng), 3)).astype("float64")
    spread = actual[:, 1:].T @ actual[:, 1:] / len(actual)
    assert spread[0, 0] > spread[1, 1]
    assert abs(spread[0, 1]) < 1e-4


def test_a_mirror_image_changes_the_last_channel_alone(rng):
    x = walk(rng)
    np.testing.assert_allclose(framed(x * [1, -1, 1]), framed(x) * [1, 1, -1], rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_angular_rates_are_rotated_into_the_frame_of_the_accelerations(kind, rng):
    """Compares the layer with a rotation whose axes are known: up, forward and left."""
    x, rates = walk(rng), rng.normal(size=(100, 3))
    actual = framed(np.concatenate([turned(x, 5), turned(rates, 5)], axis=1), kind)
    half = actual.shape[1] // 2
    np.testing.assert_array_equal(actual[:, :half], framed(turned(x, 5), kind))
    np.testing.assert_allclose(actual[:, half], rates[:, 2], rtol=0, atol=1e-3)
    if kind == "axes":
        axes = framed(x)[:, 1:]  # the horizontal accelerations along the axes of the layer
        rotation, *_ = np.linalg.lstsq(x[:, :2], axes, rcond=None)
        np.testing.assert_allclose(
            actual[:, half + 1 :], rates[:, :2] @ rotation, rtol=0, atol=1e-2
        )
    else:
        horizontal = np.hypot(rates[:, 0], rates[:, 1])
        np.testing.assert_allclose(actual[:, -1], horizontal, rtol=0, atol=1e-3)


@pytest.mark.slow_on_jax
def test_padding_of_angular_rates_becomes_zero(rng):
    x = np.concatenate([walk(rng), rng.normal(size=(100, 3))], axis=1)
    padded = np.concatenate([x, np.full((7, 6), np.nan)])
    actual = framed(padded, "both", mask=np.arange(107) < 100)
    np.testing.assert_allclose(actual[:100], framed(x, "both"), rtol=0, atol=1e-4)
    np.testing.assert_array_equal(actual[100:], 0)


def test_the_unit_does_not_matter(rng):
    x = walk(rng)
    np.testing.assert_allclose(framed(x / GRAVITY), framed(x) / GRAVITY, rtol=0, atol=1e-4)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("kind", KINDS)
def test_padding_of_any_content_changes_nothing_and_becomes_zero(kind, rng):
    x = walk(rng)
    padded = np.concatenate([x, np.full((7, 3), np.nan)])
    actual = framed(padded, kind, mask=np.arange(107) < 100)
    np.testing.assert_allclose(actual[:100], framed(x, kind), rtol=0, atol=1e-4)
    np.testing.assert_array_equal(actual[100:], 0)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("x", [np.zeros((5, 3)), np.tile([0.0, -9.0, 0.0], (5, 1))])
def test_a_sensor_at_rest_does_not_move(kind, x):
    np.testing.assert_allclose(framed(x, kind), 0, rtol=0, atol=1e-6)


@pytest.mark.slow_on_jax
def test_a_recording_of_one_step_has_no_direction():
    np.testing.assert_allclose(framed([[1.0, 2.0, 2.0]]), 0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("given", [{"horizontal": "plane"}, {"lag": 0}, {"lag": 0.5}])
def test_invalid_arguments_are_refused(given):
    with pytest.raises(ValueError, match=f"`{next(iter(given))}` must be.*Received"):
        GravityFrame(**given)


@pytest.mark.parametrize("shape", [(None, 4, 5), (None, 4, 9), (4, 3), (None, 4, None)])
def test_other_channels_are_refused(shape):
    with pytest.raises(ValueError, match="x, y and z of one accelerometer.*Received shape"):
        GravityFrame().build(shape)
