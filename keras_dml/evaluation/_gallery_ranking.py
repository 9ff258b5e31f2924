"""Rankings of a gallery, in one stage or two, computed in blocks of queries."""

from __future__ import annotations

import numpy as np

from keras_dml.evaluation._checks import check_finite
from keras_dml.evaluation._distance_matrix import PRECOMPUTED, distance_matrix_rows
from keras_dml.evaluation._ranking import group_starts, in_order
from keras_dml.evaluation._reranking import TwoStages, second_stage


def ranked_entries(embeddings, gallery, distance, wanted, *, within, max_bytes):
    """Ranks the entries of a gallery for each query.

    Args:
        embeddings: Checked queries, shape `(queries, ...)`; for `"precomputed"` their distances.
        gallery: Checked entries, shape `(entries, ...)`; None where the queries are the entries.
        distance: See `retrieval`.
        wanted: Number of ranks needed by each query, shape `(queries,)`; 0 leaves the query out.
        within: Whether query i is entry i, which is then left out of its ranking.
        max_bytes: Memory for a block of distances.

    Yields:
        `(query, entries, starts)`: indices of the entries at the wanted ranks and of those tied
        with the last of them, shape `(ranks,)`, ties by index; and the first rank, counted from 0,
        of each group of tied entries, shape `(groups,)`.
    """
    gallery = embeddings if gallery is None else gallery
    two = isinstance(distance, TwoStages)
    rows_of = distance_matrix_rows(embeddings, gallery, distance.distance if two else distance)
    stage = second_stage(embeddings, gallery, distance, within) if two else first_stage
    precomputed = isinstance(distance, str) and distance == PRECOMPUTED
    entries = embeddings.shape[1] if precomputed else len(gallery)
    rows = max(1, int(max_bytes // (2 * 8 * entries)))  # a block and its temporary
    for start in range(0, len(wanted), rows):
        block = rows_of(slice(start, start + rows))  # (rows, entries) float64
        check_finite("distances", block)
        if within:
            np.fill_diagonal(block[:, start:], np.inf)
        yield from stage(block, wanted, start)


def first_stage(block, wanted, start):
    """Ranks by the distances of a block, whose first row is that of query `start`."""
    for query, distances in enumerate(block, start):
        if wanted[query]:
            entries = in_order(distances, wanted[query])
            yield query, entries, group_starts(distances[entries])
