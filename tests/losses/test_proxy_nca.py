import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.layers import Proxies
from keras_dml.losses import ProxyNCALoss
from tests import contracts
from tests.goldens import golden
from tests.gradients import finite_differences, gradients
from tests.graphs import graph
from tests.losses.examples import check_gradient, numpy


def layer_of(proxies, dtype):
    layer = Proxies(len(proxies), dtype=dtype)
    layer.build((None, proxies.shape[1]))
    layer.set_weights([proxies])
    return layer


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_golden_value_and_gradients_in_embeddings_and_proxies(dtype):
    example = golden("proxy_nca", "seeds_p3")
    tolerance, expected = example["tolerance"][dtype], example["expected"]
    close = {"rtol": tolerance["rtol"], "atol": tolerance["atol"]}
    x, proxies = (np.asarray(example["inputs"][key], dtype) for key in ("x", "proxies"))
    labels = np.asarray(example["inputs"]["labels"])
    table = layer_of(proxies, dtype)(x)
    make = lambda **kwargs: ProxyNCALoss(dtype=dtype, **kwargs)  # noqa: E731
    np.testing.assert_allclose(make()(labels, table), expected["value"], **close)
    each = make(reduction=None)(labels, table)
    np.testing.assert_allclose(numpy(each), expected["per_anchor"], **close)
    np.testing.assert_allclose(make(softmax=True)(labels, table), expected["softmax"], **close)

    def run(x, proxies):
        layer = layer_of(np.zeros(proxies.shape, dtype), dtype)
        return make()(labels, layer.stateless_call([proxies], [], x)[0])

    for result, key in zip(gradients(run, x, proxies), ("x", "proxies"), strict=True):
        check_gradient(result, example["gradient"][key], tolerance)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("softmax", [False, True])
def test_gradients_agree_with_finite_differences(rng, softmax):
    table, labels = rng.uniform(0, 4, size=(5, 3)), np.array([0, 1, 2, 0, 0])
    loss = ProxyNCALoss(softmax, dtype="float64")
    (result,) = gradients(lambda d: loss(labels, d), table)
    expected = finite_differences(lambda d: loss(labels, d), table)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-6)


def test_softmax_is_the_cross_entropy_of_the_negative_distances(rng):
    table, labels = rng.uniform(0, 4, size=(5, 3)), np.array([0, 1, 2, 0, 0])
    expected = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, -table)
    np.testing.assert_allclose(ProxyNCALoss(softmax=True)(labels, table), expected, rtol=1e-5)


def test_labels_without_a_proxy_are_shown(rng):
    table = rng.uniform(0, 4, size=(3, 2)).astype("float32")
    with pytest.raises(ValueError, match=r"below the number of proxies.*Received \[2, 5\]"):
        ProxyNCALoss()(np.array([0, 5, 2]), table)
    with pytest.raises(Exception, match="below the number of proxies.*Received.*5"):
        graph(ProxyNCALoss(reduction=None))(np.array([0, 5, 1], "float32"), table)


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3, 3)])
def test_predictions_that_are_no_table_of_proxies_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(batch, classes\).*Proxies\(classes\)"):
        ProxyNCALoss()(np.array([0, 0, 0, 0]), np.zeros(shape, "float32"))


@pytest.mark.slow
def test_an_encoder_learns_with_its_proxies_and_leaves_them(rng):
    """Tests that an encoder is trained with proxies and can then be used without the proxies. The
    model that is trained contains the proxies, and its file contains them too.
    """
    signal = keras.Input((3,))
    embedding = keras.layers.Dense(2)(signal)
    encoder = keras.Model(signal, embedding)
    net = keras.Model(signal, Proxies(3)(embedding))
    net.compile(keras.optimizers.Adam(0.05), ProxyNCALoss(softmax=True))
    y = np.repeat(np.arange(3), 8)
    x = (np.eye(3)[y] + 0.1 * rng.normal(size=(24, 3))).astype("float32")
    history = net.fit(x, y, batch_size=24, epochs=30, verbose=0).history["loss"]
    assert history[-1] < history[0] / 2
    assert contracts.as_numpy(encoder(x)).shape == (24, 2)


def test_an_unknown_number_of_proxies_is_refused():
    labels, distances = keras.KerasTensor((4,), "int32"), keras.KerasTensor((4, None), "float32")
    with pytest.raises(ValueError, match=r"Received shape \(4, None\)"):
        ProxyNCALoss().call(labels, distances)
