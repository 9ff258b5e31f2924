"""Tests the layer LaggedCorrelation. `tests/geometry` tests the values of the correlations."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import LaggedCorrelation


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@pytest.mark.slow_on_jax
def test_output_begins_with_log_standard_deviations(rng):
    x = rng.normal(size=(2, 400, 3)) * [1.0, 10.0, 100.0]
    layer = LaggedCorrelation((0, 5))
    actual = numpy(layer(x))
    assert actual.shape == (2, 3 + 3 + 9) == (2, layer.compute_output_shape((2, 400, 3))[-1])
    np.testing.assert_allclose(actual[:, :3], np.log([[1, 10, 100]] * 2), rtol=0, atol=0.1)
    assert np.abs(actual[:, 3:]).max() < 0.3


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_output_is_float32_under_half_precision(rng, policy):
    x = rng.normal(size=(1, 500, 2)).astype("float32")
    actual = numpy(LaggedCorrelation((0, 2), dtype=policy)(x))
    assert actual.dtype == "float32"
    np.testing.assert_array_equal(actual, numpy(LaggedCorrelation((0, 2))(x)))


@pytest.mark.slow_on_jax
def test_masked_steps_move_nothing_whatever_they_hold(rng):
    x, mask = rng.normal(size=(1, 12, 2)).astype("float32"), np.arange(12)[None] < 8
    expected = numpy(LaggedCorrelation((0, 3))(x[:, :8]))
    x[:, 8:] = np.nan
    actual = numpy(LaggedCorrelation((0, 3))(x, mask=mask))
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(None, 4), (None, None, None), (None, 3, 4, 4)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(batch, time, channels\)"):
        LaggedCorrelation().build(shape)


@pytest.mark.slow_on_jax
def test_a_recording_that_is_always_shorter_than_a_lag_has_0_there(rng):
    model = keras.Sequential([keras.Input((3, 2)), LaggedCorrelation((0, 9))])
    actual = numpy(model(rng.normal(size=(4, 3, 2))))
    assert (
        actual.shape == (4, 2 + 1 + 4) and (actual[:, 3:] == 0).all() and (actual[:, 2] != 0).all()
    )


@pytest.mark.slow_on_jax
def test_a_model_of_it_alone_has_a_distance(rng):
    model = keras.Sequential([keras.Input((None, 3)), LaggedCorrelation((0, 1))])
    table = numpy(model.layers[-1].distance(*[model(rng.normal(size=(2, 30, 3)))] * 2))
    assert table[0, 1] > 0.1 and abs(table[0, 0]) < 1e-3
