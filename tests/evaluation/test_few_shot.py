"""Tests `few_shot`, the accuracy in few-shot episodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.evaluation import _few_shot, few_shot, support_means
from tests.goldens import golden

F32 = dict(rtol=1e-5, atol=1e-6)


def perceptron(layers, slope):
    """Builds a similarity S(x, y), a perceptron that takes the concatenation of x and y."""

    def similarity(x, y):
        units = np.array([[np.concatenate([a, b]) for b in y] for a in x])
        for number, layer in enumerate(layers):
            units = np.where(units > 0, units, slope * units) if number else units
            units = units @ np.array(layer["kernel"]) + np.array(layer["bias"])
        return units[..., 0]

    return similarity


def two_clouds(rng, members=20, classes=8, apart=0.8):
    labels = np.repeat(np.arange(classes), members)
    centers = apart * rng.normal(size=(classes, 6))
    return (centers[labels] + rng.normal(size=(labels.size, 6))).astype("f4"), labels


def test_golden_few_shot_episode():
    example = golden("few-shot-episode", "seeds_p2")
    inputs, expected = example["inputs"], example["expected"]
    support, query = np.array(inputs["support"]), np.array(inputs["query"])
    similarity = perceptron(inputs["layers"], inputs["slope"])
    names, means = support_means(support, inputs["support_y"])
    assert names.tolist() == [0, 1, 2]
    np.testing.assert_allclose(means, expected["prototypes"], **F32)
    np.testing.assert_allclose(similarity(query, means), expected["similarities"], **F32)
    predicted = names[_few_shot.nearest_prototypes(query, means, similarity, None)]
    assert predicted.tolist() == expected["predicted"]
    assert np.mean(predicted == inputs["query_y"]) == pytest.approx(expected["accuracy"])
    one, rows = expected["one_shot"], expected["one_shot"]["support_rows"]
    _, means = support_means(support[rows], np.array(inputs["support_y"])[rows])
    np.testing.assert_array_equal(means, one["prototypes"])
    predicted = _few_shot.nearest_prototypes(query, means, similarity, None)
    assert predicted.tolist() == one["predicted"]
    assert np.mean(predicted == inputs["query_y"]) == pytest.approx(one["accuracy"])


def test_golden_add_classes():
    example = golden("add-classes", "seeds_p2")
    inputs, expected = example["inputs"], example["expected"]
    query, similarity = np.array(inputs["query"]), perceptron(inputs["layers"], inputs["slope"])
    old = np.array(inputs["prototypes"])
    new = support_means(np.array(inputs["support"]), inputs["support_y"])[1]
    rows = np.concatenate([old, new])
    np.testing.assert_allclose(rows, expected["prototypes_after"], **F32)
    among_all = _few_shot.nearest_prototypes(query, rows, similarity, None)
    among_new = len(old) + _few_shot.nearest_prototypes(query, new, similarity, None)
    assert among_all.tolist() == expected["predicted_among_all"]
    assert among_new.tolist() == expected["predicted_among_new"]
    extended = (3 * old[1] + query[0] + query[3]) / 5
    wanted = expected["row_1_as_mean_of_3_extended_by_query_0_and_3"]
    np.testing.assert_allclose(extended, wanted, **F32)


def test_golden_interval():
    example = golden("episodes-confidence-interval", "seeds_p2")
    accuracies, expected = np.array(example["inputs"]["accuracies"]), example["expected"]
    mean, half_width = _few_shot.mean_and_half_width(accuracies)
    assert mean == pytest.approx(expected["mean"], rel=1e-9)
    assert half_width == pytest.approx(expected["half_width"], rel=1e-9)
    stddev = half_width * np.sqrt(len(accuracies)) / _few_shot.QUANTILE
    assert stddev == pytest.approx(expected["standard_deviation"], rel=1e-9)


@given(st.data())
def test_support_and_queries_of_an_episode_are_disjoint(data):
    sizes = data.draw(st.lists(st.integers(3, 6), min_size=2, max_size=6))
    ways = data.draw(st.integers(2, len(sizes)))
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    examples = np.arange(labels.size, dtype=float)[:, None]
    seen = []

    def similarity(queries, prototypes):
        seen.append((queries[:, 0].astype(int), prototypes[:, 0].astype(int)))
        return labels[seen[-1][0]][:, None] == labels[seen[-1][1]]

    found = few_shot(examples, labels, ways, 1, queries=2, similarity=similarity, episodes=5)
    assert (found.accuracies == 1).all()
    for queries, support in seen:
        assert len({*queries.tolist(), *support.tolist()}) == 3 * ways
        np.testing.assert_array_equal(np.repeat(labels[support], 2), labels[queries])
        assert len(set(labels[support].tolist())) == ways


def test_an_episode_depends_on_the_seed_and_its_number_alone(rng):
    x, y = two_clouds(rng)
    few = few_shot(x, y, 5, 2, queries=6, distance="cosine", episodes=10, seed=3)
    more = few_shot(x, y, 5, 2, queries=6, distance="cosine", episodes=30, seed=3)
    other = few_shot(x, y, 5, 2, queries=6, distance="cosine", episodes=10, seed=4)
    np.testing.assert_array_equal(few.accuracies, more.accuracies[:10])
    assert (few.accuracies != other.accuracies).any()


def test_methods_with_equal_rankings_agree_on_every_episode(rng):
    from keras_dml.distances import Euclidean

    x, y = two_clouds(rng)
    options = dict(queries=10, episodes=20)
    by_name = few_shot(x, y, 5, 3, distance="euclidean", **options)
    assert 0.3 < by_name.mean < 0.99

    def squares(q, p):
        return np.sum((q[:, None] - p) ** 2, axis=-1)

    for other in (
        few_shot(x, y, 5, 3, distance=Euclidean(), **options),
        few_shot(x, y, 5, 3, distance=squares, **options),
        few_shot(x, y, 5, 3, similarity=lambda q, p: -squares(q, p), **options),
    ):
        np.testing.assert_array_equal(other.accuracies, by_name.accuracies)


def test_a_collapsed_network_scores_chance(rng):
    y = np.repeat(np.arange(6), 8)
    found = few_shot(np.ones((48, 3)), y, 4, 2, queries=3, distance="cosine", episodes=20)
    assert found.mean == pytest.approx(0.25) and found.half_width == 0.0


def test_more_support_examples_raise_the_accuracy(rng):
    x, y = two_clouds(rng)
    one = few_shot(x, y, 5, 1, queries=10, distance="euclidean", episodes=200)
    five = few_shot(x, y, 5, 5, queries=10, distance="euclidean", episodes=200)
    assert five.mean - five.half_width > one.mean + one.half_width


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_support_means_have_the_dtype_and_precision_of_embeddings(dtype):
    x = np.full((5000, 2), 0.1, dtype)
    names, means = support_means(x, ["one"] * 5000)
    assert (names.tolist(), means.dtype) == (["one"], np.dtype(dtype))
    np.testing.assert_allclose(means, x[:1], rtol=1e-12)


def test_it_prints_the_figure_with_its_interval():
    found = _few_shot.FewShot(0.96123, 0.00321, 20, 1, 15, np.ones(600))
    assert str(found) == (
        "20-way 1-shot accuracy 96.12 ± 0.32 % (600 episodes, 15 queries per class)"
    )


X, Y = np.arange(12.0).reshape(6, 2), ["a", "a", "a", "b", "b", "b"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(embeddings=X[:0], labels=[]), "at least one"),
        (dict(labels=Y[:5]), r"\(6, 2\).*\(5,\)"),
        (dict(embeddings=X[:, 0]), r"shape \(examples, ...\)"),
        (dict(embeddings=np.where(X == 3, np.nan, X)), "`embeddings` must be finite. 1 of 12 "),
        (dict(ways=3), "`ways` = 3. It must be at most 2, the number of classes"),
        (dict(ways=1), "`ways` must be at least 2"),
        (dict(shots=0), "`shots` must be at least 1"),
        (dict(queries=0), "`queries` must be at least 1"),
        (
            dict(labels=["a", "b", "b", "b", "a", "b"]),
            "Class 'a' has 2 examples",
        ),
        (dict(episodes=1), "`episodes` must be at least 2"),
        (dict(seed=-1), "`seed` must be at least 0"),
        (dict(distance=None), "either `similarity`.*or `distance`"),
        (dict(similarity=lambda q, p: q @ p.T), "either `similarity`.*or `distance`"),
        (dict(distance="precomputed"), "distance='precomputed'.*either `similarity`"),
        (
            dict(distance=None, similarity=lambda q, p: q[:, :1]),
            "`similarity` must return one value",
        ),
        (
            dict(distance=lambda q, p: np.full((len(q), len(p)), np.nan)),
            "`scores` must be finite",
        ),
    ],
)
def test_impossible_episodes_are_refused(changes, message):
    given_ = dict(embeddings=X, labels=Y, ways=2, shots=1, queries=2, distance="cosine") | changes
    with pytest.raises(ValueError, match=message):
        few_shot(**given_)


def test_numbers_that_are_not_whole_are_refused():
    with pytest.raises(TypeError):
        few_shot(X, Y, 2.5, 1, distance="cosine")


@pytest.mark.parametrize(
    ("support", "labels", "message"),
    [
        (np.empty((0, 3)), [], r"\(0, 3\).*\(0,\).*at least one"),
        (X, Y[:2], r"\(6, 2\).*\(2,\)"),
        (np.full((6, 2), np.inf), Y, "must be finite"),
    ],
)
def test_a_support_set_without_a_mean_is_refused(support, labels, message):
    with pytest.raises(ValueError, match=message):
        support_means(support, labels)
