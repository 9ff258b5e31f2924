"""Tests that the output of CanonicalPose does not depend on the position and the direction of a
person.
"""

import numpy as np
import pytest

from keras_dml.layers import CanonicalPose

JOINTS = 5


def positions(rng, batch=2, time=7):
    return rng.normal(size=(batch, time, JOINTS, 3)).astype("float32")


def canonical(x, mask=None):
    layer = CanonicalPose(0, hips=(1, 2))
    return np.asarray(layer(x.reshape(*x.shape[:2], -1), mask=mask)).reshape(x.shape)


@pytest.mark.slow_on_jax
def test_output_is_invariant_to_place_and_heading(rng):
    x = positions(rng)
    angle = 2.1
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]], np.float32)
    moved = x @ turn.T + np.float32([3.0, -1.0, 8.0])
    np.testing.assert_allclose(canonical(moved), canonical(x), rtol=0, atol=1e-5)


def test_the_root_is_the_origin_and_the_first_hips_lie_along_x(rng):
    answer = canonical(positions(rng))
    np.testing.assert_array_equal(answer[:, :, 0], 0)
    across = answer[:, 0, 2] - answer[:, 0, 1]
    np.testing.assert_allclose(across[:, 2], 0, rtol=0, atol=1e-6)
    assert (across[:, 0] > 0).all()


def test_lengths_and_heights_stay(rng):
    x = positions(rng)
    relative, answer = x - x[:, :, :1], canonical(x)
    np.testing.assert_allclose(
        np.linalg.norm(answer, axis=-1), np.linalg.norm(relative, axis=-1), rtol=1e-5
    )
    np.testing.assert_allclose(answer[..., 1], relative[..., 1], rtol=1e-6)


@pytest.mark.slow_on_jax
def test_the_first_valid_step_decides(rng):
    x = positions(rng)
    mask = np.arange(7) >= 3
    answer = canonical(x, np.stack([mask, mask]))
    np.testing.assert_allclose(answer[:, 3:], canonical(x[:, 3:]), rtol=1e-5, atol=1e-6)


def test_recordings_with_hips_above_each_other_are_not_rotated(rng):
    x = positions(rng)
    x[:, 0, 1, [0, 2]] = x[:, 0, 2, [0, 2]]
    np.testing.assert_array_equal(canonical(x), x - x[:, :, :1])


@pytest.mark.parametrize("root, hips", [(-1, (1, 2)), (0, (1, 1)), (0, (1,)), (0.5, (1, 2))])
def test_invalid_joints_are_refused(root, hips):
    with pytest.raises(ValueError, match="`root`.*`hips`.*Received root="):
        CanonicalPose(root, hips=hips)


@pytest.mark.parametrize("shape", [(None, 4, 8), (None, 4, 6), (4, 9)])
def test_inputs_without_the_joints_are_refused(shape):
    with pytest.raises(ValueError, match="at least 3 joints. Received shape"):
        CanonicalPose(0, hips=(1, 2)).build(shape)
