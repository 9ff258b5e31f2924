"""Tests each row of the README's table about migration from TensorFlow Similarity, with values that
TensorFlow Similarity computed.
"""

import numpy as np
import pytest

from keras_dml.losses import NPairLoss, TripletLoss
from keras_dml.samplers import NPairSampler, PKSampler
from tests.goldens import load
from tests.gradients import gradients

CLOSE = {"rtol": 1e-5, "atol": 2e-6}
DISTANCES = {  # name in TensorFlow Similarity: two arguments in this package
    "cosine": {"distance": "cosine", "squared": False},
    "euclidean": {"distance": "euclidean", "squared": False},
    "squared_euclidean": {"distance": "euclidean", "squared": True},
}
STRATEGIES = {  # strategies for negatives; the positive is the hardest positive
    "hard": {"mining": "hard"},
    "semi-hard": {"mining": "semi_hard", "fallback": "farthest"},
}


def cases(function):
    return [case for case in load("tfsim")["cases"] if case["fn"] == f"tfsim.{function}"]


def inputs(case):
    golden = load("tfsim")["inputs"]
    return {key: np.array(golden[name]) for key, name in case["inputs"].items()}


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("distance", DISTANCES)
def test_triplet_loss(distance, strategy):
    """Compares triplet losses. For semi-hard negatives, each class of a batch
    has only two rows, because TensorFlow Similarity uses only the hardest positive of an anchor.
    """
    wanted = {"distance": distance, "negative_mining_strategy": strategy}
    result = [c for c in cases("losses.TripletLoss") if wanted.items() <= c["args"].items()]
    if strategy == "semi-hard":  # in this package `soft` requires hard negatives
        result = [case for case in result if case["args"]["margin"] is not None]
    assert len(result) == {"hard": 6, "semi-hard": 2}[strategy]
    for case in result:
        margin, given = case["args"]["margin"], inputs(case)
        how = {"soft": True} if margin is None else {"margin": margin}
        loss = TripletLoss(**how, **STRATEGIES[strategy], **DISTANCES[distance])
        x = given["y_pred"].astype("float32")
        np.testing.assert_allclose(float(loss(given["y_true"], x)), case["value"], **CLOSE)
        (slopes,) = gradients(lambda x, y=given["y_true"], f=loss: f(y, x), x)
        if distance == "cosine":  # theirs has a gradient in the length, ours has none
            reference = np.array(case["grad"]["y_pred"])
            reference = reference - x * (reference * x).sum(axis=1, keepdims=True)
            np.testing.assert_allclose(slopes, reference, rtol=1e-4, atol=2e-6)
        else:
            np.testing.assert_allclose(slopes, case["grad"]["y_pred"], rtol=1e-4, atol=2e-6)


@pytest.mark.slow_on_jax
def test_multi_negatives_rank_loss_is_the_n_pair_loss_but_for_a_one_in_its_sum():
    """Tests the loss with unit vectors. For unit vectors, TensorFlow Similarity computes `log(1 +
    sum exp s_ij) - s_ii` and this package computes `log(sum exp s_ij) - s_ii`.
    """
    result = cases("losses.MultiNegativesRankLoss")
    assert len(result) == 2
    for case in result:
        given, scale = inputs(case), case["args"]["scale"]
        rows = np.stack([given["query_emb"], given["key_emb"]], axis=1).reshape(-1, 5)
        loss = NPairLoss("cosine", scale=scale, reduction=None)
        ours = np.asarray(loss(np.arange(6).repeat(2), rows.astype("float32")))
        scores = scale * given["query_emb"] @ given["key_emb"].T
        sums = np.exp(scores).sum(axis=1)
        reference = (ours + np.log1p(1 / sums)).mean()
        np.testing.assert_allclose(reference, case["value"], **CLOSE)


@pytest.mark.slow_on_jax
def test_samplers_make_batches_of_the_same_composition():
    x, y = np.arange(48.0).reshape(24, 1, 2), np.repeat(np.arange(6), 4)
    result = cases("samplers.MultiShotMemorySampler")
    assert len(result) == 2
    for case in result:
        classes, examples = case["args"].values()
        sampler = PKSampler(x, y, classes, examples)
        batches = [sampler[0], next(iter(sampler.to_tf_data()))]
        if examples == 2:
            batches.append(NPairSampler(x, y, classes)[0])
        for rows, labels in batches:
            valid, counts = np.unique(np.asarray(labels), return_counts=True)
            assert case["value"] == {
                "shape": [len(rows), np.shape(rows)[-1]],
                "classes": len(valid),
                "rows": sorted(set(counts.tolist())),
            }
