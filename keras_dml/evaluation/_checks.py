"""What every figure asks of its scores, said once."""

from __future__ import annotations

import numpy as np


def check_finite(name, values):
    """Raise if `values` holds NaN or infinity, with the count and the place of the first."""
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"`{name}` must be finite. Received {int(bad.sum())} NaN or infinite of {bad.size} "
            f"values, the first at index {first}. A NaN score usually comes from a recording with "
            "NaN in it: find and drop that recording before scoring."
        )


def check_trials(scores, genuine):
    """Verification trials as two flat arrays.

    Args:
        scores: Distances of the trials, any shape.
        genuine: Booleans of the same shape, True where probe and claim are one person.

    Returns:
        `(scores, genuine)`: float64 and bool, both of shape `(trials,)`.

    Raises:
        TypeError: `genuine` is not boolean.
        ValueError: Shapes differ, a score is not finite, or one kind of trial is missing.
    """
    scores, genuine = np.asarray(scores, np.float64), np.asarray(genuine)
    if genuine.dtype != bool:
        raise TypeError(
            "`genuine` must be boolean, True where probe and claim are the same person. Received "
            f"dtype {genuine.dtype}. Make it by comparing ids: `probe_ids == claimed_ids`."
        )
    if scores.shape != genuine.shape:
        raise ValueError(
            "`scores` and `genuine` must have the same shape, one entry a trial. Received shapes "
            f"{scores.shape} and {genuine.shape}."
        )
    check_finite("scores", scores)
    count, imposter = int(genuine.sum()), int(genuine.size - genuine.sum())
    if count == 0 or imposter == 0:
        raise ValueError(
            "Error rates need genuine and imposter trials, at least one of each. Received "
            f"{count} genuine and {imposter} imposter trials. Score probes against the same "
            "person and against other people."
        )
    return scores.ravel(), genuine.ravel()


def check_embeddings(embeddings, gallery):
    """Raise unless two sets of embeddings (the second may be None) are finite and of one shape."""
    for name, values in (("embeddings", embeddings), ("gallery", gallery)):
        if values is not None:
            check_finite(name, values)
    if gallery is not None and gallery.shape[1:] != embeddings.shape[1:]:
        raise ValueError(
            "`embeddings` and `gallery` must come from one model. Received shapes "
            f"{embeddings.shape} and {gallery.shape}."
        )


def check_table(distances, probe_ids, gallery_ids):
    """A table of distances, probes in rows and gallery entries in columns, with their ids.

    Returns:
        `(distances, probe_ids, gallery_ids)` as arrays `(probes, entries)`, `(probes,)`,
        `(entries,)`.

    Raises:
        ValueError: The shapes do not fit together, a distance is not finite, or the table is empty.
    """
    distances = np.asarray(distances, np.float64)
    probe_ids, gallery_ids = np.asarray(probe_ids), np.asarray(gallery_ids)
    expected = (probe_ids.size, gallery_ids.size)
    if probe_ids.ndim != 1 or gallery_ids.ndim != 1 or distances.shape != expected:
        raise ValueError(
            "`distances` must have shape (probes, gallery entries), with one id for each row and "
            f"each column. Received distances of shape {distances.shape}, `probe_ids` of shape "
            f"{probe_ids.shape} and `gallery_ids` of shape {gallery_ids.shape}."
        )
    if distances.size == 0:
        raise ValueError(
            f"`distances` must hold at least one probe and one gallery entry. Received {expected}."
        )
    check_finite("distances", distances)
    return distances, probe_ids, gallery_ids
