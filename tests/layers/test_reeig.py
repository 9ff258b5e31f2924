"""Tests the layer ReEig with the solvers `"eigh"` and `"polynomial"`. `tests/geometry` tests the
rectification and its gradient."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import ReEig

SOLVERS = ["eigh", "polynomial"]
EPSILON = 1e-2


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def with_spectrum(values, seed=0):
    """Returns a symmetric matrix with the given eigenvalues, float32."""
    frame = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))[0]
    return (frame * values @ frame.T).astype("float32")


def lifted(x):
    values, vectors = np.linalg.eigh(x.astype("float64"))
    return vectors * np.maximum(values, EPSILON) @ vectors.T


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "values",
    [
        [0.5, 0.5, 0.5, 2.0],
        [0.0, 0.0, 0.3, 1.0],
        [-1.0, -0.2, 0.005, 3.0],
        [0.0, 0.0, 0.0, 0.0],
        [1e-9, 1e-3, 1.0, 100.0],
    ],
    ids=["repeated", "singular", "indefinite", "zero", "wide"],
)
def test_any_symmetric_matrix_becomes_positive_definite(solver, values):
    x = with_spectrum(values)
    actual = numpy(ReEig(EPSILON, solver=solver)(x[None]))[0]
    np.testing.assert_allclose(actual, lifted(x), rtol=0, atol=1e-5 * max(1, max(values)))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("solver", SOLVERS)
def test_only_the_symmetric_part_counts(solver, rng):
    x = rng.normal(size=(2, 4, 4)).astype("float32")
    layer = ReEig(EPSILON, solver=solver)
    y = numpy(layer(x))
    np.testing.assert_allclose(y, np.swapaxes(y, 1, 2), rtol=0, atol=1e-6)
    np.testing.assert_allclose(y, numpy(layer((x + np.swapaxes(x, 1, 2)) / 2)), rtol=0, atol=1e-6)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_single_channel_is_a_maximum(solver):
    actual = numpy(ReEig(EPSILON, solver=solver)(np.array([[[-2.0]], [[0.0]], [[3.0]]])))
    np.testing.assert_allclose(actual.ravel(), [EPSILON, EPSILON, 3], rtol=0, atol=1e-6)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_only_a_matrix_that_is_not_finite_becomes_nan(solver, bad):
    x = np.stack([with_spectrum([1.0, 2.0, 3.0])] * 3)
    x[1, 0, 2] = bad
    y = numpy(ReEig(solver=solver)(x))
    assert np.isnan(y[1]).all() and np.isfinite(y[[0, 2]]).all()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_small_eigenvalues_survive_half_precision(policy):
    x = with_spectrum([1e-3, 1e-2, 1.0])
    y = ReEig(dtype=policy)(x[None])
    assert keras.backend.standardize_dtype(y.dtype) == "float32"
    np.testing.assert_allclose(np.linalg.eigvalsh(numpy(y)[0])[0], 1e-3, rtol=0, atol=1e-6)


@pytest.mark.parametrize("epsilon", [0, -1e-4, float("nan"), float("inf")])
def test_a_floor_that_is_not_positive_is_refused(epsilon):
    with pytest.raises(ValueError, match="`epsilon`.*positive"):
        ReEig(epsilon)


def test_an_unknown_solver_is_refused_with_the_names():
    with pytest.raises(ValueError, match="'eigh', 'polynomial'.*'svd'"):
        ReEig(solver="svd")


def test_matrices_that_are_not_square_are_refused():
    with pytest.raises(ValueError, match=r"ReEig needs square.*\(2, 3, 4\).*Covariance"):
        ReEig()(np.zeros((2, 3, 4), "float32"))


def test_xla_is_kept_from_its_own_eigendecomposition_on_tensorflow():
    on_tensorflow = keras.backend.backend() == "tensorflow"
    assert ReEig().supports_jit is not on_tensorflow
    assert ReEig(solver="polynomial").supports_jit
