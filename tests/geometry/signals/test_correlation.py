"""Compares lagged correlations with slow loops over pairs of steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import ops
from keras_dml.geometry.signals.correlation import lagged_correlations
from tests.gradients import finite_differences, gradients

LAGS, RIDGE = (0, 1, 3), 0.01


def numpy(tensors):
    return [np.asarray(ops.convert_to_numpy(tensor)) for tensor in tensors]


def by_loops(x, mask, lags=LAGS, ridge=RIDGE):
    """Computes the standard deviations and the correlations of one signal with slow loops."""
    steps = np.flatnonzero(mask)
    gap = x - x[steps].mean(axis=0)
    stddev = np.sqrt((gap[steps] ** 2).mean(axis=0) + ridge)
    z, result, channels = gap / stddev, [], range(x.shape[1])
    for lag in lags:
        pairs = [(t, t + lag) for t in steps if t + lag in steps]
        for i in channels:
            for j in channels:
                if lag > 0 or i < j:
                    result.append(np.mean([z[t, i] * z[u, j] for t, u in pairs]) if pairs else 0)
    return stddev, np.array(result)


@pytest.mark.parametrize("kept", [1.0, 0.6, 0.2])
def test_values_are_those_of_the_definition(rng, kept):
    x = np.cumsum(rng.normal(size=(3, 15, 2)), axis=1)
    mask = rng.random((3, 15)) < kept
    mask[:, 4] = True
    expected = [by_loops(*each) for each in zip(x, mask, strict=True)]
    result = numpy(lagged_correlations(x, mask, LAGS, RIDGE))
    for place, values in enumerate(zip(*expected, strict=True)):
        np.testing.assert_allclose(result[place], values, rtol=1e-9, atol=1e-12)
    if kept == 1:
        for first, second in zip(
            numpy(lagged_correlations(x, None, LAGS, RIDGE)), result, strict=True
        ):
            np.testing.assert_allclose(first, second, rtol=1e-12)


@pytest.mark.slow_on_jax
def test_the_default_ridge_is_a_hundredth_of_the_variance(rng):
    x = rng.normal(size=(2, 15, 3))
    default, stated = lagged_correlations(x), lagged_correlations(x, ridge=0.01)
    for first, second in zip(numpy(default), numpy(stated), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.slow_on_jax
def test_at_lag_0_they_are_pearsons(rng):
    x = rng.normal(size=(1, 200, 4)) @ rng.normal(size=(4, 4))
    _, result = numpy(lagged_correlations(x, ridge=1e-12))
    expected = np.corrcoef(x[0], rowvar=False)[np.triu_indices(4, 1)]
    np.testing.assert_allclose(result[0], expected, rtol=1e-9)


@pytest.mark.slow_on_jax
@given(st.floats(1e-3, 1e3), st.floats(-1e3, 1e3), st.integers(0, 2**16))
def test_units_and_offsets_of_channels_do_not_matter(unit, offset, seed):
    x = np.random.default_rng(seed).normal(size=(1, 20, 2))
    (first,), plain = numpy(lagged_correlations(x, lags=LAGS, ridge=1e-12))
    (second,), moved = numpy(lagged_correlations(x * [1, unit] + offset, lags=LAGS, ridge=1e-12))
    np.testing.assert_allclose(second, first * [1, unit], rtol=1e-5)
    np.testing.assert_allclose(moved, plain, rtol=0, atol=1e-5)


def test_lags_beyond_the_signal_and_silence_are_0_not_nan():
    x = np.zeros((1, 3, 2))
    stddevs, correlations = numpy(lagged_correlations(x, lags=(0, 2, 3, 9), ridge=0.04))
    np.testing.assert_allclose(stddevs, 0.2)
    assert correlations.shape == (1, 1 + 3 * 4) and (correlations == 0).all()


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_finite_differences(rng, masked):
    x = rng.normal(size=(2, 7, 2))
    mask = np.array([[1, 1, 0, 1, 1, 1, 0], [1] * 7], bool) if masked else None
    weights = rng.normal(size=1 + 2 * 4)

    def value(x):
        stddevs, correlations = lagged_correlations(x, mask, LAGS, RIDGE)
        return ops.sum(correlations * weights) + ops.sum(stddevs**2)

    (result,) = gradients(value, x)
    np.testing.assert_allclose(result, finite_differences(value, x), rtol=1e-5, atol=1e-7)
    if masked:
        assert (result[~mask] == 0).all()


@pytest.mark.slow_on_jax
def test_a_signal_without_valid_steps_is_nan_and_no_other(rng):
    x, mask = rng.normal(size=(2, 6, 2)), np.array([[False] * 6, [True] * 6])
    for result in numpy(lagged_correlations(x, mask, LAGS, RIDGE)):
        assert np.isnan(result[0]).all() and np.isfinite(result[1]).all()


def test_a_nan_in_a_valid_step_stays_one(rng):
    x = rng.normal(size=(2, 6, 2))
    x[0, 2, 1] = np.nan
    for result in numpy(lagged_correlations(x, None, LAGS, RIDGE)):
        assert np.isnan(result[0]).any() and np.isfinite(result[1]).all()


@pytest.mark.slow_on_jax
def test_a_mask_of_numbers_means_what_is_not_0(rng):
    x, mask = rng.normal(size=(1, 9, 2)), rng.integers(0, 2, size=(1, 9))
    expected = numpy(lagged_correlations(x, mask.astype(bool), LAGS, RIDGE))
    for first, second in zip(
        numpy(lagged_correlations(x, 2 * mask, LAGS, RIDGE)), expected, strict=True
    ):
        np.testing.assert_array_equal(first, second)


@pytest.mark.slow_on_jax
def test_one_channel_has_no_correlation_at_lag_0(rng):
    stddevs, correlations = numpy(lagged_correlations(rng.normal(size=(3, 9, 1))))
    assert stddevs.shape == (3, 1) and correlations.shape == (3, 0)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("lags", [[0, 2], np.array([0, 2]), range(0, 4, 2)])
def test_any_sequence_of_whole_numbers_will_do(rng, lags):
    x = rng.normal(size=(1, 9, 2))
    result, expected = (numpy(lagged_correlations(x, lags=each))[1] for each in (lags, (0, 2)))
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("lags", [(), (0, 0), (-1,), (1.5,), "4", 4, (True,), (False, 2), None])
def test_other_lags_are_refused(lags):
    with pytest.raises(ValueError, match="`lags` must be .*Received"):
        lagged_correlations(np.ones((1, 4, 2)), lags=lags)


@pytest.mark.parametrize("ridge", [0, -1.0, float("nan"), "1"])
def test_a_ridge_must_be_positive(ridge):
    with pytest.raises(ValueError, match="`ridge` must be a positive number"):
        lagged_correlations(np.ones((1, 4, 2)), ridge=ridge)


@pytest.mark.parametrize("shape", [(4,), (1, 5), (1, 4, 1)])
def test_a_mask_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"`mask` must have shape \(batch, time\)"):
        lagged_correlations(np.ones((1, 4, 2)), np.ones(shape, bool))


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"shape \(batch, time, channels\).*\(4, 2\)"):
        lagged_correlations(np.ones((4, 2)))
