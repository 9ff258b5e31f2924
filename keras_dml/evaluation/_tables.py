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
    make = _by_formula if isinstance(distance, str) and distance in _FORMULAS else _by_callable
    table = make(embeddings, gallery, distance)
    return table if copies is None else lambda rows: table(rows)[:, copies]


def distinct(gallery):
    """The different entries, and the place of each entry among them; None where all differ."""
    flat = np.ascontiguousarray(gallery.reshape(len(gallery), -1) + 0.0)  # -0.0 is 0.0
    rows = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1])))[:, 0]
    _, first, copies = np.unique(rows, return_index=True, return_inverse=True)
    return (gallery, None) if len(first) == len(gallery) else (gallery[first], copies)


def _by_formula(embeddings, gallery, distance):
    if embeddings.ndim != 2:
        raise ValueError(
            f'`distance="{distance}"` is one of vectors, shape (n, features). Received embeddings '
            f"of shape {embeddings.shape}. For other embeddings give the model's distance, "
            "`model.layers[-1].distance`."
        )
    return _FORMULAS[distance](embeddings, gallery)


def _euclidean(embeddings, gallery):
    """|y|^2 - 2 x.y, the squared distance but for |x|^2, which is the same for all entries."""
    origin = gallery[:1].astype(np.float64)  # one of the points: no digits lost on a common offset
    entries = gallery - origin
    squares = np.einsum("nd,nd->n", entries, entries)
    entries *= 2.0

    def table(rows):
        product = (embeddings[rows] - origin) @ entries.T
        return np.subtract(squares, product, out=product)

    return table


def _cosine(embeddings, gallery):
    entries = _unit(gallery).T
    return lambda rows: -_unit(embeddings[rows]) @ entries


def _unit(x):
    """Vectors of length 1 in float64; a zero vector stays zero."""
    x = x.astype(np.float64)
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.where(lengths > 0, lengths, 1.0)


_FORMULAS = {"euclidean": _euclidean, "cosine": _cosine}


def _by_callable(embeddings, gallery, distance):
    if not callable(distance):
        from keras_dml import distances  # loads Keras

        distance = distances.get(distance)
    return lambda rows: values_of_pairs("distance", distance, embeddings[rows], gallery)


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
