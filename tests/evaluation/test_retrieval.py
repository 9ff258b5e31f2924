"""Tests `retrieval`: Recall@K, MAP@R and R-precision."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.neighbors import NearestNeighbors

from keras_dml.evaluation import _retrieval, retrieval
from tests.evaluation import oracles
from tests.goldens import golden

LABELS = st.lists(st.integers(0, 2), min_size=2, max_size=6).filter(
    lambda labels: len(set(labels)) < len(labels)
)


def figures(found):
    """Returns Recall@K, MAP@R and R-precision, one row per query, in the same form as the
    oracle."""
    return np.column_stack(found.per_query).tolist()


@pytest.fixture
def clouds(rng):
    """Draws 300 float32 vectors of 12 overlapping classes, with labels."""
    labels = rng.integers(0, 12, 300)
    return (rng.normal(size=(12, 16))[labels] + rng.normal(size=(300, 16))).astype("f4"), labels


@pytest.mark.parametrize("name", ["retrieval_ties", "retrieval_no_ties", "retrieval_collapsed"])
def test_goldens(name):
    example = golden(name, "seeds_p3")
    inputs, expected = example["inputs"], example["expected"]
    found = retrieval(inputs["distance"], inputs["labels"], distance="precomputed", k=inputs["k"])
    tolerance = example["tolerance"]["float64"]
    close = {"rel": tolerance["rtol"], "abs": tolerance["atol"]}
    assert list(found.recall_at_k) == inputs["k"]
    assert list(found.recall_at_k.values()) == pytest.approx(expected["recall_at_k"], **close)
    assert found.map_at_r == pytest.approx(expected["map_at_r"], **close)
    assert found.r_precision == pytest.approx(expected["r_precision"], **close)
    assert found.queries == expected["queries"]
    assert found.without_relevant == expected["without_relevant"]
    for row, query in zip(figures(found), expected["per_query"], strict=True):
        if query is None:
            assert np.isnan(row).all()
        else:
            values = [*query["recall"], query["map_at_r"], query["r_precision"]]
            assert row == pytest.approx(values, **close)


@given(st.data(), LABELS)
def test_figures_within_a_set_are_means_over_all_orders_of_ties(data, labels):
    size = len(labels)
    matrix = data.draw(npst.arrays(int, (size, size), elements=st.integers(0, 2)))
    ks = tuple(range(1, size))
    found = retrieval(matrix, labels, distance="precomputed", k=ks)
    expected = oracles.retrieval(matrix, labels, labels, ks, skip=range(size))
    for row, query in zip(figures(found), expected, strict=True):
        assert np.isnan(row).all() if query is None else row == pytest.approx(query, abs=1e-12)


@given(st.data(), LABELS)
def test_figures_against_a_gallery_are_means_over_all_orders_of_ties(data, entries):
    labels = data.draw(st.lists(st.sampled_from(entries), min_size=1, max_size=3))
    shape = (len(labels), len(entries))
    matrix = data.draw(npst.arrays(int, shape, elements=st.integers(0, 2)))
    ks = (1, len(entries))
    found = retrieval(matrix, labels, gallery_labels=entries, distance="precomputed", k=ks)
    expected = oracles.retrieval(matrix, labels, entries, ks)
    np.testing.assert_allclose(figures(found), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_neighbors_are_those_of_scikit_learn(distance, clouds):
    vectors, labels = clouds
    ks = (1, 2, 4, 8)
    found = retrieval(vectors, labels, distance=distance, k=ks)
    search = NearestNeighbors(n_neighbors=9, metric=distance, algorithm="brute").fit(
        vectors.astype("f8")
    )
    hits = labels[search.kneighbors(return_distance=False)] == labels[:, None]
    expected = [hits[:, :k].any(axis=1).mean() for k in ks]
    assert list(found.recall_at_k.values()) == pytest.approx(expected)


def test_euclidean_distances_rank_as_the_loop_does_far_from_the_origin(clouds):
    vectors, labels = clouds[0][:60] + np.float32(3000), clouds[1][:60]
    exact = vectors.astype("f8")
    matrix = np.sum((exact[:, None] - exact) ** 2, axis=-1)
    expected = figures(retrieval(matrix, labels, distance="precomputed"))
    np.testing.assert_array_equal(figures(retrieval(vectors, labels)), expected)


def test_a_gallery_that_is_the_queries_ranks_each_query_itself_first(clouds):
    vectors, labels = clouds
    found = retrieval(vectors, labels, gallery=vectors, gallery_labels=labels)
    assert found.recall_at_k == {1: 1.0, 3: 1.0}
    assert retrieval(vectors, labels).recall_at_k[1] < 1.0


@pytest.mark.parametrize("size", [40, 501])
def test_a_collapsed_network_scores_chance(size, rng):
    vectors = np.tile(rng.normal(size=(1, 7)).astype("f4"), (size, 1))
    labels = np.arange(size) % 4
    found = retrieval(vectors, labels, k=(1,))
    others = np.bincount(labels)[labels] - 1
    assert found.recall_at_k[1] == pytest.approx(np.mean(others / (size - 1)))
    assert found.r_precision == pytest.approx(np.mean(others / (size - 1)))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_equal_entries_are_tied_at_any_index(distance, rng):
    """Tests that equal entries have equal distances, although a matrix product may round their
    columns differently."""
    places = rng.integers(0, 25, 400)
    vectors, labels = rng.normal(size=(25, 33)).astype("f4")[places], rng.integers(0, 5, 400)
    order = rng.permutation(400)
    one = retrieval(vectors, labels, distance=distance)
    other = retrieval(vectors[order], labels[order], distance=distance)
    np.testing.assert_allclose(np.array(figures(one))[order], figures(other), rtol=0, atol=1e-12)


def test_the_size_of_a_block_does_not_change_the_result(clouds):
    vectors, labels = clouds
    whole = figures(retrieval(vectors, labels))
    for max_bytes in (1, 50_000):
        assert figures(retrieval(vectors, labels, max_bytes=max_bytes)) == whole


@given(st.integers(1, 400), st.data())
def test_the_nearest_are_found_with_all_their_ties(size, data):
    distances = data.draw(npst.arrays(float, size, elements=st.integers(0, 9)))
    count = data.draw(st.integers(1, size))
    expected = np.flatnonzero(distances <= np.sort(distances)[count - 1])
    np.testing.assert_array_equal(np.sort(_retrieval.nearest(distances, count)), expected)


def test_the_nearest_are_found_if_the_sample_is_misleading():
    distances = np.ones(1600)
    distances[::16] = 0.0  # all distances in the sample that gives the bound
    assert len(_retrieval.nearest(distances, 100)) == 100
    assert len(_retrieval.nearest(distances, 101)) == 1600


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_pairs(rng):
    """Tests the memory for 2,000 queries and 2,000 entries, whose distance matrix would take 32
    MB."""
    vectors, labels = rng.normal(size=(2000, 32)).astype("f4"), rng.integers(0, 20, 2000)
    tracemalloc.start()
    retrieval(vectors, labels, max_bytes=1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize("by_name", [True, False])
def test_other_distances_rank_embeddings_of_any_shape(by_name, rng):
    from keras_dml.distances import Wasserstein

    values = np.sort(rng.normal(size=(30, 4, 5)), axis=-1)
    knots = np.broadcast_to(np.linspace(0, 1, 5), (30, 1, 5))
    embeddings = np.concatenate([values, knots], axis=1).astype("f4")
    labels = np.arange(30) % 3
    distance = Wasserstein()
    found = retrieval(
        embeddings, labels, distance="wasserstein" if by_name else distance, max_bytes=5000
    )
    matrix = np.array(distance(embeddings, embeddings))
    expected = retrieval(matrix, labels, distance="precomputed")
    np.testing.assert_allclose(figures(found), figures(expected))


def test_it_prints_the_figures_with_their_counts():
    found = retrieval(np.array([[0.0], [1.0], [1.0], [5.0]]), ["a", "a", "b", "c"], k=(1, 2))
    assert str(found) == (
        "R@1 25.0 %, R@2 100.0 %, MAP@R 0.250, R-precision 0.250 (2 queries, plus 2 queries "
        "without a relevant entry)"
    )


X, Y = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ((X, Y[:3]), {}, r"\(4, 2\) and `labels` of shape \(3,\).*one embedding for each"),
        ((X[:, 0], Y), {}, "one embedding for each"),
        ((X[:0], []), {}, "at least one"),
        ((X, Y), {"gallery": X}, "only one of `gallery` and"),
        ((X, Y), {"gallery_labels": Y}, "only one of `gallery` and"),
        ((X, Y), {"gallery": X, "gallery_labels": Y[:2]}, "`gallery_labels` of shape"),
        ((X, Y), {"gallery": X[:, :1], "gallery_labels": Y}, "must come from one model"),
        ((X, Y), {"k": (1, 4)}, "ranks from 1 to 3"),
        ((X, Y), {"k": (0,)}, r"Received \(0,\)"),
        ((X, Y), {"k": ()}, "`k` must hold ranks"),
        ((X, range(4)), {"k": (1,)}, "None of the 4 queries has a relevant entry"),
        ((np.full((4, 2), np.nan), Y), {}, "`embeddings` must be finite"),
        (
            (X, Y),
            {"gallery": np.full((4, 2), np.inf), "gallery_labels": Y},
            "`gallery` must be finite",
        ),
        (
            (X, Y),
            {"distance": "precomputed"},
            r"\(4, 2\).*Expected a .* shape \(4, 4\)",
        ),
        ((X[:, None], Y), {}, "takes vectors.*model.layers"),
        ((X, Y), {"distance": lambda x, y: x}, r"one value for each pair, .* shape \(4, 4\)"),
        ((X, Y), {"distance": lambda x, y: np.full((4, 4), np.nan)}, "`distances` must be finite"),
        ((X, Y), {"distance": "euclid"}, "Unknown distance 'euclid'"),
    ],
)
def test_invalid_arguments_of_retrieval_are_refused(inputs, options, message):
    with pytest.raises(ValueError, match=message):
        retrieval(*inputs, **options)


def test_entries_that_share_their_first_number_are_ranked_by_all_numbers():
    gallery = np.array([[0.0, 1.0], [0.0, 5.0], [0.0, 1.0]])
    result = retrieval(
        np.array([[0.0, 4.9]]), [1], gallery=gallery, gallery_labels=[0, 1, 0], k=[1]
    )
    assert result.recall_at_k[1] == 1
