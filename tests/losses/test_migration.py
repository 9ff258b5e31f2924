"""Moving here from TensorFlow Addons: each row of the README's table, against its real values."""

import numpy as np
import pytest

from keras_dml import distances
from keras_dml._keras import keras, ops
from keras_dml.losses import NPairLoss
from tests.goldens import load
from tests.gradients import gradients

CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def cases(function):
    """Cases of one function of TensorFlow Addons, with arrays in place of their names."""
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
    """One array of 2N rows, in which row `i` of each is a pair, as the losses here take it."""
    return np.stack([anchors, positives], axis=1).reshape(-1, *anchors.shape[1:]).astype("float32")


def test_npairs_loss_is_the_inner_n_pair_loss_where_each_class_makes_one_pair():
    """There the similarity matrix is given; here it is made of the embeddings."""
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
    (found,) = gradients(lambda f: loss(np.repeat(labels, 2), f), rows)
    np.testing.assert_allclose(found[0::2], in_table @ positives, **CLOSE)
    np.testing.assert_allclose(found[1::2], in_table.T @ anchors, **CLOSE)

    # There, rows of one label share the target; here such a batch is refused.
    with pytest.raises(ValueError, match="exactly twice"):
        loss(np.repeat(repeated["inputs"]["y_true"], 2), rows)


def test_npairs_loss_on_the_similarity_matrix_itself():
    """With unit vectors as positives the embeddings of the anchors are the matrix."""
    for case in list(cases("tfa.losses.npairs_loss"))[:1]:
        table = case["inputs"]["y_pred"].astype("float32")
        rows = interleaved(table, np.eye(len(table)))
        labels = np.repeat(case["inputs"]["y_true"], 2)
        np.testing.assert_allclose(float(NPairLoss("inner")(labels, rows)), case["value"], **CLOSE)
        (found,) = gradients(lambda f, y=labels: NPairLoss("inner")(y, f), rows)
        np.testing.assert_allclose(found[0::2], case["grad"]["y_pred"], **CLOSE)


@pytest.mark.parametrize("number", [0, 1], ids=["emb9", "emb8_duplicates"])
def test_angular_distance_is_one_more_than_the_cosine_distance(number):
    """It is 1 - cosine there, not an angle, and -cosine here: thresholds move by one."""
    case = list(cases("tfa.losses.metric_learning.angular_distance"))[number]
    embeddings = case["inputs"]["feature"].astype("float32")
    cosine = distances.get("cosine")
    np.testing.assert_allclose(
        1 + np.asarray(cosine(embeddings, embeddings)), case["value"], **CLOSE
    )
    (found,) = gradients(lambda f: ops.sum(1 + cosine(f, f)), embeddings)
    np.testing.assert_allclose(found, case["grad"]["feature"], rtol=1e-4, atol=2e-6)


def test_every_golden_function_that_this_part_maps_is_compared():
    """A name of the table that is missing in the file would leave its test without a case."""
    known = {case["fn"] for case in load("tfa")["cases"]}
    assert {"tfa.losses.npairs_loss", "tfa.losses.metric_learning.angular_distance"} <= known


def test_sohns_penalty_is_what_addons_left_to_the_caller(rng):
    """`reg / 4 * (mean |a|^2 + mean |p|^2)`, which TensorFlow 1's contrib still had."""
    (case, _) = cases("tfa.losses.npairs_loss")
    arrays = load("tfa")["inputs"]
    anchors, positives = np.asarray(arrays["anchor6"]), np.asarray(arrays["positive6"])
    by_hand = 0.002 / 4 * ((anchors**2).sum(axis=1).mean() + (positives**2).sum(axis=1).mean())
    labels = np.repeat(case["inputs"]["y_true"], 2)
    found = NPairLoss("inner", l2=0.002)(labels, interleaved(anchors, positives))
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(float(found), case["value"] + by_hand, **CLOSE)
