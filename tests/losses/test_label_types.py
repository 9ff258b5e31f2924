"""Tests that every loss accepts labels of every integer type, as arrays and in a
`tf.data.Dataset`."""

import numpy as np
import pytest

from keras_dml import losses
from keras_dml._backend import keras, ops
from keras_dml.losses.pairs import class_ids
from tests.graphs import graph

INTEGERS = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
LABELS = np.array([0, 1, 1, 0])
LOSSES = {
    "contrastive": (losses.ContrastiveLoss, 3),
    "dsml": (losses.DSMLTripletLoss, 3),
    "lifted_structure": (losses.LiftedStructureLoss, 3),
    "n_pair": (losses.NPairLoss, 3),
    "potato": (lambda **options: losses.PotatoRankingLoss(0.0, **options), 2),
    "proxy_nca": (losses.ProxyNCALoss, 2),
    "triplet": (losses.TripletLoss, 3),
    "wasserstein": (losses.WassersteinLoss, (3, 4)),
}
each_loss = pytest.mark.parametrize("make, width", LOSSES.values(), ids=LOSSES)


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def predictions(rng, width):
    """Returns random predictions. If `width` consists of two numbers, the predictions are quantile
    embeddings with the knots in the last row.
    """
    if isinstance(width, int):
        return rng.normal(size=(4, width)).astype("float32")
    x = np.sort(rng.normal(size=(4, *width)), axis=-1).astype("float32")
    x[:, -1] = np.linspace(0, 1, width[1])
    return x


@pytest.mark.parametrize("dtype", INTEGERS)
def test_ids_of_every_integer_type_are_those_of_int32_eager_and_compiled(dtype):
    labels = LABELS.astype(dtype)
    np.testing.assert_array_equal(numpy(class_ids(labels)), LABELS)
    np.testing.assert_array_equal(numpy(class_ids(ops.convert_to_tensor(labels))), LABELS)
    np.testing.assert_array_equal(graph(class_ids)(labels), LABELS)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float16", "bfloat16"])
def test_negative_labels_of_every_type_are_no_ids(dtype):
    labels = ops.cast(np.array([-1, 0]), dtype)
    with pytest.raises(ValueError, match=r"whole numbers from 0 to"):
        class_ids(labels)
    with pytest.raises(Exception, match="whole numbers from 0 to.*Received.*-1"):
        graph(class_ids)(labels)


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int64"])
@pytest.mark.parametrize("label", [2**31, 2**32 - 1, 2**32 + 1, 2**63 - 1])
def test_ids_beyond_int32_are_refused_whatever_their_type_holds(dtype, label):
    if label > np.iinfo(dtype).max:
        pytest.skip("the type does not hold it")
    with pytest.raises(ValueError, match=f"Received .{label}."):
        class_ids(np.array([0, label], dtype))


@pytest.mark.slow
@each_loss
@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_loss_is_the_same_for_labels_of_every_integer_type(rng, make, width, dtype):
    x, loss = predictions(rng, width), make()
    expected = numpy(loss(LABELS.astype("int32"), x))
    assert np.isfinite(expected)
    np.testing.assert_array_equal(numpy(loss(LABELS.astype(dtype), x)), expected)
    np.testing.assert_allclose(graph(loss)(LABELS.astype(dtype), x), expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", ["arrays", "tf.data"])
def test_fit_moves_the_weights_as_for_int32(rng, dtype, source):
    x = rng.normal(size=(4, 3)).astype("float32")

    def fitted(labels):
        keras.utils.set_random_seed(3)
        net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        net.compile("sgd", losses.NPairLoss())
        data = (x, labels)
        if source == "tf.data":
            tf = pytest.importorskip("tensorflow")
            data = (tf.data.Dataset.from_tensor_slices(data).batch(4),)
        before = net.get_weights()
        net.fit(*data, batch_size=4, shuffle=False, verbose=0)
        assert not np.array_equal(net.get_weights()[0], before[0])
        return net.get_weights()

    for result, expected in zip(fitted(LABELS.astype(dtype)), fitted(LABELS), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@each_loss
@pytest.mark.parametrize(
    "labels, message",
    [
        (["ann", "bob", "bob", "ann"], r"numpy.unique\(labels, return_inverse=True\)"),
        (np.array(["ann", "bob", "bob", "ann"], object), r"numpy.unique"),
        (np.array(["2020", "2021", "2021", "2020"], "M8[Y]"), "dtype datetime64"),
        (np.array([0, 1, 1, 0]) + 1j, "dtype complex128"),
        (np.ma.array([0, 1, 1, 0], mask=[0, 0, 1, 0]), "1 of 4 masked"),
    ],
    ids=["list of names", "objects", "dates", "complex", "masked"],
)
def test_labels_that_are_no_numbers_are_refused_in_words(rng, make, width, labels, message):
    with pytest.raises(TypeError, match=message):
        make()(labels, predictions(rng, width))


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX has no strings")
def test_a_tensor_of_names_is_refused_in_words(rng):
    with pytest.raises(TypeError, match=r"numpy.unique\(labels, return_inverse=True\)"):
        losses.TripletLoss()(ops.convert_to_tensor(["a", "b"]), predictions(rng, 3)[:2])


@each_loss
def test_predictions_that_are_no_real_numbers_are_refused(rng, make, width):
    x = predictions(rng, width)
    for bad in (np.ma.array(x, mask=x == x.max()), x + 1j, x.astype(str)):
        with pytest.raises(TypeError, match="Predictions must hold"):
            make()(LABELS, bad)


@pytest.mark.slow_on_jax
@each_loss
def test_lists_are_taken_and_no_rows_are_refused_in_words(rng, make, width):
    x, loss = predictions(rng, width), make()
    result = numpy(loss(LABELS.tolist(), x.tolist()))
    np.testing.assert_allclose(result, numpy(loss(LABELS, x)), rtol=1e-6)
    with pytest.raises(ValueError, match="needs at least one row"):
        loss(LABELS[:0], x[:0])


@each_loss
def test_each_row_needs_its_label(rng, make, width):
    with pytest.raises(ValueError, match="must have the same number of rows. Received 2 labels"):
        make()(LABELS[:2], predictions(rng, width))
    with pytest.raises(ValueError, match=r"class id.*shape \(\)"):
        make()(np.array(1), predictions(rng, width))
