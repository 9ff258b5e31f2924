import numpy as np
import pytest

from keras_dml import distances
from keras_dml._backend import ops
from keras_dml.layers import LinearDiscriminants
from tests.gradients import finite_differences, gradients


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def discriminants(rng, units=2, **options):
    layer = LinearDiscriminants(units, **options)
    layer.build((None, 3))
    layer.set_weights([rng.normal(size=(3, units)), rng.normal(size=units)])
    return layer


@pytest.mark.slow_on_jax
def test_new_layer_returns_zeros(rng):
    np.testing.assert_array_equal(numpy(LinearDiscriminants(4)(np.ones((2, 3)))), np.zeros((2, 4)))


@pytest.mark.slow_on_jax
def test_discriminants_are_linear_up_to_the_limit(rng):
    layer, features = discriminants(rng, limit=0.5), 3 * rng.normal(size=(6, 3)).astype("float32")
    actual = numpy(layer(features))
    kernel, bias = layer.get_weights()
    expected = 0.5 * np.tanh((features @ kernel + bias) / 0.5)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)
    assert 0.4 < np.abs(actual).max() <= 0.5001


@pytest.mark.slow_on_jax
def test_vectors_are_compared_by_cosine(rng):
    layer, features = discriminants(rng), rng.normal(size=(2, 3)).astype("float32")
    assert isinstance(layer.distance, distances.Cosine)
    actual = numpy(layer(features))
    x, y = actual / np.linalg.norm(actual, axis=1, keepdims=True)
    assert numpy(layer.distance(actual, actual))[0, 1] == pytest.approx(-x @ y, abs=1e-6)


def test_weights_get_the_gradients_of_finite_differences(rng):
    layer, features = discriminants(rng, dtype="float64"), rng.normal(size=(4, 3))
    weights, slopes = layer.get_weights(), rng.normal(size=(4, 2))

    def value(kernel, bias):
        answer, _ = layer.stateless_call([kernel, bias], [], features)
        return ops.sum(answer * slopes)

    actual = gradients(value, *weights)
    for place, weight in enumerate(weights):

        def of_one(array, place=place):
            return value(*[array if i == place else second for i, second in enumerate(weights)])

        np.testing.assert_allclose(actual[place], finite_differences(of_one, weight), rtol=1e-6)


@pytest.mark.parametrize("shape", [(None, None, 4), (None, None), (4,)])
def test_other_inputs_are_refused(shape):
    with pytest.raises(ValueError, match=r"takes vectors of known length, shape \(batch, features"):
        LinearDiscriminants(2).build(shape)


@pytest.mark.parametrize("units", [0, -1, 1.5, "2"])
def test_units_are_a_whole_number(units):
    with pytest.raises(ValueError, match="`units` must be a whole number of at least 1"):
        LinearDiscriminants(units)


@pytest.mark.parametrize("limit", [0, -1, float("inf")])
def test_a_limit_is_positive(limit):
    with pytest.raises(ValueError, match="`limit` must be a positive number"):
        LinearDiscriminants(1, limit=limit)
