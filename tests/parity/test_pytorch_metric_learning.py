"""Compares values and gradients of losses, miners and retrieval with pytorch-metric-learning."""

import warnings

import numpy as np
import pytest

from keras_dml import evaluation, losses
from keras_dml.geometry import vector
from keras_dml.layers import Proxies
from tests.gradients import gradients

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch", reason="torch is not here: pip install '.[parity]'")
    peer = pytest.importorskip(
        "pytorch_metric_learning",
        reason="pytorch-metric-learning is not here: pip install '.[parity]'",
    )
    from pytorch_metric_learning import losses as peer_losses
    from pytorch_metric_learning import miners, reducers, regularizers
    from pytorch_metric_learning.distances import (
        CosineSimilarity,
        DotProductSimilarity,
        LpDistance,
        SNRDistance,
    )
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import CustomKNN

MARGINS = (0.2, 1.0, 3.0)


def euclidean(power=1):
    """Returns a Euclidean distance of pytorch-metric-learning that does not normalize vectors."""
    return LpDistance(normalize_embeddings=False, p=2, power=power)


def batches(rng):
    """Draws batches, and returns a dict from names to embeddings and labels.

    One batch is balanced, one batch is uneven, and one batch has a class with a single row.
    """
    return {
        "balanced": (rng.normal(size=(12, 5)), np.repeat([0, 1, 2, 3], 3)),
        "uneven": (rng.normal(size=(9, 4)), np.array([0, 0, 0, 0, 1, 1, 2, 2, 2])),
        "a single row": (rng.normal(size=(7, 3)), np.array([5, 1, 1, 5, 9, 5, 1])),
        "apart": (
            np.repeat(np.eye(3) * 9, 2, axis=0) + 0.1 * rng.normal(size=(6, 3)),
            np.repeat([0, 1, 2], 2),
        ),
    }


def value_and_gradient(loss, embeddings, labels):
    """Computes the value and the gradient of a loss of pytorch-metric-learning."""
    rows = torch.tensor(embeddings, requires_grad=True)
    value = loss(rows, torch.tensor(labels))
    value.backward()
    return value.item(), rows.grad.numpy()


def assert_equal_losses(ours, reference, embeddings, labels, case):
    expected, expected_gradient = value_and_gradient(reference, embeddings, labels)
    assert float(ours(labels, embeddings)) == pytest.approx(expected, rel=1e-7, abs=1e-9), case
    (gradient,) = gradients(lambda x: ours(labels, x), embeddings)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-6, atol=1e-8, err_msg=case)


def test_contrastive(rng):
    """Compares the contrastive losses of the two libraries, which have different definitions.

    pytorch-metric-learning adds the mean over positive pairs and the mean over negative pairs,
    without squares. keras-dml computes half of the mean of the squares over all pairs.
    """
    for name, (embeddings, labels) in batches(rng).items():
        for margin in MARGINS:
            parts = peer_losses.ContrastiveLoss(
                neg_margin=margin, distance=euclidean(), reducer=reducers.DoNothingReducer()
            )
            pairs = len(labels) * (len(labels) - 1)

            def mean_of_squares(x, y, parts=parts, pairs=pairs):
                each = [parts(x, y)[key]["losses"] for key in ("pos_loss", "neg_loss")]
                return sum((part**2).sum() for part in each if torch.is_tensor(part)) / (2 * pairs)

            ours = losses.ContrastiveLoss(margin, dtype="float64")
            assert_equal_losses(ours, mean_of_squares, embeddings, labels, f"{name}, {margin}")


def test_triplets_of_all_kinds(rng):
    """Compares the loss of all triplets, with distances and with squared distances."""
    for name, (embeddings, labels) in batches(rng).items():
        for margin, squared in ((0.2, False), (1.0, True), (3.0, False)):
            reference = peer_losses.TripletMarginLoss(
                margin, distance=euclidean(1 + squared), reducer=reducers.MeanReducer()
            )
            ours = losses.TripletLoss(margin, "all", squared=squared, dtype="float64")
            assert_equal_losses(ours, reference, embeddings, labels, f"{name}, {margin}")


