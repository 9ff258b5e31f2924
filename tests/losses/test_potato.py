"""Tests the potato ranking loss on z-scores computed from matrices and on given z-scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_dml._backend import keras, ops
from keras_dml.geometry.spd import potato
from keras_dml.losses import PotatoRankingLoss
from keras_dml.losses.potato import query_scores
from tests.geometry.matrices import (
    DTYPES,
    assert_gradients,
    assert_values,
    compiled,
    example,
)
from tests.gradients import finite_differences, gradients
from tests.graphs import graph


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def scores_of(inputs, x):
    """Computes z-scores `(batch, classes)` with the statistics of the Riemannian potatoes in a
    worked example."""
    values = ops.transpose(potato.log_distances(inputs["centers"], x))
    return potato.z_score(values, inputs["log_mu"], inputs["log_sigma"])


def sum_of(loss, labels):
    return lambda scores: ops.sum(loss(labels, scores))


def golden_scores(inputs):
    return graph(lambda x: scores_of(inputs, x))(inputs["x"])


def loss_of(inputs, dtype, **options):
    options = {"z_threshold": inputs["threshold"], "margin": inputs["margin"], **options}
    return PotatoRankingLoss(weight=inputs["negative_weight"], dtype=dtype, **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_golden_values_and_gradients(dtype):
    inputs, expected, gradient, tolerance = example("rpl_loss", dtype)
    labels, loss, scores = inputs["labels"], loss_of(inputs, dtype), golden_scores(inputs)
    assert_values(scores.T, expected["z_by_class"], tolerance)
    assert_values(loss(labels, scores), expected["value"], tolerance)
    values = loss_of(inputs, dtype, reduction=None)(labels, scores)
    assert_values(values, expected["per_query"], tolerance)
    (result,) = gradients(compiled(lambda x: loss(labels, scores_of(inputs, x))), inputs["x"])
    assert_gradients(result, gradient["x"], tolerance)


def test_the_mined_sets_are_the_golden_ones():
    inputs, expected, _, _ = example("rpl_loss", "float64")
    labels = np.asarray(inputs["labels"], "int32")
    table = query_scores(labels, golden_scores(inputs))
    masks = loss_of(inputs, "float64").mined(labels, table)
    for mask, rows in zip(masks, (expected["positives"], expected["negatives"]), strict=True):
        assert [np.flatnonzero(row).tolist() for row in numpy(mask)] == rows


def test_equation_10_as_printed_is_another_loss():
    """Tests that Eq. 10 of Kim2020 as printed gives another loss. In Eq. 10, the terms of negatives
    start at the boundary of the potato, and the terms of positives start a margin beyond the
    boundary."""
    inputs, expected, _, _ = example("rpl_loss", "float64")
    labels = np.asarray(inputs["labels"], "int32")
    z = numpy(query_scores(labels, golden_scores(inputs)))
    loss = loss_of(inputs, "float64")
    outside, inside = map(numpy, loss.mined(labels, z))
    pay = np.maximum(z - inputs["threshold"] - inputs["margin"], 0)
    printed = (outside * pay).sum(1) / np.maximum(outside.sum(1), 1)
    take = inside * (inputs["threshold"] - z)
    printed += inputs["negative_weight"] * take.sum(1) / np.maximum(inside.sum(1), 1)
    np.testing.assert_allclose(printed.mean(), expected["printed_equation_10"], rtol=1e-9)
    assert abs(printed.mean() - expected["value"]) > 1


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_empty_sets_pay_nothing():
    inputs, expected, _, tolerance = example("rpl_empty_sets", "float64")
    all_scores = golden_scores(inputs)
    for case in expected["cases"]:
        scores, labels = all_scores[case["rows"]], inputs["labels"][case["rows"]]
        options = {"z_threshold": case["threshold"], "margin": case["margin"]}
        loss = loss_of(inputs, "float64", reduction=None, **options)
        values = numpy(loss(labels, scores))
        assert_values(values, case["per_query"], tolerance)
        assert_values(values.mean(), case["value"], tolerance)
        (result,) = gradients(compiled(sum_of(loss, labels)), scores)
        assert np.isfinite(result).all()
        moved = {j for sets in case["sets"] for rows in sets for j in rows}
        assert {j for j in range(len(labels)) if (result[j] != 0).any()} == moved


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix_on_a_center_is_finite_without_gradient(dtype):
    inputs, expected, _, tolerance = example("rpl_at_the_center", dtype)
    labels, scores = inputs["labels"], golden_scores(inputs)
    assert_values(scores.T, expected["z_by_class"], tolerance)
    values = loss_of(inputs, dtype, reduction=None)(labels, scores)
    assert_values(values, expected["per_query"], tolerance)
    assert_values(loss_of(inputs, dtype)(labels, scores), expected["value"], tolerance)
    (result,) = gradients(compiled(lambda x: scores_of(inputs, x)[1, 0]), inputs["x"])
    np.testing.assert_array_equal(result, 0)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("dtype", DTYPES)
def test_classes_without_spread_are_floored(dtype):
    inputs, _, _, tolerance = example("rpl_loss", dtype)
    expected = example("rpl_at_the_center", dtype)[1]["value_with_log_sigma_0"]
    scores = golden_scores({**inputs, "log_sigma": np.zeros(3, dtype)})
    assert_values(loss_of(inputs, dtype)(inputs["labels"], scores), expected, tolerance)


def by_loops(labels, scores, threshold, margin, weight):
    values = []
    for i, label in enumerate(labels):
        z = scores[:, label]
        own = [j for j in range(len(z)) if j != i and labels[j] == label and z[j] > threshold]
        rest = [j for j in range(len(z)) if labels[j] != label and z[j] < threshold + margin]
        positive = sum(z[j] - threshold for j in own) / max(len(own), 1)
        negative = sum(threshold + margin - z[j] for j in rest) / max(len(rest), 1)
        values.append(positive + weight * negative)
    return values


@settings(max_examples=15)
@given(st.integers(0, 2**31))
def test_values_are_those_of_loops(seed):
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 4, 7), rng.normal(scale=3, size=(7, 4)).round(1)
    options = {"z_threshold": 0.5, "margin": 1.5, "weight": 0.3}
    loss = PotatoRankingLoss(**options, reduction=None, dtype="float64")
    result = loss(labels, scores)
    np.testing.assert_allclose(numpy(result), by_loops(labels, scores, 0.5, 1.5, 0.3), rtol=1e-9)


def test_gradients_agree_with_finite_differences(rng):
    labels, scores = np.array([0, 2, 0, 1, 0]), rng.normal(scale=3, size=(5, 3))
    loss = PotatoRankingLoss(0.5, dtype="float64")
    (result,) = gradients(compiled(sum_of(loss, labels)), scores)
    expected = finite_differences(graph(lambda scores: loss(labels, scores)), scores)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-8)


@pytest.mark.slow_on_jax
def test_on_the_bounds_nothing_is_mined():
    scores = np.array([[2.5, 3.5], [2.5, 3.5], [3.5, 2.5]])
    assert float(PotatoRankingLoss()(np.array([0, 0, 1]), scores)) == 0


def test_a_nan_stays_with_the_queries_that_see_it():
    """Tests that NaN changes only the loss of the rows that depend on it. A row that is not finite
    has NaN scores in all potatoes, and a potato without statistics gives NaN scores.
    """
    scores = np.zeros((4, 3))
    scores[:, 2] = np.nan
    labels = np.array([0, 0, 1, 1])
    loss = PotatoRankingLoss(reduction=None)
    assert np.isfinite(numpy(loss(labels, scores))).all()
    result = gradients(compiled(sum_of(loss, labels.copy())), scores)[0]
    assert np.isfinite(result).all()
    labels[3] = 2
    assert np.isnan(numpy(loss(labels, scores))).tolist() == [False, False, False, True]
    scores[1] = np.nan
    assert np.isnan(numpy(loss(labels, scores))).all()


@pytest.mark.slow_on_jax
def test_a_label_without_a_potato_is_refused():
    labels, scores = np.array([0.0, 2.0, 1.0], "float32"), np.zeros((3, 2), "float32")
    with pytest.raises(ValueError, match=r"below the number of potatoes.*Received \[2\]"):
        PotatoRankingLoss()(labels, scores)
    with pytest.raises(Exception, match="below the number of potatoes.*Received.*2"):
        graph(PotatoRankingLoss(reduction=None))(labels, scores)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="shapes are static on JAX")
def test_an_unknown_number_of_classes_is_read_from_the_scores(rng):
    import tensorflow as tf

    labels, scores = np.array([0, 2, 1, 2, 0], "int32"), rng.normal(size=(5, 3)).astype("float32")
    loss = PotatoRankingLoss(reduction=None)
    traced = tf.function(loss, [tf.TensorSpec([None], "int32"), tf.TensorSpec([None, None])])
    np.testing.assert_allclose(traced(labels, scores), numpy(loss(labels, scores)), rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="below the number of potatoes"):
        traced(labels + 1, scores)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"margin": -1}, "`margin` must be a number of at least 0. Received margin=-1"),
        ({"weight": float("nan")}, "`weight` must be a number of at least 0"),
        ({"z_threshold": float("inf")}, "`z_threshold` must be finite"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PotatoRankingLoss(**options)


def test_embeddings_instead_of_scores_are_refused():
    with pytest.raises(ValueError, match=r"z-scores.*\(3, 2, 2\).*PotatoNetwork"):
        PotatoRankingLoss()(np.zeros(3, "int32"), np.zeros((3, 2, 2)))
