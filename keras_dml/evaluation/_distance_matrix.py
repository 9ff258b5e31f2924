"""Distance matrices of queries and gallery entries, in which equal entries have equal distances."""

from __future__ import annotations

import numpy as np

PRECOMPUTED = "precomputed"


def distance_matrix_rows(embeddings, gallery, distance):
    """Prepares to compute the distance matrix of queries and gallery a few rows at a time.

    Entries that are equal bit for bit are computed once and copied: a matrix product may round the
    same sum differently in different columns, which would break ties.

    Args:
        embeddings: Queries, shape `(queries, ...)`; for `"precomputed"` the distance matrix itself.
        gallery: Entries, shape `(entries, ...)`.
        distance: Name or callable, see `retrieval`.

    Returns:
        Function from a slice of the queries to a new float64 array of shape `(rows, entries)`. Its
        values rank the entries in the same order as the distance, but need not be distances.
    """
    if isinstance(distance, str) and distance == PRECOMPUTED:
        return lambda rows: np.array(embeddings[rows], np.float64)
    gallery, copies = distinct(np.asarray(gallery))
    distinct_rows = _rows_of_distinct(embeddings, gallery, distance)
    return distinct_rows if copies is None else lambda rows: distinct_rows(rows)[:, copies]


def distinct(gallery):
    """Returns the distinct entries, and the index of each entry among them.

    The index is None if all entries differ.
    """
    flat = np.ascontiguousarray(gallery.reshape(len(gallery), -1) + 0.0)  # -0.0 is 0.0
    rows = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1])))[:, 0]
    _, first, copies = np.unique(rows, return_index=True, return_inverse=True)
    return (gallery, None) if len(first) == len(gallery) else (gallery[first], copies)


def _rows_of_distinct(embeddings, gallery, distance):
    from keras_dml import distances  # loads Keras

    by_name = isinstance(distance, str)
    distance = distances.get(distance)
    if by_name and embeddings.ndim != distance.rank:
        raise ValueError(
            f'`distance="{distance.name}"` takes {distance.embeddings}. Received embeddings of '
            f"shape {embeddings.shape}. For other embeddings pass the model's distance, "
            "`model.layers[-1].distance`."
        )
    ranking = distance.ranking(gallery) if by_name else None
    if ranking is None:
        return lambda rows: pairwise_values("distance", distance, embeddings[rows], gallery)
    return lambda rows: ranking(embeddings[rows])


def pairwise_values(name, function, x, y):
    """Computes a distance or similarity for all pairs, float64 of shape `(n, m)`.

    Args:
        name: Name of the function in error messages.
        function: Function of `x` and `y`.
        x: Embeddings, shape `(n, ...)`.
        y: Embeddings, shape `(m, ...)`.

    Raises:
        ValueError: If the values have another shape.
    """
    values = np.array(function(x, y), np.float64)
    if values.shape != (len(x), len(y)):
        raise ValueError(
            f"`{name}` must give one value for each pair, here {(len(x), len(y))}. "
            f"Received shape {values.shape}."
        )
    return values
