"""Computes distance matrices. The columns of equal gallery entries are always equal."""

from __future__ import annotations

import numpy as np

PRECOMPUTED = "precomputed"


def distance_matrix_rows(embeddings, gallery, distance):
    """Returns a function that computes chosen rows of the distance matrix between queries and
    gallery.

    If gallery entries are equal bit for bit, their distances are computed once and copied. If the
    distances were computed separately, equal entries could have different distances, because a
    matrix product may round the same sum differently in different columns.

    Args:
        embeddings: Queries, shape `(queries, ...)`. If `distance` is `"precomputed"`, `embeddings`
            is the distance matrix.
        gallery: Entries, shape `(entries, ...)`.
        distance: Name or callable, see `retrieval`.

    Returns:
        Function that takes a slice of the queries and returns a new float64 array of shape
        `(rows, entries)`. The values are the distances or an increasing function of the distances,
        such as their squares, so they rank the entries in the same order.
    """
    if isinstance(distance, str) and distance == PRECOMPUTED:
        return lambda rows: np.array(embeddings[rows], np.float64)
    gallery, copies = distinct(np.asarray(gallery))
    distinct_rows = _rows_of_distinct(embeddings, gallery, distance)
    return distinct_rows if copies is None else lambda rows: distinct_rows(rows)[:, copies]


def distinct(gallery):
    """Removes repeated entries.

    Returns:
        Distinct entries, and the position of each original entry among the distinct entries. If all
        entries differ, the second result is None.
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
            f"{distance.embeddings}. For other embeddings, pass the model's distance, "
            "`model.layers[-1].distance`."
        )
    ranking = distance.ranking(gallery) if by_name else None
    if ranking is None:
        return lambda rows: pairwise_values("distance", distance, embeddings[rows], gallery)
    return lambda rows: ranking(embeddings[rows])


def pairwise_values(name, function, x, y):
    """Computes a distance or a similarity between each row of `x` and each row of `y`.

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
            f"`{name}` must return one value for each pair, here an array of shape "
            f"{(len(x), len(y))}. Received shape {values.shape}."
        )
    return values
