"""Distances of a block of queries to a whole gallery, so that equal entries are exactly as far."""

from __future__ import annotations

import numpy as np

PRECOMPUTED = "precomputed"


def table_of_distances(embeddings, gallery, distance):
    """A function from a slice of the queries to their distances.

    Entries that are equal bit for bit are computed once and copied: the kernels of a matrix
    product may round the same sum differently in different columns, which would break ties.

    Args:
        embeddings: Queries, shape `(queries, ...)`; for `"precomputed"` the table itself.
        gallery: Entries, shape `(entries, ...)`.
        distance: A name or a callable, as `retrieval` takes it.

    Returns:
        Function from a slice to float64 of shape `(rows, entries)`, which may be written to. What
        it gives ranks entries as the distance does; it need not be the distance.
    """
    if isinstance(distance, str) and distance == PRECOMPUTED:
        return lambda rows: np.array(embeddings[rows], np.float64)
    gallery, copies = distinct(np.asarray(gallery))
    table = _table(embeddings, gallery, distance)
    return table if copies is None else lambda rows: table(rows)[:, copies]


def distinct(gallery):
    """The different entries, and the place of each entry among them; None where all differ."""
    flat = np.ascontiguousarray(gallery.reshape(len(gallery), -1) + 0.0)  # -0.0 is 0.0
    rows = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1])))[:, 0]
    _, first, copies = np.unique(rows, return_index=True, return_inverse=True)
    return (gallery, None) if len(first) == len(gallery) else (gallery[first], copies)


def _table(embeddings, gallery, distance):
    from keras_dml import distances  # loads Keras

    by_name = isinstance(distance, str)
    distance = distances.get(distance)
    if by_name and embeddings.ndim != distance.rank:
        raise ValueError(
            f'`distance="{distance.name}"` is one of {distance.embeddings}. Received embeddings of '
            f"shape {embeddings.shape}. For other embeddings give the model's distance, "
            "`model.layers[-1].distance`."
        )
    ranking = distance.ranking(gallery) if by_name else None
    if ranking is None:
        return lambda rows: values_of_pairs("distance", distance, embeddings[rows], gallery)
    return lambda rows: ranking(embeddings[rows])


def values_of_pairs(name, function, x, y):
    """What a distance or a similarity gives for all pairs, float64 of shape `(n, m)`.

    Raises:
        ValueError: It gives another shape; the message calls it `name`.
    """
    values = np.array(function(x, y), np.float64)
    if values.shape != (len(x), len(y)):
        raise ValueError(
            f"`{name}` must give one value for each pair, here {(len(x), len(y))}. "
            f"Received shape {values.shape}."
        )
    return values
