"""Tests the numerically safe functions of `geometry.numerics`, such as quotients and roots at 0."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.geometry import numerics
from tests.gradients import gradients


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


# ---- mean -------------------------------------------------------------------------------------


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), (1, 2)])
def test_a_mean_is_that_of_numpy(rng, axis, keepdims):
    x = rng.normal(size=(3, 4, 5))
    result = numerics.mean(ops.convert_to_tensor(x), axis, keepdims=keepdims)
    np.testing.assert_allclose(numpy(result), x.mean(axis=axis, keepdims=keepdims), rtol=1e-14)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("axis", [1, (0, 1)])
def test_only_entries_under_the_mask_count(rng, axis):
    x, mask = rng.normal(size=(3, 7, 2)), rng.random((3, 7, 1)) < 0.5
    mask[:, 0] = True
    expected = np.ma.masked_array(x, np.broadcast_to(~mask, x.shape)).mean(axis=axis)
    x = np.where(mask, x, np.nan)
    result = numerics.mean(ops.convert_to_tensor(x), axis, mask)
    np.testing.assert_allclose(numpy(result), expected.filled(), rtol=1e-14)


def test_an_empty_mask_has_the_mean_0_and_no_gradient():
    x, mask = np.array([[1.0, np.inf], [3.0, 5.0]]), np.array([[False, False], [True, True]])
    np.testing.assert_array_equal(numpy(numerics.mean(x, 1, mask)), [0, 4])
    (result,) = gradients(lambda x: ops.sum(numerics.mean(x, 1, mask)), x)
    np.testing.assert_array_equal(result, [[0, 0], [0.5, 0.5]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("mask", [None, np.array([True, False, True])])
def test_a_mean_keeps_the_dtype(dtype, mask):
    result = numerics.mean(ops.convert_to_tensor(np.ones(3, dtype)), 0, mask)
    assert keras.backend.standardize_dtype(result.dtype) == dtype


@pytest.mark.parametrize("mask", [None, np.ones((1, 3), bool)])
def test_a_mean_in_float64_is_not_rounded_to_float32(mask):
    """Tests means in float64, because the mean of Keras rounds to float32 on JAX."""
    result = numerics.mean(ops.convert_to_tensor([[1.0, 1.0, 1.3]], "float64"), 1, mask)
    np.testing.assert_allclose(numpy(result), 1.1, rtol=1e-15)


def test_a_mean_over_an_unknown_number_of_steps_is_compiled(rng):
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, keras.layers.Lambda(lambda x: numerics.mean(x, 1))(inputs))
    np.testing.assert_allclose(model.predict(x, verbose=0), x.mean(axis=1), rtol=0, atol=1e-6)


# ---- dtypes -----------------------------------------------------------------------------------


def test_the_widest_of_several_dtypes_is_float32_at_least():
    half, single = ops.ones(2, "float16"), ops.ones(2, "float32")
    assert [str(numpy(x).dtype) for x in numerics.widest(half, half)] == ["float32"] * 2
    double = ops.ones(2, "float64")
    assert [str(numpy(x).dtype) for x in numerics.widest(single, double)] == ["float64"] * 2


# ---- values and gradients at 0 ----------------------------------------------------------------


@pytest.mark.parametrize(
    "function, at_zero, elsewhere",
    [
        (numerics.absolute, 0, (-2.0, 2)),
        (lambda x: numerics.divide(x * 0 + 1, x), 0, (4.0, 0.25)),
        (lambda x: numerics.root(x, 2), 0, (9.0, 3)),
    ],
)
def test_what_has_no_value_or_gradient_at_0_has_0_there(function, at_zero, elsewhere):
    x = np.array([0.0, elsewhere[0]])
    result = numpy(function(ops.convert_to_tensor(x)))
    np.testing.assert_allclose(result, [at_zero, elsewhere[1]], rtol=1e-12)
    (gradient,) = gradients(lambda x: ops.sum(function(x)), x)
    assert gradient[0] == 0 and np.isfinite(gradient).all()


# ---- nan_unless -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_valid_is_nan_whatever_it_holds(dtype):
    x = ops.convert_to_tensor(np.array([[1.5, -2.0], [np.inf, 3.0], [np.nan, 0.0]], dtype))
    result = numerics.nan_unless(ops.convert_to_tensor([[True], [False], [False]]), x)
    np.testing.assert_array_equal(numpy(result), [[1.5, -2.0], [np.nan] * 2, [np.nan] * 2])
    assert keras.backend.standardize_dtype(result.dtype) == dtype


def test_no_gradient_reaches_what_is_not_valid():
    valid = ops.convert_to_tensor([[True], [False]])
    (result,) = gradients(
        lambda x: ops.sum(numerics.nan_unless(valid, x * x)), np.array([[1.0, 2.0], [3.0, 4.0]])
    )
    np.testing.assert_allclose(result, [[2.0, 4.0], [0.0, 0.0]])
