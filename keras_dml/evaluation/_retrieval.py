"""Figures of retrieval: whether the nearest gallery entries have the class of the query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from keras_dml._arrays import real, whole
from keras_dml.evaluation._checks import check_embeddings, ids
from keras_dml.evaluation._distance_matrix import PRECOMPUTED
from keras_dml.evaluation._gallery_ranking import ranked_entries
from keras_dml.evaluation._identification import in_percent
from keras_dml.evaluation._people_weights import mean_interval
from keras_dml.evaluation._ranking import ranking_figures

TIES = ("mean", "index")


class PerQuery(NamedTuple):
    """The figures of each query; NaN for a query without a relevant entry."""

    recall_at_k: np.ndarray
    map_at_r: np.ndarray
    r_precision: np.ndarray


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Figures of how often the nearest gallery entries have the class of the query.

    Attributes:
        recall_at_k: By k, the fraction of queries with at least one relevant entry among the k
            nearest.
        map_at_r: Mean over queries of the average precision at R, where R is the number of the
            query's relevant entries.
        r_precision: Mean fraction of relevant entries among the R nearest.
        queries: Number of queries with a relevant entry.
        without_relevant: Number of queries left out, which have no relevant entry.
        per_query: `PerQuery` of arrays `recall_at_k` of shape `(queries, ks)`, `map_at_r` and
            `r_precision` of shape `(queries,)`, in the order of all queries.
        intervals: 95 % intervals by name (`"recall_at_1"`, `"map_at_r"`, `"r_precision"`) over the
            classes of the queries, such as people; empty if no bootstrap was asked for.
    """

    recall_at_k: dict[int, float]
    map_at_r: float
    r_precision: float
    queries: int
    without_relevant: int
    per_query: PerQuery = field(repr=False)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __str__(self):
        recalls = ", ".join(
            f"R@{k} {100 * r:.1f} %{in_percent(self.intervals.get(f'recall_at_{k}'))}"
            for k, r in self.recall_at_k.items()
        )
        without = f", {self.without_relevant:,} more without a relevant entry"
        return (
            f"{recalls}, MAP@R {self.map_at_r:.3f}, R-precision {self.r_precision:.3f} "
            f"({self.queries:,} queries{without if self.without_relevant else ''})"
        )


def retrieval(
    embeddings,
    labels,
    *,
    gallery=None,
    gallery_labels=None,
    distance="euclidean",
    k=(1, 3),
    ties="mean",
    max_bytes=128 * 2**20,
    bootstrap=0,
):
    """Recall@K, MAP@R and R-precision (Kim2020, Table I: R@1 and R@3), every entry ranked exactly.

    A ranking with equal distances is not defined by them, so each figure is its mean over all
    orders of tied entries, in closed form: a network that maps everything to one point scores
    chance, neither 0 nor 1. The k-argmax of Monteiro2020 (Eq. 6) takes them by index instead, which
    may be an advantage where the gallery is sorted by class. Distances are computed for a block of
    queries at a time, in float64 where NumPy has a formula for them (`"euclidean"`, `"cosine"`).
    Memory grows with queries plus entries, not with their product.

    Args:
        embeddings: Queries, shape `(queries, features)`, or of any shape that `distance` takes.
        labels: Class of each query, shape `(queries,)`.
        gallery: Entries, shape `(entries, ...)`. Without it the queries are the gallery, and no
            query is its own neighbor.
        gallery_labels: Class of each entry, shape `(entries,)`; given where there is a gallery.
        distance: `"euclidean"` or `"cosine"` on vectors, another name of `keras_dml.distances`, a
            callable `d(x, y) -> (n, m)` where smaller is closer; `TwoStages`, where a learned
            similarity orders the candidates of a cheap distance; or `"precomputed"`: then
            `embeddings` is the distance matrix, shape `(queries, entries)`.
        k: Ranks for recall, at most the number of entries other than the query.
        ties: `"mean"` over all orders of tied entries, or `"index"`: the lowest index first.
        max_bytes: Memory for a block of distances; at least one row is computed at a time.
        bootstrap: Number of replicates for 95 % intervals over the classes of the queries, see
            `verification`; 0 for none, 1000 is usual.

    Returns:
        `Retrieval`; printing it shows the figures and their counts.

    Raises:
        ValueError: Shapes do not fit together, a value or a distance is not finite, a rank is
            beyond the gallery, `ties` is unknown, or no query has a relevant entry.

    >>> import numpy as np
    >>> found = retrieval(np.array([[0.0], [1.0], [1.0], [5.0]]), [0, 0, 1, 1], k=(1, 2))
    >>> found.recall_at_k
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
            f"None of the {len(labels):,} queries has a relevant entry. Labels of queries and "
            "gallery must share classes, and within one set a class needs two members."
        )
    figures = np.full((len(labels), len(ks) + 2), np.nan)
    wanted = np.where(relevant > 0, np.maximum(relevant, max(ks)), 0)
    for query, entries, starts in ranked_entries(
        embeddings, gallery, distance, wanted, within=within, max_bytes=max_bytes
    ):
        hits = entry_codes[entries] == query_codes[query]
        if ties == "index":
            starts = np.arange(len(entries))
        figures[query] = ranking_figures(hits, starts, relevant[query], ks)
    *recalls, map_at_r, r_precision = np.nanmean(figures, axis=0).tolist()
    names, ranked = (*(f"recall_at_{rank}" for rank in ks), "map_at_r", "r_precision"), relevant > 0
    intervals = {
        name: mean_interval(column[ranked], query_codes[ranked], draws=bootstrap)
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
            "`gallery` and `gallery_labels` belong together: give both, or neither to rank the "
            "queries among themselves."
        )
    if distance == PRECOMPUTED:
        expected, shape = (len(labels), len(entry_labels)), embeddings.shape
        if shape != expected or gallery is not None:
            raise ValueError(
                'With `distance="precomputed"` the distance matrix takes the place of '
                f"`embeddings`, and there is no `gallery`. Expected shape {expected} by the "
                f"labels. Received shape {shape}."
            )
    sides = [("embeddings", embeddings, "labels", labels)]
    if gallery is not None:
        sides.append(("gallery", gallery, "gallery_labels", entry_labels))
    for name, values, labels_name, classes in sides:
        if classes.ndim != 1 or values.ndim < 2 or len(values) != len(classes) or values.size == 0:
            raise ValueError(
                f"`{name}` must hold one embedding for each of `{labels_name}`, at least one. "
                f"Received shapes {values.shape} and {classes.shape}."
            )
    check_embeddings(embeddings, gallery)


def _checked_ranks(k, most):
    if np.ndim(k) != 1:
        raise TypeError(f"`k` must be a tuple of ranks, such as (1, 5). Received {k!r}.")
    ks = tuple(whole("k", rank, minimum=0) for rank in k)
    if not ks or min(ks) < 1 or max(ks) > most:
        raise ValueError(
            f"`k` must hold ranks from 1 to {most:,}, the number of entries a query is compared "
            f"with. Received {tuple(k)}."
        )
    return ks
