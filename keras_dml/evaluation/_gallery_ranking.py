"""The first places of each query's ranking, in one stage or in two, in blocks of queries."""

from __future__ import annotations

import numpy as np

from keras_dml.evaluation._checks import check_finite
from keras_dml.evaluation._ranking import group_starts, in_order
from keras_dml.evaluation._reranking import TwoStages, second_stage
from keras_dml.evaluation._tables import PRECOMPUTED, table_of_distances


def places(embeddings, gallery, distance, wanted, *, within, max_bytes):
    """Ranks the entries of a gallery for each query.

    Args:
        embeddings: Checked queries, shape `(queries, ...)`; for `"precomputed"` their distances.
        gallery: Checked entries, shape `(entries, ...)`; None where the queries are the entries.
        distance: As `retrieval` takes it.
        wanted: Places that each query needs, shape `(queries,)`; one that needs none is left out.
        within: Whether query i is entry i, which it then does not find.
        max_bytes: Memory for a block of distances.

    Yields:
        `(query, entries, starts)`: the entries at the wanted places and those tied with the last of
        them, shape `(places,)`, equally near ones by index; and where each group of equally near
        entries starts, shape `(groups,)`.
    """
    gallery = embeddings if gallery is None else gallery
    two = isinstance(distance, TwoStages)
    table = table_of_distances(embeddings, gallery, distance.distance if two else distance)
    stage = second_stage(embeddings, gallery, distance, within) if two else first_stage
    precomputed = isinstance(distance, str) and distance == PRECOMPUTED
    entries = embeddings.shape[1] if precomputed else len(gallery)
    rows = max(1, int(max_bytes // (2 * 8 * entries)))  # a block and its temporary
    for start in range(0, len(wanted), rows):
        block = table(slice(start, start + rows))  # (rows, entries) float64
        check_finite("distances", block)
        if within:
            np.fill_diagonal(block[:, start:], np.inf)
        yield from stage(block, wanted, start)


def first_stage(block, wanted, start):
    """Places by the distances of a block, whose first row is that of query `start`."""
    for query, distances in enumerate(block, start):
        if wanted[query]:
            entries = in_order(distances, wanted[query])
            yield query, entries, group_starts(distances[entries])
