"""The nearest gallery entries of each query."""

from __future__ import annotations

import numpy as np

from keras_dml._arrays import real, whole
from keras_dml.evaluation._checks import check_embeddings
from keras_dml.evaluation._distance_matrix import PRECOMPUTED
from keras_dml.evaluation._gallery_ranking import ranked_entries


def nearest_entries(embeddings, *, gallery=None, distance="euclidean", k=10, max_bytes=128 * 2**20):
    """The k nearest entries of a gallery for each query (Monteiro2020, Eq. 6), ties by index.

    The search is exact: it compares every entry, with `TwoStages` by the cheap distance. For
    figures of the ranking use `retrieval`.

    Args:
        embeddings: Queries, shape `(queries, features)`, or of any shape that `distance` takes.
        gallery: Entries, shape `(entries, ...)`. Without it the queries are the gallery, and no
            query finds itself, by its index and not by its distance.
        distance: See `retrieval`; with `"precomputed"` `embeddings` is the square distance matrix
            of the queries among themselves.
        k: Number of entries, at most those other than the query.
        max_bytes: Memory for a block of distances; at least one row is computed at a time.

    Returns:
        Indices of entries, nearest first, int64 of shape `(queries, k)`.

    Raises:
        ValueError: Shapes do not fit together, a value or a distance is not finite, or `k` is
            beyond the gallery.

    >>> nearest_entries(np.array([[0.0], [1.0], [3.0]]), k=2).tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    embeddings = real("`embeddings`", embeddings)
    gallery = None if gallery is None else real("`gallery`", gallery)
    entries, within = embeddings if gallery is None else gallery, gallery is None
    if min(embeddings.ndim, entries.ndim) < 2 or not embeddings.size or not entries.size:
        raise ValueError(
            "`embeddings` and `gallery` must hold embeddings, shape (n, ...), at least one. "
            f"Received shapes {embeddings.shape} and {entries.shape}."
        )
    if isinstance(distance, str) and distance == PRECOMPUTED:
        if not within or embeddings.shape != (len(embeddings), len(embeddings)):
            raise ValueError(
                'With `distance="precomputed"` the square distance matrix takes the place of '
                f"`embeddings`, and there is no `gallery`. Received shape {embeddings.shape}."
            )
    check_embeddings(embeddings, gallery)
    k = whole("k", k, minimum=0)
    if not 1 <= k <= len(entries) - within:
        raise ValueError(
            f"`k` must be from 1 to {len(entries) - within:,}, the number of entries a query is "
            f"compared with. Received {k!r}."
        )
    found = np.empty((len(embeddings), k), np.int64)
    wanted = np.full(len(embeddings), k)
    for query, order, _ in ranked_entries(
        embeddings, gallery, distance, wanted, within=within, max_bytes=max_bytes
    ):
        found[query] = order[:k]
    return found
