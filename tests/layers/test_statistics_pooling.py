import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.layers import StatisticsPooling
from tests.contracts import compiled
from tests.goldens import golden
from tests.gradients import finite_differences, gradients


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients_are_those_of_the_definition(dtype):
    """Tests values and gradients for inputs with a constant channel and a mask."""
    example = golden("statistics-pooling", "seeds_p2")
    x = np.array(example["inputs"]["x"], dtype)
    mask = np.array(example["inputs"]["mask"], bool)
    weights = np.array(example["inputs"]["weights"], dtype)
    layer = StatisticsPooling(dtype=dtype)

    def value(x):
        return ops.sum(layer(x, mask=mask) * weights)

    pooled = numpy(layer(x, mask=mask))
    np.testing.assert_allclose(pooled, example["expected"]["pooled"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(numpy(value(x)), example["expected"]["value"], rtol=1e-5)
    (actual,) = gradients(value, x)
    np.testing.assert_allclose(actual, example["gradient"]["x"], rtol=1e-4, atol=1e-5)


@pytest.mark.slow_on_jax
def test_without_a_mask_every_step_counts(rng):
    x = rng.normal(size=(2, 7, 3)).astype("float32")
    everywhere = np.ones((2, 7), bool)
    layer = StatisticsPooling()
    np.testing.assert_allclose(numpy(layer(x)), numpy(layer(x, mask=everywhere)), rtol=1e-6)
    expected = np.concatenate([x.mean(axis=1), x.std(axis=1)], axis=-1)
    np.testing.assert_allclose(numpy(layer(x)), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow_on_jax
def test_standard_deviation_is_accurate_at_a_large_mean(rng):
    """Tests inputs with a large mean. For these inputs, the formula "mean of squares minus squared
    mean" would lose all digits of the variance.
    """
    noise = rng.normal(size=(1, 500, 1))
    actual = numpy(StatisticsPooling()((noise + 3000).astype("float32")))
    np.testing.assert_allclose(actual[0, 1], noise.std(), rtol=1e-3)


@pytest.mark.slow_on_jax
def test_masked_steps_move_nothing_and_get_no_gradient(rng):
    x, mask = rng.normal(size=(1, 6, 2)).astype("float32"), np.array([[1, 0, 1, 1, 0, 0]], bool)
    layer = StatisticsPooling()
    expected = numpy(layer(x[:, mask[0]]))
    (slopes,) = gradients(lambda x: ops.sum(layer(x, mask=mask)), x)
    assert (slopes[~mask] == 0).all() and (slopes[mask] != 0).all()
    x[~mask] = np.nan
    np.testing.assert_allclose(numpy(layer(x, mask=mask)), expected, rtol=1e-5)


def test_single_step_has_the_minimum_deviation_and_finite_gradients():
    layer, x = StatisticsPooling(dtype="float64"), np.array([[[2.0, -1.0]]])
    np.testing.assert_allclose(numpy(layer(x))[0], [2, -1, 1e-5**0.5, 1e-5**0.5])
    (actual,) = gradients(lambda x: ops.sum(layer(x)), x)
    expected = finite_differences(lambda x: numpy(ops.sum(layer(x))), x)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-8)


def test_recording_without_valid_steps_raises_or_gives_nan_if_compiled():
    layer, x = StatisticsPooling(), np.ones((2, 3, 1), "float32")
    mask = np.array([[1, 1, 1], [0, 0, 0]], bool)
    with pytest.raises(ValueError, match="Recording 1 of the batch has no valid step"):
        layer(x, mask=mask)
    actual = compiled(lambda x, mask: layer(x, mask=mask))(x, mask)
    assert np.isfinite(actual[0]).all() and np.isnan(actual[1]).all()


def test_inputs_other_than_recordings_are_refused():
    with pytest.raises(ValueError, match=r"takes recordings.*Received shape \(2, 3\)"):
        StatisticsPooling()(np.ones((2, 3), "float32"))
