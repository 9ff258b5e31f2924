import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml import distances
from keras_dml._backend import ops
from keras_dml.geometry import vector
from keras_dml.losses import TripletLoss, mining
from tests.goldens import golden
from tests.gradients import finite_differences, gradients
from tests.graphs import graph
from tests.losses.examples import check_example, inputs, numpy, random_negatives_of_all

GOLDENS = [  # worked example, options, key of the value
    ("triplet_all", {"mining": "all"}, "value"),
    ("triplet_semihard_squared", {}, "value"),
    ("triplet_semihard_squared", {"fallback": "farthest"}, "farthest_if_none"),
    ("triplet_semihard_euclidean", {"squared": False}, "value"),
    ("triplet_semihard_euclidean", {"squared": False, "fallback": "farthest"}, "farthest_if_none"),
    ("triplet_hard", {"mining": "hard"}, "value"),
    ("triplet_hard", {"mining": "hard", "soft": True}, "soft"),
    ("triplet_hard", {"mining": "hard", "fallback": "farthest"}, "tfa"),
]
LABELS = np.array([0, 1, 0, 1, 2, 0])


def given_draw(drawn):
    """Replaces the random draw of negatives by given negatives. The negative for the pair of rows i
    and j is `drawn[i, j]`.
    """
    return lambda labels, embeddings, seed, partners: ops.take_along_axis(drawn, partners, axis=1)


@pytest.mark.parametrize("name, options, key", GOLDENS, ids=lambda value: str(value))
def test_golden_values_and_gradients(name, options, key):
    check_example(name, functools.partial(TripletLoss, **options), key)


def test_golden_value_and_gradient_of_a_given_draw(monkeypatch):
    """Tests the loss for a given draw of negatives, which is an input of the worked example."""
    drawn = np.zeros((6, 6), "int32")
    for i, j, k in golden("triplet_random", "seeds_p3")["inputs"]["triplets"]:
        drawn[i, j] = k
    monkeypatch.setattr(mining, "random_negatives", given_draw(drawn))
    check_example("triplet_random", functools.partial(TripletLoss, mining="random"))


def test_golden_values_of_each_anchor_of_the_hardest():
    x, labels = inputs("triplet_hard")
    result = TripletLoss(mining="hard", reduction=None, dtype="float64")(labels, x)
    expected = golden("triplet_hard", "seeds_p3")["expected"]["per_anchor"]
    np.testing.assert_allclose(numpy(result), expected, rtol=1e-9)


def hardest_by_loops(d, labels, margin, soft):
    values = []
    for i, label in enumerate(labels):
        near = [d[i, j] for j in range(len(d)) if j != i and labels[j] == label]
        away = [d[i, k] for k in range(len(d)) if labels[k] != label]
        gap = max(near, default=0) - min(away, default=0)
        value = np.logaddexp(0, gap) if soft else max(gap + margin, 0)
        values.append(value if near and away else 0)
    return values


