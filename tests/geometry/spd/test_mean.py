import os
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyriemann.geometry.geodesic import geodesic_riemann
from pyriemann.geometry.mean import mean_logeuclid, mean_riemann

from keras_dml._backend import ops
from keras_dml.geometry import spd
from tests.geometry import matrices
from tests.geometry.matrices import DTYPES
from tests.gradients import finite_differences

geodesic = matrices.quick(spd.geodesic)
log_euclidean_mean = matrices.quick(spd.log_euclidean_mean)


@pytest.fixture(scope="module")
def geomstats():
    """Returns the affine-invariant and the log-Euclidean metric of geomstats for 4 x 4 matrices,
    and the Fréchet mean of geomstats.
    """
    os.environ["GEOMSTATS_BACKEND"] = "numpy"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # from the imports of geomstats
        from geomstats.geometry.spd_matrices import (
            SPDAffineMetric,
            SPDLogEuclideanMetric,
            SPDMatrices,
        )
        from geomstats.learning.frechet_mean import FrechetMean

    affine, flat = (SPDMatrices(4, equip=False) for _ in range(2))
    affine.equip_with_metric(SPDAffineMetric)
    flat.equip_with_metric(SPDLogEuclideanMetric)
    mean = FrechetMean(affine)
    mean.set(max_iter=500, epsilon=1e-13)
    return affine.metric, flat.metric, mean


@pytest.mark.parametrize("dtype", DTYPES)
def test_golden_means(dtype):
    inputs, expected, _, tolerance = matrices.example("karcher_mean", dtype)
    x, weights = inputs["x"], inputs["weights"]
    result = spd.karcher_mean(x)
    assert result.dtype == np.float64
    matrices.assert_values(result, expected["mean"], tolerance)
    matrices.assert_values(spd.karcher_mean(x, weights), expected["weighted_mean"], tolerance)
    result = np.asarray(log_euclidean_mean(x))
    assert result.dtype == dtype
    matrices.assert_values(result, expected["log_euclidean_mean"], tolerance)
    distance = matrices.quick(spd.affine_invariant)
    cost = np.sum(np.asarray(distance(x, np.asarray(expected["mean"], dtype))) ** 2)
    matrices.assert_values(cost, expected["cost_at_mean"], tolerance)


def test_golden_norms_of_plain_steps_bound_the_distance_still_to_go():
    inputs, expected, _, _ = matrices.example("karcher_mean", "float64")
    x, mean = inputs["x"], np.asarray(expected["mean"])
    point = np.asarray(log_euclidean_mean(x))
    for norm in expected["norm_of_step"]:
        assert float(spd.affine_invariant(point, mean)) <= norm
        root, inverse = np.asarray(spd.sqrt(point)), np.asarray(spd.inverse_sqrt(point))
        tangent = np.asarray(spd.log(inverse @ x @ inverse)).mean(axis=0)
        assert np.linalg.norm(tangent) == pytest.approx(norm, rel=1e-8)
        point = root @ np.asarray(spd.exp(tangent)) @ root


def test_a_mean_that_stops_early_tells_its_error_which_falls_faster_than_of_plain_steps():
    inputs, expected, _, _ = matrices.example("karcher_mean", "float64")
    for steps, plain in enumerate(expected["norm_of_step"]):
        with pytest.warns(
            RuntimeWarning, match=f"stopped after {steps} steps. Its result is within"
        ) as told:
            early = spd.karcher_mean(inputs["x"], max_steps=steps)
        norm = float(re.search("within (.*?) of the mean", str(told[0].message))[1])
        assert float(spd.affine_invariant(early, np.asarray(expected["mean"]))) <= norm * 1.001
        assert norm <= plain * 1.001


