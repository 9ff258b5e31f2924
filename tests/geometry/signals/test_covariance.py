import functools

import numpy as np
import pytest
from pyriemann.geometry.covariance import covariances
from sklearn.covariance import ledoit_wolf, oas

from keras_dml._backend import ops
from keras_dml.geometry import spd
from tests.geometry import matrices
from tests.geometry.matrices import DTYPES
from tests.gradients import finite_differences, gradients

ESTIMATORS = ["sample", "trace_normalized", "oas", "ledoit_wolf"]


@functools.cache
def covariance(estimator):
    return matrices.quick(lambda x, mask=None: spd.covariance(x, mask, estimator))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_golden_estimators(estimator, dtype):
    inputs, expected, _, tolerance = matrices.example("covariance", dtype)
    result = np.asarray(covariance(estimator)(inputs["x"][None], inputs["mask"][None]))
    assert result.dtype == dtype
    matrices.assert_values(result[0], expected[estimator.replace("ized", "ised")], tolerance)


@pytest.mark.parametrize("estimator", ["oas", "ledoit_wolf"])
def test_golden_shrinkage_is_the_share_of_the_round_matrix(estimator):
    """For OAS, the expected value is the shrinkage of scikit-learn and pyRiemann, which differs
    from the shrinkage in Chen2010.
    """
    inputs, expected, _, _ = matrices.example("covariance", "float64")
    x, mask = inputs["x"][None], inputs["mask"][None]
    sample, result = (np.asarray(covariance(item)(x, mask))[0] for item in ("sample", estimator))
    if estimator == "oas":
        assert expected["oas_shrinkage"] != pytest.approx(expected["oas_shrinkage_chen2010"])
    steps = np.sum(inputs["mask"])
    biased = (steps - 1) / steps * sample[0, 1]  # shrinkage uses the divisor `steps`
    expected_entry = (1 - expected[f"{estimator}_shrinkage"]) * biased
    np.testing.assert_allclose(result[0, 1], expected_entry, rtol=1e-8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_golden_covariance_of_two_steps(dtype):
    inputs, expected, _, tolerance = matrices.example("covariance_rank_one", dtype)
    matrices.assert_values(spd.covariance(inputs["x"][None])[0], expected["sample"], tolerance)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("steps", [4, 8, 200])
def test_estimators_agree_with_other_libraries(rng, steps):
    x = rng.normal(size=(3, steps, 5)) @ np.diag([1, 2, 3, 4, 0.1])
    for estimator, oracle in {
        "sample": lambda a: np.cov(a.T),
        "oas": lambda a: oas(a)[0],
        "ledoit_wolf": lambda a: ledoit_wolf(a)[0],
    }.items():
        result = np.asarray(covariance(estimator)(x))
        np.testing.assert_allclose(result, [oracle(a) for a in x], rtol=1e-9, atol=1e-12)
    for estimator, reference in {"sample": "cov", "oas": "oas", "ledoit_wolf": "lwf"}.items():
        result = np.asarray(covariance(estimator)(x))
        expected = covariances(x.swapaxes(1, 2), estimator=reference)
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("padding", [0, 1e6, np.nan])
def test_padding_changes_nothing(rng, estimator, padding):
    x = rng.normal(size=(2, 9, 3))
    padded = np.concatenate([x, np.full((2, 4, 3), padding)], axis=1)
    mask = np.arange(13) < 9
    result = covariance(estimator)(padded, np.stack([mask, mask]))
    np.testing.assert_allclose(result, covariance(estimator)(x), rtol=1e-12)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_shift_changes_nothing(rng, estimator):
    x = rng.normal(size=(1, 30, 3))
    result = covariance(estimator)(x + 100)
    np.testing.assert_allclose(result, covariance(estimator)(x), rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_gradients_agree_with_finite_differences_through_the_shrinkage(rng, estimator):
    x, mask = rng.normal(size=(2, 6, 3)), np.ones((2, 6), bool)
    mask[1, 4:] = False
    weights = rng.normal(size=(2, 3, 3))
    function = matrices.quick(lambda x: spd.covariance(x, mask, estimator))
    _, (result,) = matrices.with_gradients(function, weights, x)
    assert (result[1, 4:] == 0).all()
    value = lambda x: np.sum(weights * np.asarray(function(x)))  # noqa: E731
    np.testing.assert_allclose(result, finite_differences(value, x), rtol=0, atol=1e-8)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("level", [0.0, 3.0])
def test_a_signal_that_does_not_vary_gives_zero_and_a_finite_gradient(estimator, level):
    x = np.full((1, 8, 3), level)
    result, (gradient,) = matrices.with_gradients(covariance(estimator), np.ones((1, 3, 3)), x)
    assert (result == 0).all()
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fewer_than_two_valid_steps_are_not_a_number(rng, estimator):
    x = rng.normal(size=(3, 4, 2))
    mask = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 1]], bool)
    result = np.asarray(covariance(estimator)(x, mask))
    assert np.isnan(result[:2]).all()
    assert np.isfinite(result[2]).all()
    assert np.isnan(covariance(estimator)(x[:, :1])).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_channel_gives_its_variance(rng, estimator):
    x = rng.normal(size=(1, 20, 1))
    result = float(covariance(estimator)(x)[0, 0, 0])
    variance = {"sample": np.var(x, ddof=1), "trace_normalized": 1.0}.get(estimator, np.var(x))
    assert result == pytest.approx(variance)


