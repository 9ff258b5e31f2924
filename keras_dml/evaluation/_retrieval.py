"""Ranks gallery entries for each query and computes Recall@K, mAP and R-precision.

`nearest_entries` returns the ranking, and `retrieval` computes metrics of the ranking. If you pass
`TwoStages` as the `distance`, the two functions find candidates by a cheap distance and re-rank the
candidates by a learned similarity.

If distances are equal, the ranking is not unique. Each metric is therefore the mean over all orders
of the tied entries, with equal weight for each order. In the code, a group is a set of entries with
equal distances. `size` is the number of entries in a group, and `hits` is the number of relevant
entries in the group. `before` is the number of entries that are nearer than the group, and
`hits_before` is the number of relevant entries among the nearer entries. The first k ranks include
`k - before` randomly drawn entries of the group.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from keras_dml._arrays import real, whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_embeddings, check_finite, ids
from keras_dml.evaluation._distance_matrix import (
    PRECOMPUTED,
    distance_matrix_rows,
    distinct,
    pairwise_values,
)
from keras_dml.evaluation._identification import in_percent
from keras_dml.evaluation._intervals import mean_interval

TIES = ("mean", "index")
STRIDE = 16  # every 16th distance is in the sample that bounds the nearest distances
# Number of queries in one call of the similarity. One call for 16 queries was measured to be faster
# than 16 calls, although 15/16 of its results are not used.
QUERIES_PER_CALL = 16


@dataclass(frozen=True)
class TwoStages:
    """Two-stage `distance` for `retrieval` and `nearest_entries` (Monteiro2020, Eq. 6).

    The candidates of a query are the nearest entries by a cheap distance. Equal distances are
    ordered by index. The candidates rank first, in the order of the learned similarity, and the
    remaining entries follow in the order of the cheap distance. If all entries are candidates, only
    the learned similarity determines the ranking. The query itself is never a candidate.

    Args:
        similarity: Function `S(queries, entries) -> (n, m)` that compares embeddings, such as
            `PrototypicalClassifier.similarity`. Higher is more similar.
        candidates: Number of entries that the similarity ranks, at least 1. If `candidates` exceeds
            the number of entries, all entries are candidates.
        distance: Cheap distance between embeddings: a name from `keras_dml.distances`, or a
            function `d(x, y) -> (n, m)`. `"precomputed"` is not allowed.

    Raises:
        TypeError: If `similarity` is not callable, or if `candidates` is not an integer.
        ValueError: If `candidates` is below 1, or if `distance` is `"precomputed"` or `TwoStages`.

    >>> inner = TwoStages(lambda x, y: x @ y.T, candidates=2, distance="euclidean")
    >>> points = np.array([[0.0], [1.0], [3.0], [9.0]])
    >>> keras_dml.evaluation.nearest_entries(points, distance=inner, k=3).tolist()
    [[1, 2, 3], [2, 0, 3], [1, 0, 3], [2, 1, 0]]
    """

    similarity: Callable[[np.ndarray, np.ndarray], ArrayLike]
    candidates: int = 100
    distance: str | Callable[[np.ndarray, np.ndarray], ArrayLike] = "cosine"

    def __post_init__(self) -> None:
        if not callable(self.similarity):
            raise TypeError(
                "`similarity` must be a function S(x, y) of embeddings, such as "
                f"`model.similarity`. Received {type(self.similarity).__name__}."
            )
        if operator.index(self.candidates) < 1:
            raise ValueError(f"`candidates` must be at least 1. Received {self.candidates}.")
        if self.distance == PRECOMPUTED or isinstance(self.distance, TwoStages):
            raise ValueError(
                "The `distance` of the first stage must be a callable, or the name of a distance "
                f"between embeddings. Received {self.distance!r}."
            )


class PerQuery(NamedTuple):
    """Retrieval metrics of each query. The metrics are NaN for a query without a relevant entry.

    Attributes:
        recall_at_k: Array `(queries, ks)`. A value is 1 if a relevant entry is among the k nearest
            entries, and otherwise 0.
        map_at_r: Average precision at R, shape `(queries,)`. R is the number of relevant entries of
            the query.
        r_precision: Fraction of relevant entries among the R nearest entries, shape `(queries,)`.
    """

    recall_at_k: np.ndarray
    map_at_r: np.ndarray
    r_precision: np.ndarray


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Retrieval metrics, which show how often the nearest gallery entries have the class of the
    query.

    A gallery entry is relevant if it has the class of the query. R is the number of relevant
    entries of a query.

    Attributes:
        recall_at_k: Dict that maps k to the fraction of queries with at least one relevant entry
            among the k nearest entries.
        map_at_r: Mean average precision at R (mAP, MAP@R) over the queries.
        r_precision: R-precision, averaged over the queries. The R-precision of a query is the
            fraction of relevant entries among the R nearest entries.
        queries: Number of queries with a relevant entry.
        without_relevant: Number of queries without a relevant entry. The metrics ignore queries
            without a relevant entry.
        per_query: `PerQuery` metrics, in the order of the queries.
        intervals: Dict that maps the name of a metric (`"recall_at_1"`, `"map_at_r"`,
            `"r_precision"`) to its 95 % confidence interval. The bootstrap draws the classes of the
            queries, such as people. The dict is empty if no bootstrap was run.
    """

    recall_at_k: dict[int, float]
    map_at_r: float
    r_precision: float
    queries: int
    without_relevant: int
    per_query: PerQuery = field(repr=False)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __str__(self) -> str:
        recalls = ", ".join(
            f"R@{k} {100 * r:.1f} %{in_percent(self.intervals.get(f'recall_at_{k}'))}"
            for k, r in self.recall_at_k.items()
        )
        without = f", plus {self.without_relevant:,} queries without a relevant entry"
        return (
            f"{recalls}, MAP@R {self.map_at_r:.3f}, R-precision {self.r_precision:.3f} "
            f"({self.queries:,} queries{without if self.without_relevant else ''})"
        )


