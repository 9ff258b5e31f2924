"""Tests two-stage search, in which a learned similarity re-ranks candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from keras_dml.evaluation import TwoStages, nearest_entries, retrieval
from tests.goldens import golden


def slanted(x, y):
    """Computes an asymmetric similarity of whole numbers, which is exact and has ties."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    return np.abs(x[:, None] - 2 * y).sum(axis=-1) % 7


def minus(similarity):
    return lambda x, y: -similarity(x, y)


def by_loop(queries, entries, similarity, distance, count, within):
    """Ranks the entries for each query with a slow loop.

    The loop sorts all entries by distance, and then sorts the nearest entries (the candidates) by
    similarity.
    """
    matrix, cheap = similarity(queries, entries), distance(queries, entries)
    for query in range(len(queries)):
        order = [i for i in range(len(entries)) if not (within and i == query)]
        order.sort(key=lambda i: (cheap[query, i], i))
        near, rest = order[:count], order[count:]
        yield sorted(near, key=lambda i: (-matrix[query, i], i)) + rest


def city_block(x, y):
    return np.abs(np.asarray(x, float)[:, None] - np.asarray(y, float)).sum(axis=-1)


def points(rows):
    return npst.arrays(np.int64, (rows, 2), elements=st.integers(-4, 4))


def test_golden_retrieval_k_argmax():
    example = golden("retrieval-k-argmax", "seeds_p2")
    matrix, labels = -np.array(example["inputs"]["similarities"]), example["inputs"]["y"]
    expected = example["expected"]
    found = nearest_entries(matrix, distance="precomputed", k=4)
    assert found.tolist() == expected["ranking"]
    ks = tuple(int(k) for k in expected["recall_at"])
    figures = retrieval(matrix, labels, distance="precomputed", k=ks, ties="index")
    recalls = {str(k): recall for k, recall in figures.recall_at_k.items()}
    assert recalls == pytest.approx(expected["recall_at"])
    counted = np.flatnonzero(~np.isnan(figures.per_query.map_at_r)).tolist()
    assert counted == expected["queries"]
    assert (figures.queries, figures.without_relevant) == (len(expected["queries"]), 1)


@given(st.data(), st.integers(2, 12), st.integers(1, 14), st.booleans())
def test_two_stages_equal_sorting_twice(data, entries, count, within):
    gallery = data.draw(points(entries))
    queries = gallery if within else data.draw(points(5))
    stages = TwoStages(slanted, candidates=count, distance=city_block)
    k = entries - within
    found = nearest_entries(
        queries, gallery=None if within else gallery, distance=stages, k=k, max_bytes=200
    )
    expected = by_loop(queries, gallery, slanted, city_block, count, within)
    assert found.tolist() == list(expected)


@pytest.mark.parametrize("ties", ["mean", "index"])
@pytest.mark.parametrize("within", [True, False])
def test_with_all_entries_as_candidates_figures_are_those_of_the_full_ranking(rng, within, ties):
    x, labels = rng.integers(-9, 9, (120, 2)), rng.integers(0, 6, 120)
    gallery = {} if within else dict(gallery=x[40:], gallery_labels=labels[40:])
    given_ = dict(k=(1, 5), ties=ties, **gallery)
    full = retrieval(x, labels, distance=minus(slanted), **given_)
    for count in (120, 10**6):
        stages = TwoStages(slanted, candidates=count, distance="euclidean")
        two = retrieval(x, labels, distance=stages, **given_)
        np.testing.assert_array_equal(two.per_query.recall_at_k, full.per_query.recall_at_k)
        np.testing.assert_array_equal(two.per_query.map_at_r, full.per_query.map_at_r)
        np.testing.assert_array_equal(two.per_query.r_precision, full.per_query.r_precision)


def test_with_one_candidate_the_cheap_distance_decides(rng):
    x, labels = rng.normal(size=(60, 3)), np.arange(60) % 5
    stages = TwoStages(minus(city_block), candidates=1, distance="cosine")
    cheap = retrieval(x, labels, distance="cosine", k=(1, 3))
    assert retrieval(x, labels, distance=stages, k=(1, 3)).recall_at_k == cheap.recall_at_k


def test_a_better_similarity_repairs_what_a_poor_distance_ordered(rng):
    labels = np.repeat(np.arange(20), 6)
    x = np.concatenate([rng.normal(size=(20, 2))[labels], 2 * rng.normal(size=(120, 6))], axis=1)

    def similarity(a, b):
        return -city_block(a[:, :2], b[:, :2])

    first = retrieval(x, labels, distance="euclidean", k=(1,)).recall_at_k[1]
    both = retrieval(x, labels, distance=TwoStages(similarity, 40, "euclidean"), k=(1,))
    full = retrieval(x, labels, distance=minus(similarity), k=(1,)).recall_at_k[1]
    assert first < both.recall_at_k[1] <= full