def test_a_signal_with_a_number_that_is_not_finite_is_loud(rng):
    x = rng.normal(size=(2, 9, 3))
    x[0, 3, 1] = np.nan
    result = np.asarray(spd.covariance(x))
    assert np.isnan(result[0]).any()
    assert np.isfinite(result[1]).all()


def test_an_unknown_estimator_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="one of sample, trace_normalized, oas, ledoit_wolf"):
        spd.covariance(np.zeros((1, 4, 2)), estimator="scm")


@pytest.mark.parametrize("shape", [(4,), (4, 2), (1, 4, 2, 2)])
def test_other_ranks_are_refused(shape):
    with pytest.raises(ValueError, match="`x` must hold signals, shape .batch, time, channels."):
        spd.covariance(np.zeros(shape))


def test_a_mask_of_another_rank_is_refused():
    with pytest.raises(ValueError, match="`mask` must have shape .batch, time."):
        spd.covariance(np.zeros((1, 4, 2)), np.ones((1, 4, 2), bool))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimates_are_scale_free_in_float32_with_their_gradients(rng, estimator):
    x = rng.normal(size=(2, 30, 5)) @ rng.normal(size=(5, 5))
    probe = rng.normal(size=(2, 5, 5)).astype("float32")
    reference = {
        "sample": lambda one: np.cov(one.T),
        "trace_normalized": lambda one: np.cov(one.T) / np.trace(np.cov(one.T)),
        "oas": lambda one: oas(one)[0],
        "ledoit_wolf": lambda one: ledoit_wolf(one)[0],
    }[estimator]
    power = 0 if estimator == "trace_normalized" else 2
    expected = np.stack([reference(one) for one in x])

    def value(x, scale=1.0):
        return ops.sum(spd.covariance(x, estimator=estimator) / np.float32(scale**power) * probe)

    (slope,) = gradients(value, x.astype("float32"))
    for scale in 10.0 ** np.arange(-15, 16, 5):
        scaled = (scale * x).astype("float32")
        result = np.asarray(spd.covariance(scaled, estimator=estimator), np.float64) / scale**power
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
        (result,) = gradients(lambda x, scale=scale: value(x, scale), scaled)
        tolerance = 1e-4 * np.abs(slope).max()
        np.testing.assert_allclose(result * scale, slope, rtol=0, atol=tolerance)


@pytest.mark.slow_on_jax
def test_signals_beyond_float32_have_no_finite_covariance_and_tiny_ones_zeros(rng):
    x = rng.normal(size=(1, 30, 3))
    for estimator in ("sample", "oas", "ledoit_wolf"):
        tiny, large = (
            np.asarray(spd.covariance((scale * x).astype("float32"), estimator=estimator))
            for scale in (1e-25, 1e25)
        )
        np.testing.assert_array_equal(tiny, 0)
        assert not np.isfinite(large).any()
