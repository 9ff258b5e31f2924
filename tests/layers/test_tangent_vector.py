"""Tests that TangentVector keeps inner products of symmetric matrices."""

import numpy as np
import pytest

from keras_dml import distances
from keras_dml._backend import ops
from keras_dml.layers import LogEig, TangentVector


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def covariances(rng, count, n):
    x = rng.normal(size=(count, 3 * n, n))
    return np.swapaxes(x, 1, 2) @ x / (3 * n)


def test_inner_products_are_kept(rng):
    x = rng.normal(size=(2, 4, 4))
    x = x + np.swapaxes(x, 1, 2)
    first, second = numpy(TangentVector(dtype="float64")(x))
    assert first.shape == (10,)
    np.testing.assert_allclose(first @ second, np.sum(x[0] * x[1]), rtol=1e-12)


@pytest.mark.slow_on_jax
def test_its_distance_of_logarithms_is_the_log_euclidean_one(rng):
    x, layer = covariances(rng, 4, 5), TangentVector(dtype="float64")
    vectors = layer(LogEig(dtype="float64")(x))
    actual = numpy(layer.distance(vectors, vectors))
    np.testing.assert_allclose(actual, numpy(distances.LogEuclidean()(x, x)), rtol=0, atol=1e-6)


def test_matrices_that_are_not_square_are_refused():
    with pytest.raises(ValueError, match=r"TangentVector needs square.*\(None, 10\)"):
        TangentVector().build((None, 10))
