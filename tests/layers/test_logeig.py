"""Tests the layer LogEig with the solvers `"eigh"` and `"polynomial"`. `tests/geometry` tests the
matrix logarithm and its gradient."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import LogEig, ReEig
from tests.gradients import gradients
from tests.layers.test_reeig import SOLVERS, with_spectrum

EPSILON = 1e-2


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def logarithm(x, floor):
    values, vectors = np.linalg.eigh(x.astype("float64"))
    return vectors * np.log(np.maximum(values, floor)) @ vectors.T


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("values", [[0.01, 0.5, 0.5, 20.0], [1.0, 1.0, 1.0, 1.0]])
def test_it_is_the_matrix_logarithm(solver, values):
    x = with_spectrum(values)
    actual = numpy(LogEig(solver=solver)(x[None]))[0]
    np.testing.assert_allclose(actual, logarithm(x, 0), rtol=0, atol=1e-4)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("values", [[0.0, 0.0, 0.3, 1.0], [-1.0, 0.005, 0.5, 3.0], [0.0] * 4])
def test_with_a_floor_it_equals_reeig_and_logarithm(solver, values):
    x = with_spectrum(values)[None]
    fused = numpy(LogEig(EPSILON, solver=solver)(x))
    np.testing.assert_allclose(fused[0], logarithm(x[0], EPSILON), rtol=0, atol=1e-3)
    separate = numpy(LogEig(solver=solver)(ReEig(EPSILON, solver=solver)(x)))
    np.testing.assert_allclose(fused, separate, rtol=0, atol=1e-4)


def test_fused_and_separate_layers_have_equal_gradients(rng):
    x, probe = with_spectrum([0.0, 0.005, 0.3, 1.0])[None], rng.normal(size=(4, 4))
    fused, reeig, log = LogEig(EPSILON), ReEig(EPSILON), LogEig()
    probe = probe.astype("float32")
    (item,) = gradients(lambda x: ops.sum(probe * fused(x)), x)
    (second,) = gradients(lambda x: ops.sum(probe * log(reeig(x))), x)
    np.testing.assert_allclose(item, second, rtol=1e-4, atol=1e-4 * np.abs(item).max())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "values", [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [-2.0, 0.1, 1.0]]
)
def test_without_a_floor_every_finite_matrix_has_a_finite_logarithm(solver, values):
    actual = numpy(LogEig(solver=solver)(with_spectrum(values)[None]))
    assert np.isfinite(actual).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_single_channel_is_a_logarithm(solver):
    actual = numpy(LogEig(EPSILON, solver=solver)(np.array([[[0.0]], [[3.0]]])))
    np.testing.assert_allclose(actual.ravel(), np.log([EPSILON, 3]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("epsilon", [None, EPSILON])
def test_only_a_matrix_that_is_not_finite_becomes_nan(solver, epsilon):
    x = np.stack([with_spectrum([1.0, 2.0, 3.0])] * 3)
    x[1, 0, 2] = np.nan
    y = numpy(LogEig(epsilon, solver=solver)(x))
    assert np.isnan(y[1]).all() and np.isfinite(y[[0, 2]]).all()


@pytest.mark.parametrize("epsilon", [0, -1.0])
def test_a_floor_that_is_not_positive_is_refused(epsilon):
    with pytest.raises(ValueError, match="`epsilon`.*positive"):
        LogEig(epsilon)


def test_an_unknown_solver_is_refused_with_the_names():
    with pytest.raises(ValueError, match="'eigh', 'polynomial'.*'svd'"):
        LogEig(solver="svd")


def test_layer_has_no_distance():
    model = keras.Sequential([keras.Input((3, 3)), LogEig()])
    assert not hasattr(model.layers[-1], "distance")
