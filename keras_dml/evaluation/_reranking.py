"""Search in two stages: a cheap distance finds candidates, a learned similarity orders them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keras_dml.evaluation._checks import check_finite
from keras_dml.evaluation._ranking import group_starts, in_order
from keras_dml.evaluation._tables import PRECOMPUTED, distinct, values_of_pairs

TOGETHER = 16  # queries in one call: a sixteenth of its values are wanted, yet calls take longer


@dataclass(frozen=True)
class TwoStages:
    """A `distance` for `retrieval` and `nearest_entries` that looks twice (Monteiro2020, Eq. 6).

    The candidates of a query are its nearest entries by a cheap distance, ties by index. They come
    first, in the order of the learned similarity; the others follow in the order of the cheap
    distance. With as many candidates as entries this is the ranking by the similarity. The query
    itself takes no candidate's place.

    Args:
        similarity: `S(x, y) -> (n, m)` of embeddings, large is alike, the query first: as
            `PrototypicalClassifier.similarity`.
        candidates: Entries that the similarity looks at, at least 1. More than there are is all.
        distance: The cheap distance, as `retrieval` takes it, but no table.

    Raises:
        TypeError: `similarity` is no function, or `candidates` no integer.
        ValueError: No candidates, or `distance` is `"precomputed"` or itself in two stages.

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
    """A function that ranks a block of first-stage distances by the similarity.

    Args:
        embeddings: Queries, shape `(queries, ...)`.
        gallery: Entries, shape `(entries, ...)`. Equal ones are looked at once, so that they tie.
        stages: `TwoStages`.
        within: Whether query i is entry i.

    Returns:
        Function of `(block, wanted, start)`, which yields what `places` does.
    """
    entries, copies = distinct(gallery)
    copies = np.arange(len(gallery)) if copies is None else copies
    top = min(stages.candidates, len(gallery) - within)

    def stage(block, wanted, start):
        queries = [query for query in range(start, start + len(block)) if wanted[query]]
        for group in (queries[i : i + TOGETHER] for i in range(0, len(queries), TOGETHER)):
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

    The candidates of all are looked at together, filled up to a power of two, so that a compiled
    similarity meets few shapes.
    """
    needed, places = np.unique(candidates, return_inverse=True)
    filled = np.resize(needed, min(len(entries), 1 << (len(needed) - 1).bit_length()))
    values = values_of_pairs("similarity", similarity, queries, entries[filled])
    check_finite("similarities", values)
    return np.take_along_axis(values, places.reshape(candidates.shape), axis=1)
