"""Tests each row of the README's table about migration from TensorFlow Addons, with values that
TensorFlow Addons computed.
"""

import numpy as np
import pytest

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.geometry import vector
from keras_dml.losses import ContrastiveLoss, LiftedStructureLoss, NPairLoss, TripletLoss
from tests.goldens import load
from tests.gradients import gradients

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
pytestmark = pytest.mark.skipif(
    keras.backend.backend() == "jax",
    reason="the values are TensorFlow's; each loss has tests of its own on JAX",
)


def cases(function):
    """Returns the worked examples of one function of TensorFlow Addons. In the file, the inputs are
    names of arrays. This function replaces the names by the arrays.
    """
    golden = load("tfa")
    for case in golden["cases"]:
        if case["fn"] == function:
            yield {
                **case,
                "inputs": {
                    key: np.asarray(golden["inputs"][name]) for key, name in case["inputs"].items()
                },
            }


def interleaved(anchors, positives):
    """Arranges anchors and positives alternately in an array of 2N rows, as the losses of keras-dml
    expect.
    """
    return np.stack([anchors, positives], axis=1).reshape(-1, *anchors.shape[1:]).astype("float32")


def test_npairs_loss_is_the_inner_n_pair_loss_where_each_class_makes_one_pair():
    """Compares the N-pair loss with TensorFlow Addons.

    The loss of TensorFlow Addons takes the similarity matrix as its input. The loss of keras-dml
    computes the similarity matrix from the embeddings.
    """
    arrays = {
        key: np.asarray(value)
        for key, value in load("tfa")["inputs"].items()
        if key in ("anchor6", "positive6")
    }
    (case, repeated) = cases("tfa.losses.npairs_loss")
    labels = case["inputs"]["y_true"]
    anchors, positives = (arrays[key].astype("float32") for key in ("anchor6", "positive6"))
    np.testing.assert_allclose(anchors @ positives.T, case["inputs"]["y_pred"], **CLOSE)
    rows = interleaved(anchors, positives)
    loss = NPairLoss("inner")
    np.testing.assert_allclose(float(loss(np.repeat(labels, 2), rows)), case["value"], **CLOSE)

    in_table = np.asarray(case["grad"]["y_pred"], "float32")  # (6, 6)
    (result,) = gradients(lambda f: loss(np.repeat(labels, 2), f), rows)
    np.testing.assert_allclose(result[0::2], in_table @ positives, **CLOSE)
    np.testing.assert_allclose(result[1::2], in_table.T @ anchors, **CLOSE)

    # In TensorFlow Addons, all rows with the same label share the target of the cross-entropy.
    # keras-dml raises an error for batches with several pairs of a class.
    with pytest.raises(ValueError, match="exactly twice"):
        loss(np.repeat(repeated["inputs"]["y_true"], 2), rows)


def test_npairs_loss_on_the_similarity_matrix_itself():
    """Tests the N-pair loss for a given similarity matrix. If the positives are unit vectors, the
    similarity matrix equals the embeddings of the anchors."""
    for case in list(cases("tfa.losses.npairs_loss"))[:1]:
        table = case["inputs"]["y_pred"].astype("float32")
        rows = interleaved(table, np.eye(len(table)))
        labels = np.repeat(case["inputs"]["y_true"], 2)
        np.testing.assert_allclose(float(NPairLoss("inner")(labels, rows)), case["value"], **CLOSE)
        (result,) = gradients(lambda f, y=labels: NPairLoss("inner")(y, f), rows)
        np.testing.assert_allclose(result[0::2], case["grad"]["y_pred"], **CLOSE)


@pytest.mark.parametrize("number", [0, 1], ids=["emb9", "emb8_duplicates"])
def test_angular_distance_is_one_more_than_the_cosine_distance(number):
    """Tests that the angular distance of TensorFlow Addons (1 - cosine) is one more than the cosine
    distance of keras-dml (-cosine). A threshold for one of the two distances must therefore be
    shifted by one for the other.
    """
    case = list(cases("tfa.losses.metric_learning.angular_distance"))[number]
    embeddings = case["inputs"]["feature"].astype("float32")
    cosine = distances.get("cosine")
    np.testing.assert_allclose(
        1 + np.asarray(cosine(embeddings, embeddings)), case["value"], **CLOSE
    )
    (result,) = gradients(lambda f: ops.sum(1 + cosine(f, f)), embeddings)
    np.testing.assert_allclose(result, case["grad"]["feature"], rtol=1e-4, atol=2e-6)


# TensorFlow Addons has the argument `distance_metric`, and this package has two arguments.
METRICS = {
    "L2": {"squared": False},
    "squared-L2": {"squared": True},
    "angular": {"distance": "cosine", "squared": False},
}