def retrieval(
    embeddings: ArrayLike,
    labels: ArrayLike,
    *,
    gallery: ArrayLike | None = None,
    gallery_labels: ArrayLike | None = None,
    distance: str | Callable[..., Any] | TwoStages = "euclidean",
    k: Sequence[int] = (1, 3),
    ties: str = "mean",
    max_bytes: int = 128 * 2**20,
    bootstrap: int = 0,
) -> Retrieval:
    """Computes Recall@K, MAP@R and R-precision of exact rankings. Table I of Kim2020 reports R@1
    and R@3.

    If entries have equal distances, each metric is the mean over all orders of the tied entries,
    computed in closed form. A network that maps all inputs to one point therefore has the same
    metrics as a random ranking. The k-argmax of Monteiro2020 (Eq. 6) orders tied entries by index.
    If the gallery is sorted by class, ordering by index may give better metrics. The distances
    `"euclidean"` and `"cosine"` are computed in float64. Distances are computed for a block of
    queries at a time, so memory grows with the sum of the numbers of queries and entries, not with
    their product.

    Args:
        embeddings: Embeddings of the queries, shape `(queries, features)` or another shape that
            `distance` takes.
        labels: Class of each query, shape `(queries,)`.
        gallery: Embeddings of the entries, shape `(entries, ...)`. By default, the queries are the
            gallery, and each query is left out of its own ranking.
        gallery_labels: Class of each entry, shape `(entries,)`. Required with `gallery`.
        distance: `"euclidean"` or `"cosine"` for vectors, another name from `keras_dml.distances`,
            or a callable `d(x, y) -> (n, m)`. Smaller is closer. With `TwoStages`, a cheap distance
            finds candidates and a learned similarity orders them. With `"precomputed"`, the
            argument `embeddings` is the distance matrix, shape `(queries, entries)`.
        k: Values of K for Recall@K. Each K is at most the number of entries that a query is
            compared with.
        ties: Rule for entries with equal distances (ties). `"mean"` averages over all orders of
            tied entries. `"index"` ranks tied entries by ascending index.
        max_bytes: Memory for a block of distances, in bytes. A block has at least one row, even if
            the row needs more memory.
        bootstrap: Number of bootstrap replicates for the 95 % confidence intervals (see
            `verification`). The bootstrap draws the classes of the queries. If `bootstrap` is 0, no
            intervals are computed. A usual value is 1000.

    Returns:
        `Retrieval`.

    Raises:
        ValueError: If shapes do not fit together, if a value or a distance is not finite, if a
            value of `k` exceeds the number of entries, if `ties` is unknown, or if no query has a
            relevant entry.

    >>> import numpy as np
    >>> result = retrieval(np.array([[0.0], [1.0], [1.0], [5.0]]), [0, 0, 1, 1], k=(1, 2))
    >>> result.recall_at_k
    {1: 0.25, 2: 0.75}
    """
    embeddings, labels = real("`embeddings`", embeddings), ids("`labels`", labels)
    gallery = None if gallery is None else real("`gallery`", gallery)
    within = gallery_labels is None  # the queries are the gallery
    entry_labels = labels if within else ids("`gallery_labels`", gallery_labels)
    _check_sizes(embeddings, labels, gallery, entry_labels, within, distance)
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    ks = _checked_ranks(k, len(entry_labels) - within)
    if ties not in TIES:
        raise ValueError(f"`ties` must be one of {TIES}. Received {ties!r}.")
    codes = np.unique(np.concatenate([labels, entry_labels]), return_inverse=True)[1]
    query_codes, entry_codes = codes[: len(labels)], codes[len(codes) - len(entry_labels) :]
    relevant = np.bincount(entry_codes, minlength=codes.max() + 1)[query_codes] - within
    if not relevant.any():
        raise ValueError(
            f"None of the {len(labels):,} queries has a relevant entry. At least one class of the "
            "queries must also occur in `gallery_labels`. Without a gallery, at least one class "
            "must occur twice in `labels`."
        )
    figures = np.full((len(labels), len(ks) + 2), np.nan)
    ranks = np.where(relevant > 0, np.maximum(relevant, max(ks)), 0)
    for query, entries, starts in ranked_entries(
        embeddings, gallery, distance, ranks, within=within, max_bytes=max_bytes
    ):
        hits = entry_codes[entries] == query_codes[query]
        if ties == "index":
            starts = np.arange(len(entries))
        figures[query] = ranking_figures(hits, starts, relevant[query], ks)
    *recalls, map_at_r, r_precision = np.nanmean(figures, axis=0).tolist()
    names = (*(f"recall_at_{rank}" for rank in ks), "map_at_r", "r_precision")
    has_relevant = relevant > 0
    intervals = {
        name: mean_interval(column[has_relevant], query_codes[has_relevant], draws=bootstrap)
        for name, column in zip(names, figures.T if bootstrap else (), strict=bootstrap > 0)
    }
    return Retrieval(
        recall_at_k=dict(zip(ks, recalls, strict=True)),
        map_at_r=map_at_r,
        r_precision=r_precision,
        queries=int((relevant > 0).sum()),
        without_relevant=int((relevant == 0).sum()),
        per_query=PerQuery(figures[:, :-2], figures[:, -2], figures[:, -1]),
        intervals=intervals,
    )