@pytest.mark.parametrize("dtype", DTYPES)
def test_golden_geodesic_and_its_gradients(dtype):
    inputs, expected, gradient, tolerance = matrices.example("geodesic", dtype)
    a, b, t, probe = (inputs[key] for key in ("a", "b", "t", "probe"))
    matrices.assert_values(geodesic(a, b, t), expected["point"], tolerance)
    quarter = lambda a, b: spd.geodesic(a, b, 0.25)  # noqa: E731
    result, in_both = matrices.with_gradients(quarter, probe, a, b)
    matrices.assert_values(np.sum(probe * result), expected["value"], tolerance)
    for result, key in zip(in_both, "ab", strict=True):
        matrices.assert_gradients(result, gradient[key], tolerance)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("n, spread", [(1, 2), (20, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_agree_with_pyriemanns(rng, n, spread, weighted):
    x = matrices.spd(rng, 30, n, spread=spread)
    weights = rng.uniform(size=30) if weighted else None
    for ours, reference in (
        (spd.karcher_mean, lambda *a, **k: mean_riemann(*a, tol=1e-12, maxiter=300, **k)),
        (log_euclidean_mean, mean_logeuclid),
    ):
        expected = reference(x, sample_weight=weights)
        np.testing.assert_allclose(ours(x, weights), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.slow_on_jax
def test_geomstats_agrees(rng, geomstats):
    """The tolerance is 1e-7, because geomstats stops the iteration of the mean early."""
    metric, flat, mean = geomstats
    x = matrices.spd(rng, 10, 4)
    np.testing.assert_allclose(spd.karcher_mean(x), mean.fit(x).estimate_, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(
        spd.affine_invariant(x[:5], x[5:]), metric.dist(x[:5], x[5:]), rtol=1e-8
    )
    np.testing.assert_allclose(spd.log_euclidean(x[:5], x[5:]), flat.dist(x[:5], x[5:]), rtol=1e-8)
    path = metric.geodesic(initial_point=x[0], end_point=x[1])
    np.testing.assert_allclose(spd.geodesic(x[0], x[1], 0.3), path(0.3)[0], rtol=1e-8, atol=1e-8)


def test_geodesics_agree_with_pyriemanns(rng):
    x, y = matrices.spd(rng, 2, 5, 3)
    for t in (-0.5, 0, 0.3, 1, 2):
        expected = geodesic_riemann(x, y, alpha=t)
        np.testing.assert_allclose(geodesic(x, y, t), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.slow_on_jax
@settings(max_examples=8)
@given(st.integers(0, 2**31), st.floats(-1, 2))
def test_distance_along_a_geodesic_grows_evenly(seed, t):
    x, y = matrices.spd(np.random.default_rng(seed), 2, 5, 3)
    distance = matrices.quick(spd.affine_invariant)
    result = np.asarray(distance(x, geodesic(x, y, t)))
    expected = abs(t) * np.asarray(distance(x, y))
    np.testing.assert_allclose(result, expected, rtol=1e-7, atol=1e-7)


@settings(max_examples=8)
@given(st.integers(0, 2**31))
def test_the_karcher_mean_moves_with_its_matrices(seed):
    rng = np.random.default_rng(seed)
    x = matrices.spd(rng, 5, 3)
    square = matrices.frames(rng, 3) * rng.uniform(0.5, 2, 3)
    mean = spd.karcher_mean(x)
    np.testing.assert_allclose(
        spd.karcher_mean(square @ x @ square.T), square @ mean @ square.T, rtol=1e-7, atol=1e-7
    )
    np.testing.assert_allclose(
        spd.karcher_mean(np.linalg.inv(x)) @ mean, np.eye(3), rtol=0, atol=1e-7
    )


@pytest.mark.slow_on_jax
def test_weights_count_like_repetitions(rng):
    x = matrices.spd(rng, 3, 4)
    repeated, weights = np.repeat(x, [1, 3, 2], axis=0), np.array([1, 3, 2])
    for mean in (spd.karcher_mean, log_euclidean_mean):
        np.testing.assert_allclose(mean(x, weights), mean(repeated), rtol=0, atol=1e-8)


@pytest.mark.slow_on_jax
def test_the_mean_of_one_matrix_and_of_equal_ones_is_that_matrix(rng):
    x = matrices.spd(rng, 1, 4)
    for mean in (spd.karcher_mean, log_euclidean_mean):
        np.testing.assert_allclose(mean(x), x[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(mean(np.repeat(x, 3, axis=0)), x[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("count, n, spread", [(4, 3, 3), (30, 20, 4), (4, 20, 5)])
def test_far_matrices_converge_in_few_steps(rng, count, n, spread):
    """An earlier iteration took full steps, and halved the step when the norm grew. For the
    matrices of this test, the earlier iteration needed 78, 215 and 32 steps.
    """
    x = matrices.spd(rng, count, n, spread=spread)
    whitener = np.linalg.inv(np.linalg.cholesky(spd.karcher_mean(x, max_steps=20)))
    tangent = matrices.by_eigh(np.log, whitener @ x @ whitener.T).mean(axis=0)
    assert np.linalg.norm(tangent) < 1e-9


def test_the_farthest_matrices_give_a_finite_mean_and_the_error_left(rng):
    spectra = 10.0 ** np.array([[5, 0, -5], [-5, 5, 0], [0, -5, 5]])
    x = np.stack([matrices.with_spectrum(rng, spectrum) for spectrum in spectra])
    with pytest.warns(
        RuntimeWarning, match="after 50 steps. Its result is within[^$]*Rectify badly conditioned"
    ):
        assert np.isfinite(spd.karcher_mean(x)).all()


def test_a_tensor_is_taken_and_its_mean_is_float64(rng):
    x = matrices.spd(rng, 4, 3).astype("float32")
    result = spd.karcher_mean(ops.convert_to_tensor(x))
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, spd.karcher_mean(x), rtol=1e-12)


@pytest.mark.slow_on_jax
def test_the_log_euclidean_mean_has_gradients_and_leading_axes(rng):
    x, weights = matrices.spd(rng, 2, 3, 2), rng.uniform(size=(2, 3))
    result = np.asarray(log_euclidean_mean(x, weights))
    np.testing.assert_allclose(result[1], log_euclidean_mean(x[1], weights[1]), rtol=1e-9)
    probe = rng.normal(size=(2, 2, 2))
    mean = matrices.quick(lambda x: log_euclidean_mean(x, weights))
    _, (in_x,) = matrices.with_gradients(mean, probe, x)
    value = lambda x: np.sum(probe * np.asarray(mean(x)))  # noqa: E731
    np.testing.assert_allclose(in_x, finite_differences(value, x, 1e-4), rtol=0, atol=1e-7)


@pytest.mark.parametrize("shape", [(3, 3), (0, 3, 3), (2, 3, 4)])
def test_a_mean_of_what_is_no_set_is_refused(shape):
    for mean in (spd.karcher_mean, spd.log_euclidean_mean):
        with pytest.raises(ValueError, match="at least one matrix|square matrices"):
            mean(np.zeros(shape))


@pytest.mark.parametrize("least", [0, -1e-3])
def test_a_mean_of_singular_matrices_is_refused_and_says_what_to_do(rng, least):
    x = matrices.spd(rng, 4, 3)
    x[2] = matrices.with_spectrum(rng, [least, 1, 2])
    with pytest.raises(ValueError, match="first at index 2. Apply `spd.rectify"):
        spd.karcher_mean(x)


def test_a_mean_of_what_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="`x` .* not finite"):
        spd.karcher_mean(np.full((2, 3, 3), np.nan))


REFUSED = [
    [1],
    [1, 1],
    [1, 1, 1, 1],
    [1, -1, 1],
    [0, 0, 0],
    [1, np.nan, 1],
    [1, np.inf, 1],
    [[1], [1], [1]],
    1.0,
]


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("mean", [spd.karcher_mean, spd.log_euclidean_mean])
def test_weights_that_do_not_fit_are_refused_by_every_mean(mean):
    x = np.stack([np.eye(2)] * 3)
    for weights in REFUSED:
        for values in (weights, ops.convert_to_tensor(weights, "float32")):
            with pytest.raises(ValueError, match="non-negative number for each of the 3 matrices"):
                mean(x, values)
    with pytest.raises(TypeError, match="`weights` must hold real numbers"):
        mean(x, ["1", "1", "1"])


@pytest.mark.slow_on_jax
def test_weights_may_have_any_scale_and_zeros(rng):
    x, weights = matrices.spd(rng, 3, 3), np.array([1.0, 0.0, 3.0])
    for mean in (spd.karcher_mean, spd.log_euclidean_mean):
        expected = np.asarray(mean(x[[0, 2]], [0.25, 0.75]))
        for scale in (1e-200, 1, 1e200):
            np.testing.assert_allclose(mean(x, scale * weights), expected, rtol=1e-6, atol=1e-9)


def test_compiled_weights_that_do_not_fit_give_nan(rng):
    x = matrices.spd(rng, 3, 3)
    mean = matrices.compiled(spd.log_euclidean_mean)
    for weights in (np.zeros(3), np.array([1, -1, 1.0]), np.array([1, np.nan, 1])):
        assert np.isnan(mean(x, weights)).all()
    assert np.isfinite(mean(x, np.array([0, 1.0, 2]))).all()


@pytest.mark.slow_on_jax
def test_a_geodesic_of_other_sizes_is_refused(rng):
    x = matrices.spd(rng, 4, 3)
    for rest in [(x[0], np.eye(2), 0.5), (x, x[:2], 0.5), (x, x, [0.1, 0.2])]:
        with pytest.raises(ValueError, match="(?i)same size|leading axes"):
            spd.geodesic(*rest)
    with pytest.raises(TypeError, match="`t` must hold real numbers"):
        spd.geodesic(x, x, "half")
    path = spd.geodesic(x[0], x[1], np.array([0.0, 1.0]))
    np.testing.assert_allclose(path, x[:2], rtol=1e-6, atol=1e-6)


def test_inside_a_compiled_step_the_karcher_mean_says_where_it_runs():
    with pytest.raises(ValueError, match="compiled step"):
        matrices.compiled(lambda x: ops.convert_to_tensor(spd.karcher_mean(x)))(
            ops.convert_to_tensor(np.eye(2)[None])
        )
