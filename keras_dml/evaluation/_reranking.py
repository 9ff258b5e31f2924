"""Search in two stages: a cheap distance finds candidates, a learned similarity ranks them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keras_dml.evaluation._checks import check_finite
from keras_dml.evaluation._distance_matrix import PRECOMPUTED, distinct, pairwise_values
from keras_dml.evaluation._ranking import group_starts, in_order

QUERIES_PER_CALL = 16  # measured: one call for 16 queries is faster, though 15/16 of it is unused


@dataclass(frozen=True)
class TwoStages:
    """Two-stage `distance` for `retrieval` and `nearest_entries` (Monteiro2020, Eq. 6).

    The candidates of a query are its nearest entries by a cheap distance, ties by index. They rank
    first, in the order of the learned similarity; the others follow in the order of the cheap
    distance. With as many candidates as entries this is the ranking by the similarity. The query
    itself is never a candidate.

    Args:
        similarity: Function `S(queries, entries) -> (n, m)` of embeddings, higher is more similar,
            such as `PrototypicalClassifier.similarity`.
        candidates: Number of entries that the similarity ranks, at least 1; all entries if larger.
        distance: Cheap distance, see `retrieval`, but not `"precomputed"`.

    Raises:
        TypeError: If `similarity` is not callable, or `candidates` is not an integer.
        ValueError: If `candidates` is below 1, or `distance` is `"precomputed"` or `TwoStages`.

    >>> inner = TwoStages(lambda x, y: x @ y.T, candidates=2, distance="euclidean")
    >>> points = np.array([[0.0], [1.0], [3.0], [9.0]])
    >>> keras_dml.evaluation.nearest_entries(points, distance=inner, k=3).tolist()
    [[1, 2, 3], [2, 0, 3], [1, 0, 3], [2, 1, 0]]
    """

    similarity: Callable
    candidates: int = 100
    distance: str | Callable = "cosine"

    def __post_init__(self):
        if not callable(self.similarity):
            raise TypeError(
                "`similarity` must be a function S(x, y) of embeddings, as `model.similarity`. "
                f"Received {type(self.similarity).__name__}."
            )
        if operator.index(self.candidates) < 1:
            raise ValueError(f"`candidates` must be at least 1. Received {self.candidates}.")
        if self.distance == PRECOMPUTED or isinstance(self.distance, TwoStages):
            raise ValueError(
                "The first stage needs a distance of embeddings, a name or a callable. Received "
                f"{self.distance!r}."
            )


def second_stage(embeddings, gallery, stages, within):
    """Function that reranks a block of first-stage distances by the similarity.

    Args:
        embeddings: Queries, shape `(queries, ...)`.
        gallery: Entries, shape `(entries, ...)`. Equal ones are compared once, so that they tie.
        stages: `TwoStages`.
        within: Whether query i is entry i.

    Returns:
        Function of `(block, wanted, start)` that yields the same as `ranked_entries`.
    """
    entries, copies = distinct(gallery)
    copies = np.arange(len(gallery)) if copies is None else copies
    top = min(stages.candidates, len(gallery) - within)

    def stage(block, wanted, start):
        queries = [query for query in range(start, start + len(block)) if wanted[query]]
        for first in range(0, len(queries), QUERIES_PER_CALL):
            group = queries[first : first + QUERIES_PER_CALL]
            orders = [in_order(block[query - start], max(top, wanted[query])) for query in group]
            candidates = np.sort([order[:top] for order in orders])  # by index
            far = -_of_candidates(stages.similarity, embeddings[group], entries, copies[candidates])
            for query, order, near, values in zip(group, orders, candidates, far, strict=True):
                again = np.argsort(values, kind="stable")
                rest = order[top:]
                starts = top + group_starts(block[query - start][rest])
                yield (
                    query,
                    np.concatenate([near[again], rest]),
                    np.concatenate([group_starts(values[again]), starts]),
                )

    return stage


def _of_candidates(similarity, queries, entries, candidates):
    """Similarities of each query to its own candidates, shape `(queries, candidates)`.

    The candidates of all queries are compared at once, padded to a power of two, so that a compiled
    similarity sees few shapes.
    """
    needed, positions = np.unique(candidates, return_inverse=True)
    filled = np.resize(needed, min(len(entries), 1 << (len(needed) - 1).bit_length()))
    values = pairwise_values("similarity", similarity, queries, entries[filled])
    check_finite("similarities", values)
    return np.take_along_axis(values, positions.reshape(candidates.shape), axis=1)