def test_the_similarity_is_computed_for_candidates_only(rng):
    x = np.arange(40.0)[:, None]
    seen = []

    def similarity(a, b):
        seen.append((len(a), set(b[:, 0].tolist())))
        return -city_block(a, b)

    stages = TwoStages(similarity, candidates=2, distance="euclidean")
    found = nearest_entries(x, distance=stages, k=2)
    assert found[5].tolist() == [4, 6] and found[0].tolist() == [1, 2]
    assert sum(queries for queries, _ in seen) == 40
    assert all(len(entries) <= 2 * queries + 2 for queries, entries in seen)


def test_no_similarity_is_computed_for_queries_without_a_relevant_entry():
    asked = []

    def similarity(a, b):
        asked.extend(a[:, 0].tolist())
        return -city_block(a, b)

    x = np.array([[0.0], [1.0], [5.0], [9.0]])
    retrieval(x, [0, 0, 1, 2], distance=TwoStages(similarity, 2, "euclidean"), k=(1,))
    assert asked == [0.0, 1.0]


def test_equal_entries_stay_tied_despite_rounding(rng):
    """Tests equal entries if the similarity rounds the columns of these entries differently."""
    places = rng.integers(0, 6, 80)
    x, labels = rng.normal(size=(6, 4))[places], rng.integers(0, 3, 80)

    def similarity(a, b):
        return a @ b.T + 1e-9 * np.arange(len(b))

    order = rng.permutation(80)
    stages = TwoStages(similarity, candidates=80)
    one = retrieval(x, labels, distance=stages).per_query.map_at_r
    other = retrieval(x[order], labels[order], distance=stages).per_query.map_at_r
    np.testing.assert_allclose(one[order], other, rtol=0, atol=1e-12)


def test_ties_by_index_may_favour_a_sorted_gallery():
    x, labels = np.ones((6, 2)), [0, 0, 0, 1, 1, 1]
    assert retrieval(x, labels, k=(1,), ties="mean").recall_at_k[1] == pytest.approx(0.4)
    assert retrieval(x, labels, k=(1,), ties="index").recall_at_k[1] == pytest.approx(0.5)


def test_nearest_entries_are_those_of_scikit_learn(rng):
    from sklearn.neighbors import NearestNeighbors

    x, gallery = rng.normal(size=(50, 5)), rng.normal(size=(200, 5))
    search = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(gallery)
    found = nearest_entries(x, gallery=gallery, k=7, max_bytes=10_000)
    np.testing.assert_array_equal(found, search.kneighbors(x, return_distance=False))


X = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TwoStages("cosine"), TypeError, "must be a function S.* Received str"),
        (lambda: TwoStages(slanted, 0), ValueError, "`candidates` must be at least 1"),
        (lambda: TwoStages(slanted, 2.5), TypeError, "integer"),
        (
            lambda: TwoStages(slanted, 2, "precomputed"),
            ValueError,
            "name of a distance.*Received 'precomputed'",
        ),
        (
            lambda: TwoStages(slanted, 2, TwoStages(slanted)),
            ValueError,
            "name of a distance.*Received TwoStages",
        ),
        (
            lambda: nearest_entries(X, distance=TwoStages(lambda x, y: x), k=1),
            ValueError,
            r"`similarity` must return one value for each pair, here an array of shape \(4, 4\)",
        ),
        (
            lambda: nearest_entries(X, distance=TwoStages(lambda x, y: x @ y.T * np.nan), k=1),
            ValueError,
            "`similarities` must be finite",
        ),
        (lambda: nearest_entries(X, k=4), ValueError, "from 1 to 3.* Received 4"),
        (lambda: nearest_entries(X, k=0), ValueError, "from 1 to 3"),
        (lambda: nearest_entries(X[:0], k=1), ValueError, "at least one"),
        (lambda: nearest_entries(X, gallery=X[:, :1]), ValueError, "must come from one model"),
        (lambda: nearest_entries(X * np.nan), ValueError, "`embeddings` must be finite"),
        (lambda: nearest_entries(X, distance="precomputed"), ValueError, "square distance matrix"),
        (lambda: retrieval(X, [0, 0, 1, 1], ties="first"), ValueError, "`ties` must be one of"),
    ],
)
def test_impossible_searches_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