def _check_sizes(embeddings, labels, gallery, entry_labels, within, distance):
    if (gallery is None) != within and distance != PRECOMPUTED:
        raise ValueError(
            "Received only one of `gallery` and `gallery_labels`. Pass both, or pass neither to "
            "rank the queries among themselves."
        )
    if distance == PRECOMPUTED:
        expected, shape = (len(labels), len(entry_labels)), embeddings.shape
        if shape != expected or gallery is not None:
            raise ValueError(
                f'Received `embeddings` of shape {shape} with `distance="precomputed"`. Expected a '
                f"distance matrix of shape {expected}, one row for each query label and one column "
                "for each entry label, and no `gallery`."
            )
    sides = [("embeddings", embeddings, "labels", labels)]
    if gallery is not None:
        sides.append(("gallery", gallery, "gallery_labels", entry_labels))
    for name, values, labels_name, classes in sides:
        if classes.ndim != 1 or values.ndim < 2 or len(values) != len(classes) or values.size == 0:
            raise ValueError(
                f"Received `{name}` of shape {values.shape} and `{labels_name}` of shape "
                f"{classes.shape}. Expected one embedding for each label, and at least one label."
            )
    check_embeddings(embeddings, gallery)


def _checked_ranks(k, most):
    if np.ndim(k) != 1:
        raise TypeError(f"`k` must be a tuple of ranks, such as (1, 5). Received {k!r}.")
    ks = tuple(whole("k", rank, minimum=0) for rank in k)
    if not ks or min(ks) < 1 or max(ks) > most:
        raise ValueError(
            f"`k` must hold ranks from 1 to {most:,}, the number of entries that each query is "
            f"compared with. Received {tuple(k)}."
        )
    return ks


