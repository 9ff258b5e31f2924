import numpy as np
import pytest

from keras_dml import distances
from keras_dml._backend import ops
from keras_dml.geometry import two_covariance
from keras_dml.layers import TwoCovariance


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@pytest.fixture
def layer(rng):
    layer = TwoCovariance(2)
    layer.build((None, 3))
    layer.set_weights([rng.normal(size=(3, 2)), rng.normal(size=2), np.array([4.0, 0.5])])
    return layer


@pytest.mark.slow_on_jax
def test_an_embedding_holds_coordinates_and_variances(layer, rng):
    features = rng.normal(size=(5, 3)).astype("float32")
    kernel, bias, variances = (numpy(weight) for weight in layer.variables)
    actual = numpy(layer(features))
    np.testing.assert_allclose(actual[:, 0], features @ kernel + bias, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(actual[:, 1], np.tile(variances, (5, 1)))


@pytest.mark.slow_on_jax
def test_embeddings_are_compared_by_the_log_likelihood_ratio(layer, rng):
    assert isinstance(layer.distance, distances.LogLikelihoodRatio)
    z = numpy(layer(rng.normal(size=(5, 3)).astype("float32")))
    actual = numpy(layer.distance(z[:2], z))
    vectors = z[:, 0].astype(float)
    expected = two_covariance.log_likelihood_ratio(
        vectors[:2, None], vectors[None], z[0, 1].astype(float)
    )
    np.testing.assert_allclose(actual, -expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(numpy(layer.distance.on_device(z[:2], z)), actual, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(None, None, 4), (None, None), (4,)])
def test_other_inputs_are_refused(shape):
    with pytest.raises(ValueError, match=r"takes vectors of known length, shape \(batch, features"):
        TwoCovariance(2).build(shape)


@pytest.mark.parametrize("units", [0, -1, 1.5, "2"])
def test_units_are_a_whole_number(units):
    with pytest.raises(ValueError, match="`units` must be a whole number of at least 1"):
        TwoCovariance(units)