def test_hard_triplets(rng):
    """Compares hard mining for batches in which some rows have no positive. pytorch-metric-learning
    leaves these rows out of the mean, and keras-dml counts them with the value 0.
    """
    for name, (embeddings, labels) in batches(rng).items():
        _, members = np.unique(labels, return_inverse=True)
        share = np.mean(np.bincount(members)[members] > 1)
        for soft in (False, True):
            plain = peer_losses.TripletMarginLoss(
                margin=0 if soft else 0.5,
                distance=euclidean(),
                smooth_loss=soft,
                reducer=reducers.MeanReducer(),
            )
            miner = miners.BatchHardMiner(distance=euclidean())

            def of_all_rows(x, y, plain=plain, miner=miner, share=share):
                return share * plain(x, y, miner(x, y))

            ours = losses.TripletLoss(0.5, "hard", soft=soft, dtype="float64")
            assert_equal_losses(ours, of_all_rows, embeddings, labels, f"{name}, soft {soft}")


def nearest_negatives(triplets, table):
    """Selects, for each pair of anchor and positive, the triplet with the nearest negative."""
    best = {}
    for anchor, positive, negative in zip(*(part.tolist() for part in triplets), strict=True):
        pair = anchor, positive
        if pair not in best or table[anchor, negative] < table[anchor, best[pair]]:
            best[pair] = negative
    parts = zip(*((*pair, negative) for pair, negative in best.items()), strict=True)
    return tuple(torch.tensor(part) for part in parts)


def test_semi_hard_triplets(rng):
    """Compares the loss with semi-hard mining.

    The miner of pytorch-metric-learning returns all semi-hard triplets, whereas Schroff2015 uses
    only the nearest negative of each pair. Therefore the test selects the nearest negatives from
    the triplets of the miner.
    """
    for name, (embeddings, labels) in batches(rng).items():
        for margin in (1.0, 4.0):
            miner = miners.TripletMarginMiner(margin, "semihard", distance=euclidean(power=2))
            triplets = miner(torch.tensor(embeddings), torch.tensor(labels))
            ours = losses.TripletLoss(margin, "semi_hard", dtype="float64")
            if not len(triplets[0]):
                assert float(ours(labels, embeddings)) == 0, name
                continue
            table = np.square(embeddings[:, None] - embeddings).sum(axis=-1)
            mined = nearest_negatives(triplets, table)
            plain = peer_losses.TripletMarginLoss(
                margin, distance=euclidean(power=2), reducer=reducers.MeanReducer()
            )

            def of_mined(x, y, plain=plain, mined=mined):
                return plain(x, y, mined)

            assert_equal_losses(ours, of_mined, embeddings, labels, f"{name}, {margin}")


def test_lifted_structure(rng):
    for name, (embeddings, labels) in batches(rng).items():
        for margin in MARGINS:
            reference = peer_losses.LiftedStructureLoss(
                neg_margin=margin, distance=euclidean(), reducer=reducers.MeanReducer()
            )
            ours = losses.LiftedStructureLoss(margin, dtype="float64")
            assert_equal_losses(ours, reference, embeddings, labels, f"{name}, {margin}")


def test_n_pairs(rng):
    """Compares the N-pair loss for batches with one pair per class, because `NPairLoss` accepts
    only these batches.
    """
    labels = np.array([3, 0, 7, 0, 3, 7, 9, 9])
    for length in (0.1, 1.0, 5.0):
        embeddings = length * rng.normal(size=(8, 4))
        for similarity, distance in (
            ("inner", DotProductSimilarity(normalize_embeddings=False)),
            ("cosine", CosineSimilarity()),
        ):
            reference = peer_losses.NPairsLoss(distance=distance, reducer=reducers.MeanReducer())
            ours = losses.NPairLoss(similarity, dtype="float64")
            assert_equal_losses(ours, reference, embeddings, labels, f"{similarity}, {length}")