def ranking_figures(hits, starts, total, ks):
    """Computes Recall@K for each K, MAP@R and R-precision of one query.

    Args:
        hits: Booleans, shape `(ranks,)`. A boolean is True if the entry at its rank is relevant.
            The number of ranks is at least `total` and at least the largest value of `ks`.
        starts: First rank, counted from 0, of each group of tied entries, shape `(groups,)`. All
            ranks of the last group are included in `hits`.
        total: R, the number of relevant entries in the gallery, at least 1.
        ks: Values of K for Recall@K, at most the number of entries.

    Returns:
        List of `len(ks) + 2` floats. Recall@K in the order of `ks` is followed by MAP@R and
        R-precision.
    """
    size = np.diff(starts, append=len(hits))
    group = np.repeat(np.arange(len(size)), size)  # group of each rank from 1 on
    before, hits = starts, np.add.reduceat(hits.astype(np.int64), starts)  # (groups,)
    hits_before = np.cumsum(hits) - hits
    recalls = [
        1.0 if hits_before[g] else 1.0 - _chance_of_no_hit(size[g], hits[g], k - before[g])
        for k, g in ((k, group[k - 1]) for k in ks)
    ]
    ranks, at = np.arange(1, total + 1), group[:total]
    chance = hits[at] / size[at]  # probability that the entry at a rank is relevant
    further_hits = (ranks - before[at] - 1) * (hits[at] - 1) / np.maximum(size[at] - 1, 1)
    average = np.sum(chance * (hits_before[at] + 1 + further_hits) / ranks) / total
    end = at[-1]
    precision = (hits_before[end] + (total - before[end]) * chance[-1]) / total
    return [*recalls, average, precision]


def _chance_of_no_hit(size, hits, drawn):
    """Computes the probability that `drawn` entries of a group include no relevant entry.

    The probability is C(size - hits, drawn) / C(size, drawn), which is a product of `drawn` ratios.
    """
    left = size - np.arange(drawn)
    return np.prod(np.maximum(left - hits, 0) / left)


