import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.layers import MaskedAveragePooling1D, SequencePooling
from tests import contracts
from tests.gradients import gradients

REDUCTIONS = {"max": np.max, "mean": np.mean}


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def windows(x, mask, pool_size):
    """Computes the average over the valid steps of each window. The average of a window without a
    valid step is NaN."""
    averages = np.full((len(x), -(-x.shape[1] // pool_size), x.shape[2]), np.nan)
    for row in range(len(x)):
        for window in range(averages.shape[1]):
            steps = slice(window * pool_size, (window + 1) * pool_size)
            if mask[row, steps].any():
                averages[row, window] = x[row, steps][mask[row, steps]].mean(axis=0)
    return averages


# ---- SequencePooling --------------------------------------------------------------------------


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("mode", REDUCTIONS)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**31))
def test_only_valid_steps_count(mode, seed):
    rng = np.random.default_rng(seed)
    x, mask = rng.normal(size=(3, 9, 2)).astype("float32") - 5, rng.random((3, 9)) < 0.5
    mask[:, rng.integers(9)] = True
    expected = [REDUCTIONS[mode](row[valid], axis=0) for row, valid in zip(x, mask, strict=True)]
    x[~mask] = rng.choice([np.nan, np.inf, -np.inf, 1e30])
    np.testing.assert_allclose(numpy(SequencePooling(mode)(x, mask=mask)), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", REDUCTIONS)
def test_without_a_mask_all_steps_count(rng, mode):
    x = rng.normal(size=(3, 9, 2)).astype("float32")
    actual = numpy(SequencePooling(mode)(x))
    np.testing.assert_allclose(actual, REDUCTIONS[mode](x, axis=1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        numpy(SequencePooling(mode)(x, mask=np.ones((3, 9), bool))), actual, rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("mode", REDUCTIONS)
def test_only_a_recording_without_valid_steps_is_nan(rng, mode):
    x, mask = rng.normal(size=(2, 5, 3)).astype("float32"), np.array([[0] * 5, [1] * 5], bool)
    actual = numpy(SequencePooling(mode)(x, mask=mask))
    assert np.isnan(actual[0]).all() and np.isfinite(actual[1]).all()
    (slopes,) = gradients(lambda x: ops.sum(SequencePooling(mode)(x, mask=mask)[1]), x)
    assert np.isfinite(slopes).all() and (slopes[0] == 0).all()


@pytest.mark.parametrize("mode", REDUCTIONS)
def test_a_nan_in_a_valid_step_stays_a_nan(mode):
    x = np.array([[[1.0], [np.nan], [3.0]]], "float32")
    assert np.isnan(numpy(SequencePooling(mode)(x))).all()
    assert np.isnan(numpy(SequencePooling(mode)(x, mask=np.array([[1, 1, 0]], bool)))).all()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_means_of_many_steps_are_counted_in_float32(rng, policy):
    x, mask = rng.normal(size=(1, 5000, 2)).astype("float32") + 3, np.ones((1, 5000), bool)
    with contracts.dtype_policy(policy):
        actual = SequencePooling("mean")(x, mask=mask)
    assert keras.backend.standardize_dtype(actual.dtype) == "float32"
    np.testing.assert_allclose(numpy(actual), x.mean(axis=1), rtol=1e-5)


@pytest.mark.parametrize("mode", ["median", None, 1, "MAX"])
def test_unknown_modes_are_refused_with_the_known_ones(mode):
    with pytest.raises(ValueError, match=r"`mode` must be one of \('max', 'mean'\)"):
        SequencePooling(mode)


def test_the_head_names_cosine():
    assert type(SequencePooling().distance) is distances.Cosine


# ---- MaskedAveragePooling1D -------------------------------------------------------------------


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("pool_size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("time", [1, 7, 8])
def test_windows_start_at_the_first_step_and_the_last_may_be_cut(rng, pool_size, time):
    """Tests windows with at least three steps. The padding `"same"` would add steps on the left of
    these windows and shift them.
    """
    x = rng.normal(size=(2, time, 3)).astype("float32")
    expected = windows(x, np.ones((2, time), bool), pool_size)
    layer = MaskedAveragePooling1D(pool_size)
    np.testing.assert_allclose(numpy(layer(x)), expected, rtol=0, atol=1e-6)
    assert layer.compute_output_shape(x.shape) == expected.shape
    assert layer.compute_output_shape((None, None, 3)) == (None, None, 3)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("pool_size", [2, 3, 4])
@pytest.mark.parametrize("time", [7, 8])
def test_windows_average_valid_steps_and_pass_the_mask_on(rng, pool_size, time):
    layer = MaskedAveragePooling1D(pool_size)
    for _ in range(5):
        x, mask = rng.normal(size=(2, time, 3)).astype("float32"), rng.random((2, time)) < 0.5
        expected = windows(x, mask, pool_size)
        valid = np.isfinite(expected[..., 0])
        x[~mask] = 1e30
        np.testing.assert_array_equal(numpy(layer.compute_mask(x, mask)), valid)
        actual = numpy(layer(x, mask=mask))
        np.testing.assert_allclose(actual[valid], expected[valid], rtol=1e-5, atol=1e-5)
        assert (actual[~valid] == 0).all()


def test_no_gradient_reaches_masked_steps(rng):
    x, mask = rng.normal(size=(1, 5, 2)).astype("float32"), np.array([[1, 0, 0, 0, 1]], bool)
    (slopes,) = gradients(lambda x: ops.sum(MaskedAveragePooling1D(2)(x, mask=mask)), x)
    np.testing.assert_array_equal(slopes[0, :, 0], [1, 0, 0, 0, 1])


def test_output_has_no_mask_without_an_input_mask():
    assert MaskedAveragePooling1D(2).compute_mask(np.zeros((1, 4, 2)), None) is None


@pytest.mark.parametrize("pool_size", [0, -2, 1.5, "2", None])
def test_invalid_pool_sizes_are_refused(pool_size):
    with pytest.raises(ValueError, match="`pool_size` must be a whole number of at least 1"):
        MaskedAveragePooling1D(pool_size)
