"""Tests the checks of labels and the search for pairs, with the Wasserstein loss and the N-pair
loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import keras, ops
from keras_dml.layers import QuantileLayer
from keras_dml.losses import NPairLoss, WassersteinLoss
from keras_dml.losses.pairs import anchors_and_positives, class_ids
from tests.graphs import graph, with_xla

CASES = {"wasserstein": (WassersteinLoss, (3, 5)), "n_pair": (NPairLoss, (6,))}
GOOD = np.array([4, 0, 4, 9, 0, 9])
NOT_PAIRS = {
    "a label once": ([0, 0, 1, 2], "label 1 1 times"),
    "a label three times": ([0, 1, 0, 0], "label 0 3 times"),
    "a label four times": ([7, 7, 7, 7], "label 7 4 times"),
}
NO_IDS = {
    "fractions": ([0.5, 0.5, 1.0, 1.0], r"\[0.5, 0.5\]"),
    "fractions that truncate to pairs": ([0.2, 0.7, 1.1, 1.9], r"\[0.2"),
    "negative": ([-1.0, -1.0, 0.0, 0.0], r"\[-1.0, -1.0\]"),
    "2**24 and one more, equal in float32": ([2**24, 2**24, 2**24 + 1, 2**24 + 1], "16777216"),
    "nan": ([np.nan, np.nan, 1, 1], "nan"),
    "infinite": ([np.inf, np.inf, 1, 1], "inf"),
}


# JAX raises a RuntimeError, but `fit` raises a ValueError
STOPPED = (ValueError, RuntimeError)
if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    STOPPED = tf.errors.InvalidArgumentError


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def embeddings(rng, kind, rows=6):
    result = np.sort(rng.normal(size=(rows, *CASES[kind][1])), axis=-1).astype("float32")
    if kind == "wasserstein":
        result[:, -1] = np.linspace(0, 1, result.shape[-1])  # the row of knots
    return result


def compiled(loss, labels, predictions):
    """Calls a loss in a compiled step of the backend. Labels are float32, because Keras casts
    labels."""
    return graph(loss)(np.asarray(labels, "float32"), predictions)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize(
    "cast",
    [
        lambda y: y[:, None],
        lambda y: y.astype("float32"),
        lambda y: y.astype("float64")[:, None],
        lambda y: y.tolist(),
    ],
)
def test_labels_may_be_a_column_or_of_any_numeric_type(rng, kind, cast):
    predictions, loss = embeddings(rng, kind), CASES[kind][0]()
    np.testing.assert_array_equal(
        numpy(loss(cast(GOOD), predictions)), numpy(loss(GOOD, predictions))
    )


@pytest.mark.parametrize("kind", CASES)
def test_the_greatest_labels_that_float32_tells_apart_are_fine(rng, kind):
    predictions, loss = embeddings(rng, kind, 4), CASES[kind][0]()
    labels = np.array([2**24 - 1, 2**24 - 2, 2**24 - 2, 2**24 - 1])
    result = numpy(loss(labels, predictions))
    np.testing.assert_array_equal(result, numpy(loss(np.array([1, 0, 0, 1]), predictions)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("labels, message", NOT_PAIRS.values(), ids=NOT_PAIRS)
def test_a_label_not_exactly_twice_is_named_and_stops_a_compiled_step(rng, kind, labels, message):
    predictions, loss = embeddings(rng, kind, 4), CASES[kind][0]()
    with pytest.raises(ValueError, match=message + ".*NPairSampler"):
        loss(np.array(labels), predictions)
    with pytest.raises(STOPPED, match="exactly twice.*NPairSampler"):
        compiled(loss, labels, predictions)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX stops")
@pytest.mark.parametrize("kind", CASES)
def test_where_xla_leaves_assertions_out_a_batch_that_is_no_set_of_pairs_is_nan(rng, kind):
    predictions, loss = embeddings(rng, kind, 4), CASES[kind][0]()
    step = with_xla(loss)
    assert np.isfinite(step(ops.convert_to_tensor([0.0, 1, 1, 0]), predictions))
    assert np.isnan(step(ops.convert_to_tensor([0.0, 1, 1, 1]), predictions))


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("labels, message", NO_IDS.values(), ids=NO_IDS)
def test_numbers_that_are_no_ids_are_shown_and_stop_a_compiled_step(rng, kind, labels, message):
    """Tests that labels with fractions stop a compiled step. If the labels were truncated to whole
    numbers, different labels could become equal and form pairs.
    """
    predictions, loss = embeddings(rng, kind, 4), CASES[kind][0]()
    with pytest.raises(ValueError, match=f"whole numbers from 0 to[^$]*{message}"):
        loss(np.array(labels, "float32"), predictions)
    with pytest.raises(STOPPED, match="whole numbers from 0 to"):
        compiled(loss, labels, predictions)


def test_the_message_shows_the_strange_label_however_far_down_it_stands():
    labels = np.repeat(np.arange(50.0), 2)
    labels[-1] = 3.5
    with pytest.raises(ValueError, match=r"Received \[3.5\]"):
        class_ids(labels)


@pytest.mark.parametrize("kind", CASES)
def test_one_hot_labels_are_refused_with_the_way_to_ids(rng, kind):
    with pytest.raises(ValueError, match=r"Received shape \(6, 3\).*argmax"):
        CASES[kind][0]()(np.eye(6, 3), embeddings(rng, kind))


@pytest.mark.parametrize("kind", CASES)
def test_an_odd_number_of_rows_is_refused_even_where_only_shapes_are_known(rng, kind):
    predictions, loss = embeddings(rng, kind, 5), CASES[kind][0]()
    with pytest.raises(ValueError, match="label 2 1 times"):
        loss(np.array([0, 0, 1, 1, 2]), predictions)
    with pytest.raises(ValueError, match="even number of rows. Received 5"):
        compiled(loss, [0, 0, 1, 1, 2], predictions)


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX compiles static shapes")
@pytest.mark.parametrize("kind", CASES)
def test_batches_of_unknown_size_are_compiled_once(rng, kind):
    import tensorflow as tf

    loss = CASES[kind][0]()
    shape = (None, *CASES[kind][1])
    step = tf.function(loss, input_signature=[tf.TensorSpec((None,)), tf.TensorSpec(shape)])
    for rows in (2, 6):
        predictions, labels = embeddings(rng, kind, rows), np.repeat(np.arange(rows // 2), 2)
        expected = numpy(loss(labels, predictions))
        result = step(labels.astype("float32"), predictions)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(STOPPED, match="NPairSampler"):
        step(np.array([0, 0, 1], "float32"), embeddings(rng, kind, 3))


@pytest.mark.parametrize("kind", CASES)
def test_more_rows_than_labels_are_refused(rng, kind):
    with pytest.raises(ValueError, match="must have the same number of rows"):
        CASES[kind][0]()(np.array([0, 0, 1, 1]), embeddings(rng, kind, 6))


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("labels", [[0, 1, 1, 1], [0, 0.5, 1, 1.5]], ids=["counts", "fractions"])
def test_fit_stops_at_a_batch_that_is_no_set_of_pairs_before_weights_move(rng, kind, labels):
    head = QuantileLayer(3, flatten=kind == "n_pair")
    net = keras.Sequential([keras.Input((9, 2)), keras.layers.Dense(2), head])
    net.compile("sgd", CASES[kind][0](), jit_compile=keras.backend.backend() == "jax")
    x = rng.normal(size=(4, 9, 2)).astype("float32")
    history = net.fit(x, np.array([0, 1, 1, 0]), batch_size=4, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    before = net.get_weights()
    with pytest.raises(STOPPED, match="exactly twice.*NPairSampler|whole numbers from 0 to"):
        net.fit(x, np.array(labels), batch_size=4, verbose=0)
    if keras.backend.backend() == "tensorflow":  # on JAX an interrupted `fit` loses the weights
        for weight, value in zip(net.get_weights(), before, strict=True):
            np.testing.assert_array_equal(weight, value)


@pytest.mark.slow
@given(st.permutations(list(np.repeat(np.arange(5), 2))))
def test_anchors_are_first_rows_in_order_and_positives_the_second_ones(labels):
    labels = np.array(labels, "int32")
    anchors, positives, valid = (numpy(part) for part in anchors_and_positives(class_ids(labels)))
    _, first = np.unique(labels, return_index=True)
    np.testing.assert_array_equal(anchors, np.sort(first))
    assert bool(valid)
    assert (positives > anchors).all()
    np.testing.assert_array_equal(labels[anchors], labels[positives])