@given(st.integers(0, 2**31), st.booleans(), st.booleans())
def test_the_hardest_are_those_of_loops(seed, soft, squared):
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(size=(6, 3)), rng.integers(0, 3, 6)
    d = np.linalg.norm(x[:, None] - x[None], axis=-1)
    loss = TripletLoss(0.5, "hard", soft=soft, squared=squared, reduction=None, dtype="float64")
    expected = hardest_by_loops(d**2 if squared else d, labels, 0.5, soft)
    np.testing.assert_allclose(numpy(loss(labels, x)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mining_", ["all", "semi_hard", "hard", "random"])
@pytest.mark.parametrize("squared", [False, True])
def test_gradients_agree_with_finite_differences(rng, monkeypatch, mining_, squared):
    x = rng.normal(size=(6, 3))
    drawn = numpy(random_negatives_of_all(LABELS, x, 0))  # the same draw for all differences
    monkeypatch.setattr(mining, "random_negatives", given_draw(drawn))
    loss = TripletLoss(0.7, mining_, squared=squared, dtype="float64")
    (result,) = gradients(lambda x: loss(LABELS, x), x)
    assert np.abs(result).max() > 1e-2
    run = graph(lambda x: loss(LABELS, x))
    np.testing.assert_allclose(result, finite_differences(run, x), rtol=0, atol=1e-6)


def test_each_mining_is_a_mean_over_its_terms(rng):
    """Tests for each kind of mining that the loss equals its formula. In the test, some anchors
    have no positive, and the classes have different sizes.
    """
    x = rng.normal(size=(6, 3))
    d = np.linalg.norm(x[:, None] - x[None], axis=-1)
    table, labels = LABELS[:, None] == LABELS, LABELS
    triplets = [
        max(d[i, j] - d[i, k] + 9, 0)
        for i, j in zip(*np.nonzero(table), strict=True)
        for k in np.flatnonzero(labels != labels[i])
        if i != j
    ]
    result = TripletLoss(9, "all", squared=False, dtype="float64")(labels, x)
    np.testing.assert_allclose(result, np.mean(triplets), rtol=1e-9)
    drawn = numpy(random_negatives_of_all(labels, x, 0))
    picked = [
        max(d[i, j] - d[i, drawn[i, j]] + 9, 0)
        for i, j in zip(*np.nonzero(table), strict=True)
        if i != j
    ]
    result = TripletLoss(9, "random", squared=False, dtype="float64")(labels, x)
    np.testing.assert_allclose(result, np.mean(picked), rtol=1e-9)


@pytest.mark.slow
def test_random_negatives_average_to_all_triplets(rng):
    x = rng.normal(size=(6, 3)).astype("float32")
    draws = [float(TripletLoss(mining="random", seed=seed)(LABELS, x)) for seed in range(40)]
    everyone = float(TripletLoss(mining="all")(LABELS, x))
    assert abs(np.mean(draws) - everyone) < 4 * np.std(draws) / np.sqrt(len(draws))


@pytest.mark.slow_on_jax
def test_semi_hard_has_no_gradient_where_no_negative_is_in_the_band():
    x, labels = np.array([[0.0], [1.0], [9.0], [9.5]]), np.array([0, 0, 1, 1])
    loss = TripletLoss(1.0, dtype="float64")
    assert float(loss(labels, x)) == 0
    assert (gradients(lambda x: loss(labels, x), x)[0] == 0).all()
    assert float(TripletLoss(200.0)(labels, x)) > 0


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("mining_", ["all", "random", "semi_hard", "hard"])
def test_a_row_whose_square_overflows_leaves_the_loss_finite(mining_, rng):
    x = rng.normal(size=(6, 3)).astype("float32")
    x[2] = 1e20
    loss = TripletLoss(mining=mining_, squared=True)
    assert np.isfinite(float(loss(LABELS, x)))
    assert np.isfinite(gradients(lambda x: loss(LABELS, x), x)[0]).all()


def test_a_distance_made_from_the_euclidean_one_is_asked_itself(rng):
    class Doubled(distances.Euclidean):
        def __call__(self, x, y):
            return 2 * super().__call__(x, y)

    x = rng.normal(size=(6, 3)).astype("float32")
    result = TripletLoss(mining="all", distance=Doubled())(LABELS, x)
    expected = TripletLoss(mining="all", distance=lambda x, y: 2 * vector.euclidean(x, y))
    np.testing.assert_allclose(result, expected(LABELS, x), rtol=1e-6)


def test_the_cosine_is_compared_as_it_is(rng):
    """Tests the cosine distance, which can be negative. Adding 1 to every distance must not change
    which triplets are selected.
    """
    x = rng.normal(size=(6, 3)).astype("float32")
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    result = TripletLoss(0.5, distance="cosine", squared=False)(LABELS, x)
    moved = TripletLoss(0.5, distance=lambda x, y: 1 - vector.inner(x, y), squared=False)
    np.testing.assert_allclose(result, moved(LABELS, unit), rtol=1e-5)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"mining": "semihard"}, r"`mining` must be one of \('all', 'random', 'semi_hard', 'hard'"),
        ({"fallback": "nearest"}, r"`fallback` must be one of \(None, 'farthest'\)"),
        ({"soft": True}, '`soft` .*mining="hard"'),
        ({"mining": "all", "fallback": "farthest"}, '`fallback` .*mining="semi_hard"'),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"distance": "cosine"}, "squared=False"),
        ({"distance": "euclidian"}, "Did you mean 'euclidean'"),
    ],
)
def test_wrong_options_are_refused_with_the_right_ones(options, message):
    with pytest.raises(ValueError, match=message):
        TripletLoss(**options)