def nearest_entries(
    embeddings: ArrayLike,
    *,
    gallery: ArrayLike | None = None,
    distance: str | Callable[..., Any] | TwoStages = "euclidean",
    k: int = 10,
    max_bytes: int = 128 * 2**20,
) -> np.ndarray:
    """Finds the k nearest entries of a gallery for each query (Monteiro2020, Eq. 6).

    Entries at equal distances are ordered by index. The search is exact, because the distance of
    each query to every entry is computed. With `TwoStages`, the search computes the cheap distance
    for every entry, but the learned similarity only for the candidates. `retrieval` computes
    metrics of the ranking.

    Args:
        embeddings: Embeddings of the queries, shape `(queries, features)` or another shape that
            `distance` takes.
        gallery: Embeddings of the entries, shape `(entries, ...)`. By default, the queries are the
            gallery, and each query is left out of its own ranking.
        distance: See `retrieval`. With `"precomputed"`, the argument `embeddings` is the square
            matrix of the distances between queries.
        k: Number of entries to find, at most the number of entries that a query is compared with.
        max_bytes: Memory for a block of distances, in bytes. A block has at least one row, even if
            the row needs more memory.

    Returns:
        Indices of entries, nearest first, int64 of shape `(queries, k)`.

    Raises:
        ValueError: If shapes do not fit together, if a value or a distance is not finite, or if `k`
            exceeds the number of entries.

    >>> nearest_entries(np.array([[0.0], [1.0], [3.0]]), k=2).tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    embeddings = real("`embeddings`", embeddings)
    gallery = None if gallery is None else real("`gallery`", gallery)
    entries, within = embeddings if gallery is None else gallery, gallery is None
    if min(embeddings.ndim, entries.ndim) < 2 or not embeddings.size or not entries.size:
        raise ValueError(
            f"Received `embeddings` of shape {embeddings.shape} and `gallery` of shape "
            f"{entries.shape}. Expected shapes (n, ...), with at least one embedding in each."
        )
    if isinstance(distance, str) and distance == PRECOMPUTED:
        if not within or embeddings.shape != (len(embeddings), len(embeddings)):
            raise ValueError(
                f"Received `embeddings` of shape {embeddings.shape} with "
                '`distance="precomputed"`. Expected a square distance matrix and no `gallery`.'
            )
    check_embeddings(embeddings, gallery)
    k = whole("k", k, minimum=0)
    if not 1 <= k <= len(entries) - within:
        raise ValueError(
            f"`k` must be from 1 to {len(entries) - within:,}, the number of entries that each "
            f"query is compared with. Received {k!r}."
        )
    indices = np.empty((len(embeddings), k), np.int64)
    ranks = np.full(len(embeddings), k)
    for query, order, _ in ranked_entries(
        embeddings, gallery, distance, ranks, within=within, max_bytes=max_bytes
    ):
        indices[query] = order[:k]
    return indices


def ranked_entries(embeddings, gallery, distance, ranks, *, within, max_bytes):
    """Ranks the entries of a gallery for each query, in blocks of queries.

    Args:
        embeddings: Checked queries, shape `(queries, ...)`, or the distance matrix if `distance` is
            `"precomputed"`.
        gallery: Checked entries, shape `(entries, ...)`. None if the queries are the gallery.
        distance: See `retrieval`.
        ranks: Number of ranks to compute for each query, shape `(queries,)`. A query is skipped if
            its number of ranks is 0.
        within: Whether the queries are the gallery. If the queries are the gallery, entry `i` is
            left out of the ranking of query `i`.
        max_bytes: Memory for a block of distances, in bytes.

    Yields:
        Tuples `(query, entries, starts)`. `query` is the index of a query. `entries` holds the
        indices of the nearest entries, shape `(ranks,)`, and includes all entries whose distance
        equals the distance at the last rank. `starts` holds the first rank (counted from 0) of each
        group of tied entries, shape `(groups,)`. Tied entries are in ascending order of index.
    """
    gallery = embeddings if gallery is None else gallery
    is_two_stages = isinstance(distance, TwoStages)
    first_distance = distance.distance if is_two_stages else distance
    distance_rows = distance_matrix_rows(embeddings, gallery, first_distance)
    rank = _second_stage(embeddings, gallery, distance, within) if is_two_stages else _first_stage
    precomputed = isinstance(distance, str) and distance == PRECOMPUTED
    entries = embeddings.shape[1] if precomputed else len(gallery)
    rows = max(1, int(max_bytes // (2 * 8 * entries)))  # a block and its temporary
    for start in range(0, len(ranks), rows):
        block = distance_rows(slice(start, start + rows))  # (rows, entries) float64
        check_finite("distances", block)
        if within:
            np.fill_diagonal(block[:, start:], np.inf)
        yield from rank(block, ranks, start)


def _first_stage(block, ranks, start):
    """Ranks entries by their distances in a block. `start` is the index of the query in row 0."""
    for query, distances in enumerate(block, start):
        if ranks[query]:
            entries = _in_order(distances, ranks[query])
            yield query, entries, _group_starts(distances[entries])


def _second_stage(embeddings, gallery, stages, within):
    """Returns a function that takes a block of distances, finds candidates, and re-ranks the
    candidates by the similarity.

    Args:
        embeddings: Queries, shape `(queries, ...)`.
        gallery: Entries, shape `(entries, ...)`. If entries are equal, their similarity is computed
            only once, so that they are tied.
        stages: `TwoStages` with the similarity and the distance of the search.
        within: Whether the queries are the gallery.

    Returns:
        Function of `(block, ranks, start)`: a block of distances, the number of ranks for each
        query, and the index of the first query. The function yields `(query, entries, starts)` as
        `ranked_entries` does.
    """
    entries, copies = distinct(gallery)
    copies = np.arange(len(gallery)) if copies is None else copies
    top = min(stages.candidates, len(gallery) - within)

    def rank(block, ranks, start):
        queries = [query for query in range(start, start + len(block)) if ranks[query]]
        for first in range(0, len(queries), QUERIES_PER_CALL):
            group = queries[first : first + QUERIES_PER_CALL]
            orders = [_in_order(block[query - start], max(top, ranks[query])) for query in group]
            candidates = np.sort([order[:top] for order in orders])  # by index
            distances = -_similarities_to_candidates(
                stages.similarity, embeddings[group], entries, copies[candidates]
            )
            for query, order, near, values in zip(
                group, orders, candidates, distances, strict=True
            ):
                again = np.argsort(values, kind="stable")
                rest = order[top:]
                starts = top + _group_starts(block[query - start][rest])
                yield (
                    query,
                    np.concatenate([near[again], rest]),
                    np.concatenate([_group_starts(values[again]), starts]),
                )

    return rank


def _similarities_to_candidates(similarity, queries, entries, candidates):
    """Computes similarities of each query to its candidates, shape `(queries, candidates)`.

    A single call compares every query with the candidates of every query. The candidates are padded
    so that their number is a power of two. Because of the padding, a similarity is compiled for
    only a few shapes.
    """
    needed, positions = np.unique(candidates, return_inverse=True)
    padded = np.resize(needed, min(len(entries), 1 << (len(needed) - 1).bit_length()))
    values = pairwise_values("similarity", similarity, queries, entries[padded])
    check_finite("similarities", values)
    return np.take_along_axis(values, positions.reshape(candidates.shape), axis=1)


def _in_order(distances, count):
    """Returns the indices that `nearest` finds, sorted by distance. Equal distances are sorted by
    index."""
    near = nearest(distances, count)
    return near[np.argsort(distances[near], kind="stable")]


def _group_starts(ordered):
    """Returns the index at which each run of equal values starts, shape `(groups,)`."""
    return np.flatnonzero(np.diff(ordered, prepend=-np.inf))


def nearest(distances, count):
    """Returns the indices of the `count` smallest distances. The indices are in ascending order.
    Distances that equal the largest of these `count` distances are also included, so the result may
    have more than `count` indices.

    A sample of the distances gives an upper bound, and only distances within the bound are
    partitioned. For 100,000 distances, this method takes a fifth of the time of a partition of all
    distances. If fewer than `count` distances are within the bound, all distances are partitioned.
    """
    sample = distances[::STRIDE]
    position = min(2 * count // STRIDE + STRIDE, len(sample) - 1)
    near = np.flatnonzero(distances <= np.partition(sample, position)[position])
    if len(near) < count:
        near = np.arange(len(distances))
    values = distances[near]
    return near[values <= np.partition(values, count - 1)[count - 1]]