def test_proxy_nca(rng):
    """Compares `ProxyNCALoss(softmax=True)` with pytorch-metric-learning, which uses cross-entropy.

    In keras-dml the proxies are a layer.
    """
    embeddings, labels = rng.normal(size=(6, 4)), np.array([0, 1, 2, 2, 1, 0])
    reference = peer_losses.ProxyNCALoss(3, 4, softmax_scale=1, reducer=reducers.MeanReducer())
    reference.proxies = torch.nn.Parameter(torch.tensor(rng.normal(size=(3, 4))))
    layer = Proxies(3, dtype="float64")
    layer.build((None, 4))
    layer.set_weights([reference.proxies.detach().numpy()])
    loss = losses.ProxyNCALoss(softmax=True, dtype="float64")
    expected, expected_gradient = value_and_gradient(reference, embeddings, labels)
    assert float(loss(labels, layer(embeddings))) == pytest.approx(expected, rel=1e-7)
    (gradient,) = gradients(lambda x: loss(labels, layer(x)), embeddings)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-6, atol=1e-9)


def test_signal_to_noise_distances(rng):
    for features in (2, 7):
        x, y = rng.normal(size=(4, features)), 2 + rng.normal(size=(5, features))
        expected = SNRDistance(normalize_embeddings=False)(torch.tensor(x), torch.tensor(y))
        np.testing.assert_allclose(vector.snr(x, y), expected, rtol=1e-9)


def test_triplets_by_signal_to_noise(rng):
    for name, (embeddings, labels) in batches(rng).items():
        reference = peer_losses.TripletMarginLoss(
            0.2,
            distance=SNRDistance(normalize_embeddings=False),
            reducer=reducers.MeanReducer(),
            embedding_regularizer=regularizers.ZeroMeanRegularizer(),
            embedding_reg_weight=0.005,
        )
        ours = losses.DSMLTripletLoss(0.2, zero_mean_weight=0.005, dtype="float64")
        assert_equal_losses(ours, reference, embeddings, labels, name)


def test_batches_without_a_pair_cost_nothing_and_move_nothing(rng):
    """Tests batches with one class only, or with one row of each class."""
    embeddings = rng.normal(size=(4, 3))
    for labels in (np.zeros(4, int), np.arange(4)):
        for ours, reference in (
            (losses.TripletLoss(), peer_losses.TripletMarginLoss()),
            (losses.TripletLoss(mining="hard"), peer_losses.TripletMarginLoss()),
            (losses.LiftedStructureLoss(), peer_losses.LiftedStructureLoss()),
        ):
            case = f"{ours.name}, labels {labels}"
            assert float(ours(labels, embeddings)) == 0, case
            (gradient,) = gradients(lambda x, loss=ours, y=labels: loss(y, x), embeddings)
            assert (gradient == 0).all(), case
            assert float(reference(torch.tensor(embeddings), torch.tensor(labels))) == 0, case


def test_figures_of_retrieval(rng):
    """Compares retrieval figures. Each row of the batch is a query, and the other rows are the
    gallery.
    """
    figures = ("precision_at_1", "r_precision", "mean_average_precision_at_r")
    calculator = AccuracyCalculator(
        include=figures,
        k="max_bin_count",
        device=torch.device("cpu"),
        knn_func=CustomKNN(euclidean()),
    )
    for name, (embeddings, labels) in batches(rng).items():
        expected = calculator.get_accuracy(torch.tensor(embeddings), torch.tensor(labels))
        result = evaluation.retrieval(embeddings, labels, k=(1,))
        values = result.recall_at_k[1], result.r_precision, result.map_at_r
        np.testing.assert_allclose(values, [expected[key] for key in figures], err_msg=name)
