"""Computes distance matrices in which equal gallery entries have equal columns."""

from __future__ import annotations

import numpy as np

PRECOMPUTED = "precomputed"


def distance_matrix_rows(embeddings, gallery, distance):
    """Returns a function that computes some rows of the distance matrix of queries and gallery.

    The distances to entries that are equal bit for bit are computed once and copied. A matrix
    product may round the same sum differently in different columns, and equal entries would then
    have different distances.

    Args:
        embeddings: Queries, shape `(queries, ...)`. If `distance` is `"precomputed"`, the distance
            matrix itself.
        gallery: Entries, shape `(entries, ...)`.
        distance: Name or callable, see `retrieval`.

    Returns:
        Function from a slice of the queries to a new float64 array of shape `(rows, entries)`. The
        values rank the entries in the same order as the distance. They may be another increasing
        function of the distance, such as its square.
    """
    if isinstance(distance, str) and distance == PRECOMPUTED:
        return lambda rows: np.array(embeddings[rows], np.float64)
    gallery, copies = distinct(np.asarray(gallery))
    distinct_rows = _rows_of_distinct(embeddings, gallery, distance)
    return distinct_rows if copies is None else lambda rows: distinct_rows(rows)[:, copies]


def distinct(gallery):
    """Removes repeated entries.

    Returns:
        Distinct entries, and the position of each original entry among the distinct entries. The
        positions are None if all entries differ.
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
            f'Received embeddings of shape {embeddings.shape}. `distance="{distance.name}"` takes '
            f"{distance.embeddings}. For other embeddings pass the model's distance, "
            "`model.layers[-1].distance`."
        )
    ranking = distance.ranking(gallery) if by_name else None
    if ranking is None:
        return lambda rows: pairwise_values("distance", distance, embeddings[rows], gallery)
    return lambda rows: ranking(embeddings[rows])


def pairwise_values(name, function, x, y):
    """Computes a distance or a similarity of each row of `x` and each row of `y`.

    Args:
        name: Name of the function in error messages.
        function: Function of `x` and `y` that returns an array of shape `(n, m)`.
        x: Embeddings, shape `(n, ...)`.
        y: Embeddings, shape `(m, ...)`.

    Returns:
        Values, float64 of shape `(n, m)`.

    Raises:
        ValueError: If `function` returns an array of another shape.
    """
    values = np.array(function(x, y), np.float64)
    if values.shape != (len(x), len(y)):
        raise ValueError(
            f"`{name}` must give one value for each pair, here shape {(len(x), len(y))}. Received "
            f"shape {values.shape}."
        )
    return values
