"""Tests that the layer VoiceActivity masks the quiet frames of a recording."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml import layers
from keras_dml._backend import keras, ops


def speech_mask(bands, mask=None, **options):
    bands = ops.convert_to_tensor(np.asarray(bands, "float32"))
    return np.asarray(
        ops.convert_to_numpy(layers.VoiceActivity(**options).compute_mask(bands, mask))
    )


@pytest.mark.slow_on_jax
def test_frames_far_below_the_mean_level_are_left_out(rng):
    level = rng.normal(size=(2, 40))
    bands = level[..., None] + rng.normal(size=(1, 1, 5))
    level = bands.mean(axis=-1)
    least = level.mean(axis=1) - 0.5 * level.std(axis=1)
    np.testing.assert_array_equal(speech_mask(bands, margin=0.5), level >= least[:, None])


@pytest.mark.slow_on_jax
@given(st.integers(0, 2**31), st.floats(-50, 50), st.floats(0.5, 4))
def test_neither_loudness_nor_contrast_counts(seed, shift, scale):
    """Tests that the mask stays the same if all levels are shifted or scaled. The levels are
    multiples of 1/64, so that rounding cannot make two different levels equal.
    """
    bands = np.random.default_rng(seed).integers(-64, 64, size=(1, 12, 4)) / 64
    gap = bands.mean(axis=-1) - bands.mean() + 0.3 * bands.mean(axis=-1).std()
    clear = np.abs(gap) > 1e-3
    np.testing.assert_array_equal(
        speech_mask(bands)[clear], speech_mask(scale * bands + shift)[clear]
    )


@pytest.mark.slow_on_jax
def test_padding_is_never_speech_and_changes_nothing(rng):
    bands = rng.normal(size=(1, 9, 3))
    padded = np.concatenate([bands, np.full((1, 4, 3), 99.0)], axis=1)
    mask = np.arange(13)[None] < 9
    actual = speech_mask(padded, ops.convert_to_tensor(mask))
    assert not actual[0, 9:].any()
    np.testing.assert_array_equal(actual[:, :9], speech_mask(bands))


@pytest.mark.slow_on_jax
def test_sound_of_constant_level_is_not_masked():
    assert speech_mask(np.ones((1, 7, 3))).all()


@pytest.mark.slow_on_jax
def test_later_pooling_ignores_masked_frames(rng):
    bands = rng.normal(size=(1, 30, 3)).astype("float32")
    network = keras.Sequential(
        [keras.Input((None, 3)), layers.VoiceActivity(), layers.SequencePooling("mean")]
    )
    expected = bands[0][speech_mask(bands)[0]].mean(axis=0)
    np.testing.assert_allclose(ops.convert_to_numpy(network(bands))[0], expected, rtol=0, atol=1e-6)
    padded = np.concatenate([bands, np.full((1, 5, 3), 9.0, "float32")], axis=1)
    actual = network(padded, mask=np.arange(35)[None] < 30)
    np.testing.assert_allclose(ops.convert_to_numpy(actual)[0], expected, rtol=0, atol=1e-6)


def test_another_rank_is_refused():
    with pytest.raises(ValueError, match=r"log-mel bands.*Received shape \(2, 3\)"):
        layers.VoiceActivity()(np.zeros((2, 3), "float32"))


@pytest.mark.parametrize("margin", [-0.1, float("nan"), float("inf")])
def test_negative_margins_are_refused(margin):
    with pytest.raises(ValueError, match="`margin` must be a number of at least 0"):
        layers.VoiceActivity(margin)
