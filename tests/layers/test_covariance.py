"""Tests the layer Covariance. `tests/geometry` tests the covariance estimators."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import Covariance
from tests.goldens import golden

ESTIMATORS = ["sample", "trace_normalized", "oas", "ledoit_wolf"]


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_values_are_those_of_the_definition(estimator, dtype):
    example = golden("covariance", "seeds_p3")
    x, mask = np.array(example["inputs"]["x"]), np.array(example["inputs"]["mask"], bool)
    actual = numpy(Covariance(estimator, dtype=dtype)(x[None], mask=mask[None]))[0]
    bounds = {key: example["tolerance"][dtype][key] for key in ("rtol", "atol")}
    expected = example["expected"][estimator.replace("ized", "ised")]
    np.testing.assert_allclose(actual, expected, **bounds)


def test_two_steps_give_rank_one():
    example = golden("covariance_rank_one", "seeds_p3")
    actual = numpy(Covariance(dtype="float64")(np.array([example["inputs"]["x"]])))[0]
    np.testing.assert_allclose(actual, example["expected"]["sample"], rtol=1e-9, atol=1e-11)
    assert np.linalg.matrix_rank(actual) == 1


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_silence_is_the_zero_matrix_and_too_few_steps_are_nan(estimator, rng):
    x = rng.normal(size=(3, 7, 4))
    x[0] = 0
    mask = np.ones((3, 7), bool)
    mask[1, 1:] = False
    actual = numpy(Covariance(estimator)(x, mask=mask))
    assert (actual[0] == 0).all() and np.isnan(actual[1]).all() and np.isfinite(actual[2]).all()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_great_offset_survives_half_precision(rng, policy):
    x = rng.normal(size=(1, 500, 3)).astype("float32")
    actual = numpy(Covariance(dtype=policy)(x + 1e3))
    assert actual.dtype == "float32"
    np.testing.assert_allclose(actual[0], np.cov(x[0], rowvar=False), rtol=0, atol=1e-3)


@pytest.mark.parametrize("shape", [(None, 4), (None, None, None), (None, 3, 4, 4)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(batch, time, channels\)"):
        Covariance().build(shape)


def test_an_unknown_estimator_is_refused_with_the_names():
    with pytest.raises(ValueError, match="oas, ledoit_wolf.*'shrunk'"):
        Covariance("shrunk")


@pytest.mark.slow_on_jax
def test_a_model_of_it_alone_has_a_distance(rng):
    model = keras.Sequential([keras.Input((None, 3)), Covariance("oas")])
    table = model.layers[-1].distance(*[model(rng.normal(size=(2, 30, 3)))] * 2)
    np.testing.assert_allclose(np.diag(numpy(table)), 0, rtol=0, atol=1e-3)
    assert numpy(table)[0, 1] > 0.1
