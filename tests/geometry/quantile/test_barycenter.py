import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.geometry import quantile
from keras_dml.geometry.quantile import barycenter as averages
from keras_dml.geometry.quantile import wasserstein
from tests.goldens import golden


@pytest.mark.parametrize(
    "name", ["merge_two", "merge_three", "merge_self", "merge_gap", "merge_atoms"]
)
def test_golden_mixtures(name):
    example = golden(name)
    inputs = example["inputs"]
    values = [inputs[key] for key in ("A", "B", "C") if key in inputs]
    values = values * 2 if name == "merge_self" else values
    knots = np.asarray(quantile.knots(np.asarray(inputs["alpha"], np.float64)))
    result = averages.mixture(values, inputs["n"], knots)
    np.testing.assert_allclose(result, example["expected"]["v"], rtol=0, atol=example["tolerance"])


@given(st.integers(0, 2**31), st.integers(1, 4))
def test_a_mixture_reads_the_quantiles_of_the_pooled_sample(seed, segments):
    rng = np.random.default_rng(seed)
    knots = np.linspace(0, 1, 6)
    values = np.sort(rng.normal(size=(segments, 1, 6)), axis=-1)
    counts = rng.integers(1, 9, segments)
    r = (np.arange(20_000) + 0.5) / 20_000
    pooled = np.concatenate(
        [
            np.repeat(quantile.evaluate(v[0], knots, r), n)
            for v, n in zip(values, counts, strict=True)
        ]
    )
    result = averages.mixture(values, counts, knots)[0]
    places = np.searchsorted(np.sort(pooled), [result - 1e-9, result + 1e-9]) / len(pooled)
    assert (places[0] <= knots + 2e-4).all() and (places[1] >= knots - 2e-4).all()
    np.testing.assert_allclose([result[0], result[-1]], [values.min(), values.max()], rtol=1e-15)


def test_golden_barycenters():
    example = golden("barycentre")
    three, four = (np.asarray(example["inputs"][key]) for key in ("E3", "E4"))
    weights = example["inputs"]["weights"]
    result = {
        "p2_equal": averages.barycenter(three, p=2),
        "p2_weighted": averages.barycenter(three, weights, p=2),
        "p1_equal_3": averages.barycenter(three),
        "p1_equal_4": averages.barycenter(four),
        "p1_weighted_3": averages.barycenter(three, weights),
    }
    for key, expected in example["expected"].items():
        np.testing.assert_allclose(result[key], expected, rtol=0, atol=example["tolerance"])


@pytest.mark.slow_on_jax
def test_no_near_embedding_is_nearer_to_all_than_the_barycenter(rng):
    values, knots = np.sort(rng.normal(size=(5, 2, 6)), axis=-1), np.linspace(0, 1, 6)

    def spread(q):
        per_filter = [
            np.asarray(wasserstein.distance(values[:, k : k + 1], q[None, k : k + 1], knots, 2))
            for k in (0, 1)
        ]
        return float(sum((d**2).sum() for d in per_filter))

    best = averages.barycenter(values, p=2)
    for _ in range(20):
        assert spread(np.sort(best + rng.normal(size=best.shape) * 0.05, axis=-1)) >= spread(best)


def test_no_weights_are_equal_weights(rng):
    assert_array_equal = np.testing.assert_array_equal
    pair = [[[0.0, 1.0, 2.0]], [[3.0, 5.0, 10.0]]]
    assert_array_equal(averages.barycenter(pair, [1, 1]), [[1.5, 3.0, 6.0]])
    for count in range(1, 9):
        values = np.sort(rng.integers(0, 5, size=(count, 3, 7)).astype(float), axis=-1)  # with ties
        for p, reference in ((1, np.median), (2, np.mean)):
            expected = reference(values, axis=0)
            for weights in (None, np.ones(count), np.full(count, 0.1), [7] * count):
                result = averages.barycenter(values, weights, p)
                np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
            doubled = np.concatenate([values, values])
            halves = np.repeat([1.0, 0.0], count)
            result = averages.barycenter(doubled, halves, p)
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_whole_weights_repeat_embeddings(rng):
    for _ in range(20):
        values = np.sort(rng.normal(size=(4, 2, 5)), axis=-1)
        weights = rng.integers(0, 4, size=4)
        weights[0] += 1
        repeated = np.repeat(values, weights, axis=0)
        for p in (1, 2):
            result = averages.barycenter(values, weights, p)
            np.testing.assert_allclose(result, averages.barycenter(repeated, p=p), rtol=1e-12)
            assert (np.diff(result, axis=-1) >= 0).all()  # still a quantile function


@pytest.mark.parametrize(
    "weights", [[1], [1, 1, 1], [1, -1], [0, 0], [1, np.nan], [1, np.inf], [[1], [1]]]
)
def test_weights_that_do_not_fit_are_refused_for_each_order(weights):
    for p in (1, 2):
        with pytest.raises(ValueError, match="non-negative number for each of the 2 embeddings"):
            averages.barycenter(np.zeros((2, 1, 3)), weights, p)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: averages.barycenter(np.zeros((0, 1, 3))), "at least one embedding"),
        (
            lambda: averages.mixture(np.zeros((2, 1, 3)), [1], [0, 0.5, 1]),
            r"Received \(2, 1, 3\), \(1,\) and \(3,\)",
        ),
        (lambda: averages.mixture(np.zeros((2, 1, 3)), [1, 0], [0, 0.5, 1]), "must be positive"),
        (lambda: averages.barycenter(np.zeros((2, 1, 3)), p=3), "`p` must be 1 or 2"),
        (
            lambda: averages.barycenter(np.zeros((2, 1, 3)), [1.0]),
            "one non-negative number for each of the 2 embeddings",
        ),
    ],
)
def test_impossible_requests_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("weights", [(1, 2, 3), (3, 1, 2), (1, 1, 2), (1, 1, 1, 3), (7, 3, 10)])
def test_rounding_of_weights_that_split_in_half_does_not_move_the_median(weights):
    """If the weights split exactly in half, each number between the two middle values is a
    median."""
    values = np.arange(1.0, len(weights) + 1)[::-1] ** 2
    order = np.argsort(values)
    mass = np.cumsum(np.array(weights)[order])  # whole numbers: exact
    lower, upper = (
        values[order][np.argmax(reached)]
        for reached in (2 * mass >= sum(weights), 2 * mass > sum(weights))
    )
    medians = {
        float(averages.barycenter(values[:, None, None], np.array(weights) * scale)[0, 0])
        for scale in (1, 0.1, 1 / 3, 0.7, 1e-5, 1e9)
    }
    assert len(medians) == 1
    assert lower <= medians.pop() <= (lower + upper) / 2


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]])
def test_weights_of_nothing_are_refused(weights):
    with pytest.raises(ValueError, match="weights"):
        averages.barycenter(np.zeros((2, 1, 3)), weights)
