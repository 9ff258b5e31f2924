import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.layers import Proxies
from tests import contracts


@pytest.mark.parametrize("classes", [0, 1, 2.0, None])
def test_fewer_than_two_proxies_are_refused(classes):
    with pytest.raises(ValueError, match="`classes` must be a whole number of at least 2"):
        Proxies(classes)


@pytest.mark.parametrize("shape", [(None, 4, 4), (None, None), (None, 5, 3)])
def test_inputs_other_than_vectors_are_refused(shape):
    with pytest.raises(ValueError, match="TangentVector.*SequencePooling"):
        Proxies(3).build(shape)


def test_a_proxy_is_at_distance_zero_of_its_direction_and_a_zero_vector_at_two(rng):
    layer = Proxies(3)
    layer.build((None, 4))
    proxies = rng.normal(size=(3, 4)).astype("float32")
    layer.set_weights([proxies])
    table = contracts.as_numpy(layer(np.concatenate([5 * proxies, np.zeros((1, 4))])))
    np.testing.assert_allclose(np.diagonal(table), 0, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(table[3], 2)
    assert (table >= -1e-6).all() and (table <= 4 + 1e-6).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_bfloat16"])
def test_distances_are_float32_whatever_the_policy(dtype):
    actual = Proxies(2, dtype=dtype)(np.ones((1, 3), "float32"))
    assert keras.backend.standardize_dtype(actual.dtype) == "float32"