def check(case, loss, labels, embeddings):
    """Checks the value and the gradient of a loss. If a batch has no pair, TensorFlow Addons
    returns NaN, and keras-dml returns 0 without a gradient.
    """
    x = case["inputs"][embeddings].astype("float32")
    labels = case["inputs"][labels]
    value, slopes = np.asarray(case["value"]), np.asarray(case["grad"][embeddings])
    if np.isnan(value):
        value, slopes = 0.0, np.zeros_like(x)
    np.testing.assert_allclose(float(loss(labels, x)), value, **CLOSE)
    (result,) = gradients(lambda x: loss(labels, x), x)
    np.testing.assert_allclose(result, slopes, rtol=1e-4, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_triplet_semihard_loss_is_the_semi_hard_triplet_loss_with_its_fallback(metric):
    result = [
        case
        for case in cases("tfa.losses.triplet_semihard_loss")
        if case["args"]["distance_metric"] == metric
    ]
    assert len(result) == 14
    for case in result:
        loss = TripletLoss(case["args"]["margin"], fallback="farthest", **METRICS[metric])
        check(case, loss, "y_true", "y_pred")


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_triplet_hard_loss_is_the_hard_triplet_loss_with_its_fallback(metric):
    result = [
        case
        for case in cases("tfa.losses.triplet_hard_loss")
        if case["args"]["distance_metric"] == metric
    ]
    assert len(result) == 21
    for case in result:
        margin, soft = case["args"]["margin"], case["args"]["soft"]
        loss = TripletLoss(margin, "hard", soft=soft, fallback="farthest", **METRICS[metric])
        check(case, loss, "y_true", "y_pred")


def test_lifted_struct_loss_is_the_lifted_structure_loss():
    result = list(cases("tfa.losses.lifted_struct_loss"))
    assert len(result) == 14
    for case in result:
        check(case, LiftedStructureLoss(case["args"]["margin"]), "labels", "embeddings")


def contrastive(loss, distance, equal):
    """Returns the loss of one pair at a given distance, and the derivative with respect to the
    distance.
    """
    labels, run = np.array([0, not equal]), lambda x: loss(labels, x)
    x = np.array([[0.0], [distance]], "float32")
    return float(run(x)), gradients(run, x)[0][1, 0]


@pytest.mark.slow
def test_contrastive_losses_are_twice_the_contrastive_loss_of_each_pair():
    """Tests that TensorFlow Addons computes twice the contrastive loss of this package. The
    functions of TensorFlow Addons take distances, and use d^2 and (margin - d)^2 without the factor
    1/2. The label of a pair is 1 if both rows have the same class.
    """
    result = list(cases("tfa.losses.contrastive_loss"))
    assert len(result) == 3
    for case in result:
        equal, distance = (case["inputs"][key] for key in ("y_true", "y_pred"))
        loss = ContrastiveLoss(case["args"]["margin"])
        pairs = [contrastive(loss, d, y) for d, y in zip(distance, equal, strict=True)]
        values, slopes = np.transpose(pairs)
        np.testing.assert_allclose(2 * values, case["value"], **CLOSE)
        separate = distance > 0  # at 0 the distance of embeddings has no gradient
        np.testing.assert_allclose(2 * slopes[separate], np.array(case["grad"]["y_pred"])[separate])
    by_reduction = {
        case["args"]["reduction"]: np.asarray(case["value"])
        for case in cases("tfa.losses.ContrastiveLoss")
    }
    np.testing.assert_array_equal(by_reduction["none"], result[0]["value"])
    values = np.array(
        [contrastive(ContrastiveLoss(), *pair)[0] for pair in zip(distance, equal, strict=True)]
    )
    np.testing.assert_allclose(by_reduction["sum"], 2 * values.sum(), **CLOSE)
    np.testing.assert_allclose(by_reduction["sum_over_batch_size"], 2 * values.mean(), **CLOSE)


@pytest.mark.parametrize("number", range(4))
def test_pairwise_distance_is_the_euclidean_one_or_its_square(number):
    """Compares Euclidean distances with TensorFlow Addons. The gradient between equal rows is 0 in
    TensorFlow Addons and in this package."""
    case = list(cases("tfa.losses.metric_learning.pairwise_distance"))[number]
    x = case["inputs"]["feature"].astype("float32")
    of = vector.squared_euclidean if case["args"]["squared"] else vector.euclidean
    np.testing.assert_allclose(np.asarray(of(x, x)), case["value"], rtol=1e-5, atol=2e-6)
    (result,) = gradients(lambda x: ops.sum(of(x, x)), x)
    np.testing.assert_allclose(result, case["grad"]["feature"], rtol=1e-4, atol=2e-5)


def test_every_golden_loss_is_compared_or_has_no_counterpart():
    """Tests that every loss of TensorFlow Addons is compared in a test. Losses on quantiles and
    probabilities are exceptions, because they are not for metric learning.
    """
    valid = {case["fn"] for case in load("tfa")["cases"] if ".losses." in case["fn"]}
    compared = {
        "ContrastiveLoss",
        "contrastive_loss",
        "lifted_struct_loss",
        "metric_learning.angular_distance",
        "metric_learning.pairwise_distance",
        "npairs_loss",
        "triplet_hard_loss",
        "triplet_semihard_loss",
    }
    none = {"npairs_multilabel_loss", "pinball_loss", "sigmoid_focal_crossentropy"}
    assert valid == {f"tfa.losses.{name}" for name in compared | none}


def test_sohns_penalty_is_what_addons_left_to_the_caller(rng):
    """Tests the penalty `reg / 4 * (mean |a|^2 + mean |p|^2)`. The module `contrib` of TensorFlow 1
    computed this penalty, and TensorFlow Addons does not compute it.
    """
    (case, _) = cases("tfa.losses.npairs_loss")
    arrays = load("tfa")["inputs"]
    anchors, positives = np.asarray(arrays["anchor6"]), np.asarray(arrays["positive6"])
    by_hand = 0.002 / 4 * ((anchors**2).sum(axis=1).mean() + (positives**2).sum(axis=1).mean())
    labels = np.repeat(case["inputs"]["y_true"], 2)
    result = NPairLoss("inner", l2=0.002)(labels, interleaved(anchors, positives))
    assert keras.backend.standardize_dtype(result.dtype) == "float32"
    np.testing.assert_allclose(float(result), case["value"] + by_hand, **CLOSE)
