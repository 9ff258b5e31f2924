from unittest import mock

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.losses import TripletLoss, mining
from tests.graphs import compiled_by_xla, graph
from tests.losses.examples import numpy, random_negatives_of_all

LABELS = np.array([3, 0, 3, 1, 0, 3], "int32")
DRAWN = [  # negatives for LABELS with seed 5 and the embeddings of the test
    [3, 1, 3, 4, 3, 4],
    [0, 0, 2, 5, 2, 3],
    [1, 4, 4, 4, 1, 4],
    [1, 1, 2, 5, 1, 4],
    [3, 5, 0, 2, 3, 0],
    [3, 4, 4, 4, 3, 3],
]


def batch(seed, rows, classes):
    """Returns a distance matrix that is not symmetric, and labels. One class has so many rows that
    its positives fill several blocks."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(rows) < 0.5, 0, rng.integers(0, classes, rows)).astype("int32")
    return rng.uniform(0, 3, size=(rows, rows)), labels


def pairs(labels):
    rows = range(len(labels))
    return [(i, j) for i in rows for j in rows if i != j and labels[i] == labels[j]]


def negative_rows(labels, i):
    return [k for k in range(len(labels)) if labels[k] != labels[i]]


def triplets_by_loops(table, labels, margin, semi_hard, fallback):
    """Computes with loops over triplets: the signed weights, the number of open hinges per anchor,
    and the number of all hinges per anchor.
    """
    weights = np.zeros_like(table)
    opened, counted = np.zeros(len(labels)), np.zeros(len(labels))
    for i, j in pairs(labels):
        mined = negative_rows(labels, i)
        if semi_hard:
            farther = [k for k in mined if table[i, k] > table[i, j]]
            mined = [min(farther, key=lambda k: table[i, k])] if farther else []
            if not mined and fallback:
                mined = [max(negative_rows(labels, i) or [i], key=lambda k: table[i, k])]
        for k in mined:
            is_open = table[i, k] < table[i, j] + margin
            counted[i] += is_open or fallback or not semi_hard
            opened[i] += is_open
            weights[i, j] += is_open
            weights[i, k] -= is_open
    return weights, opened, counted


def test_masks_of_positives_and_negatives():
    near, away = numpy(mining.positives(LABELS)), numpy(mining.negatives(LABELS))
    equal = LABELS[:, None] == LABELS
    np.testing.assert_array_equal(away, ~equal)
    np.testing.assert_array_equal(near, equal & ~np.eye(6, dtype=bool))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("kind", ["all", "semi-hard", "semi-hard, fallback"])
@pytest.mark.parametrize("seed, slots", [(0, 16), (1, 16), (2, 3), (3, 3)])
def test_triplets_are_those_of_loops(kind, seed, slots):
    """Tests that mining selects the same triplets as slow loops. The positives are in one block or
    in several blocks.
    """
    table, labels = batch(seed, rows=13, classes=4)
    given_ = ops.convert_to_tensor(table), ops.convert_to_tensor(labels), 0.5
    with mock.patch.object(mining, "SLOTS", slots):
        if kind == "all":
            result = mining.all_triplets(*given_)
        else:
            result = mining.semi_hard(*given_, fallback="fallback" in kind)
    expected = triplets_by_loops(table, labels, 0.5, kind != "all", "fallback" in kind)
    for item, its in zip(result, expected, strict=True):
        np.testing.assert_array_equal(numpy(item), its)


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() == "jax", reason="compiled there as a whole")
@pytest.mark.parametrize("kind", ["all", "semi-hard", "random"])
def test_a_traced_step_mines_as_an_eager_call_does(kind, rng):
    """Tests that traced steps mine in the same way as eager calls. The tests use several numbers of
    rows, because the last batch of an epoch can be shorter.
    """
    ours = {
        "all": lambda table, labels, x: mining.all_triplets(table, labels, 0.5),
        "semi-hard": lambda table, labels, x: mining.semi_hard(table, labels, 0.5, fallback=True),
        "random": lambda table, labels, x: mining.random(table, labels, 0.5, x, 3),
    }[kind]
    import tensorflow as tf

    shapes = [(None, None), (None,), (None, 2)]
    signature = [
        tf.TensorSpec(shape, dtype)
        for shape, dtype in zip(shapes, ("float64", "int32", "float64"), strict=True)
    ]
    traced = tf.function(ours, signature, autograph=False)
    assert compiled_by_xla(traced.get_concrete_function().graph)
    for rows in (40, 13):
        table, labels = batch(0, rows, classes=4)
        given_ = [*map(ops.convert_to_tensor, (table, labels, rng.normal(size=(rows, 2))))]
        for item, its in zip(traced(*given_), ours(*given_), strict=True):
            np.testing.assert_array_equal(item, its)


@pytest.mark.slow_on_jax
def test_equally_near_negatives_share_the_gradient():
    table = np.full((3, 3), 1.5)
    table[0, 1] = 1.0
    labels = np.array([0, 0, 1], "int32")
    four = np.concatenate([table, table[:, 2:]], axis=1)[[0, 1, 2, 2]]
    weights, *_ = mining.semi_hard(ops.convert_to_tensor(four), np.append(labels, 1), 1.0)
    np.testing.assert_array_equal(numpy(weights)[0], [0, 1, -0.5, -0.5])


@pytest.mark.slow_on_jax
def test_random_negatives_are_of_other_classes_and_uniform(rng):
    labels = rng.permutation(np.repeat(np.arange(3, dtype="int32"), 40))
    drawn = numpy(random_negatives_of_all(labels, rng.normal(size=(120, 3)), 0))
    assert (labels[drawn] != labels[:, None]).all()
    counts = np.stack([np.bincount(row, minlength=120) for row in drawn])
    counts = counts[labels[:, None] != labels]  # 120 draws from 80 rows each, so the mean is 1.5
    assert 0.9 < counts.var() / (1.5 * 79 / 80) < 1.1
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 0.3


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("slots", [3, 16])
def test_random_triplets_are_those_of_loops(rng, slots):
    """Compares random mining with slow loops. The positives are in one or several blocks."""
    table, labels = batch(2, rows=13, classes=4)
    embeddings = rng.normal(size=(13, 2))
    drawn = numpy(random_negatives_of_all(labels, embeddings, 1))
    weights, opened = np.zeros_like(table), np.zeros(13)
    for i, j in pairs(labels):
        is_open = table[i, drawn[i, j]] < table[i, j] + 0.5
        opened[i] += is_open
        weights[i, j] += is_open
        weights[i, drawn[i, j]] -= is_open
    counted = [sum(i == item for item, _ in pairs(labels)) for i in range(13)]
    with mock.patch.object(mining, "SLOTS", slots):
        result = mining.random(ops.convert_to_tensor(table), labels, 0.5, embeddings, 1)
    for item, its in zip(result, (weights, opened, counted), strict=True):
        np.testing.assert_array_equal(numpy(item), its)


def test_random_negatives_are_the_same_on_every_backend_eager_and_compiled():
    embeddings = np.arange(18, dtype="float32").reshape(6, 3) / 7
    drawn = numpy(random_negatives_of_all(LABELS, embeddings, 5))
    np.testing.assert_array_equal(drawn, DRAWN)
    run = graph(lambda x, y: random_negatives_of_all(ops.cast(y, "int32"), x, 5))
    np.testing.assert_array_equal(run(embeddings, LABELS), drawn)


@pytest.mark.slow_on_jax
def test_random_negatives_change_with_the_seed_and_with_the_smallest_step_of_training(rng):
    labels = np.repeat(np.arange(8, dtype="int32"), 4)
    embeddings = rng.normal(size=(32, 4)).astype("float32")
    moved = embeddings.copy()
    moved[0] = np.nextafter(moved[0], np.inf)
    draws = [
        numpy(random_negatives_of_all(labels, x, seed))
        for x, seed in ((embeddings, 0), (embeddings, 1), (moved, 0))
    ]
    assert (draws[0] != draws[1]).mean() > 0.5
    assert (draws[0] != draws[2])[0].mean() > 0.5


@pytest.mark.parametrize("shape", [(6, 2, 2), (6, 3, 5)])
def test_random_negatives_take_embeddings_of_any_rank(rng, shape):
    drawn = numpy(random_negatives_of_all(LABELS, rng.normal(size=shape), 0))
    assert (LABELS[drawn] != LABELS[:, None]).all()


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("kind", ["all", "semi-hard", "semi-hard, fallback"])
@pytest.mark.parametrize("seed", range(4))
def test_a_negative_at_exactly_the_margin_closes_the_hinge(kind, seed):
    """Tests negatives that are exactly as far as the positive or exactly at the margin. All
    distances in the test are whole numbers, so many of them are equal.
    """
    labels = batch(seed, rows=13, classes=4)[1]
    table = np.random.default_rng(seed).integers(0, 5, (13, 13)).astype("float64")
    tensors = ops.convert_to_tensor(table), ops.convert_to_tensor(labels), 2.0
    if kind == "all":
        weights, opened, counted = mining.all_triplets(*tensors)
    else:
        weights, opened, counted = mining.semi_hard(*tensors, fallback="fallback" in kind)
    expected = triplets_by_loops(table, labels, 2.0, kind != "all", "fallback" in kind)
    assert any(
        table[i, k] == table[i, j] + 2 for i, j in pairs(labels) for k in negative_rows(labels, i)
    )
    np.testing.assert_array_equal(numpy(opened), expected[1])
    np.testing.assert_array_equal(numpy(counted), expected[2])
    sums = [np.sum(side * table, axis=1) for side in (numpy(weights), expected[0])]
    np.testing.assert_allclose(*sums, rtol=1e-12, atol=1e-12)


@pytest.mark.slow_on_jax
def test_the_semi_hard_loss_is_the_mean_of_the_open_hinges_alone():
    """Tests the semi-hard loss of a batch. Only anchor 2 has a term above 0, which is 3 - 3.5 + 1 =
    0.5.
    Anchor 0 has two negatives: the negative at distance 1 is not farther than the positive, and the
    negative at distance 2 is exactly at the margin. The negative of anchor 1 is also exactly at the
    margin.
    """
    table = np.array([[0, 1, 9, 1, 2], [1, 0, 9, 9, 2], [3, 9, 0, 3.5, 9], *np.full((2, 5), 9)])
    labels = np.array([0, 0, 0, 1, 2], "int32")
    tensors = ops.convert_to_tensor(table.astype("float64")), ops.convert_to_tensor(labels)
    _, opened, counted = mining.semi_hard(*tensors, 1.0)
    np.testing.assert_array_equal(numpy(opened), [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(numpy(counted), [0, 0, 1, 0, 0])
    distances = ops.convert_to_tensor(table.astype("float32"))
    loss = TripletLoss(1.0, distance=lambda x, y: distances, squared=False)
    assert float(loss(labels, np.ones((5, 2), "float32"))) == 0.5
