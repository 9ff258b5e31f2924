"""Checks of scores, distances and ids that all figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from keras_dml._arrays import real, refuse_masked
from keras_dml._typing import ArrayLike

PeopleOfTrials: TypeAlias = Sequence[ArrayLike]
"""`(probe_ids, claimed_ids)`: both people of each trial, broadcast to the shape of the scores."""


def check_finite(name, values):
    """Checks that all values are finite; the error names the index of the first bad value."""
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"`{name}` must be finite. Received {int(bad.sum())} NaN or infinite of {bad.size} "
            f"values, the first at index {first}. A NaN score usually comes from a recording with "
            "NaN in it: find and drop that recording before scoring."
        )


def ids(name, values):
    """Converts names of people, classes or clusters to an array of numbers, strings or bytes.

    Args:
        name: Name of the argument in error messages.
        values: The names, any shape.

    Raises:
        TypeError: If the names are masked, dates, structured or complex, or if they are of
            different kinds, which NumPy would turn into strings.
        ValueError: If a name is NaN.
    """
    refuse_masked(name, values)
    array = np.asarray(values)
    if array.dtype == object:  # dtype of strings in pandas
        array = np.asarray(array.tolist())
    if array.dtype.kind in "US" and not hasattr(values, "dtype"):
        kinds = {type(value).__name__ for value in np.asarray(values, object).ravel()}
        if len(kinds) > 1:
            raise TypeError(
                f"{name} must hold names of one kind. Received: {', '.join(sorted(kinds))}. Turn "
                "them into strings first."
            )
    if array.dtype.kind not in "biufUST":
        raise TypeError(
            f"{name} must hold integers, strings or bytes. Received dtype {array.dtype}. "
            "`numpy.unique(names, return_inverse=True)` turns sortable names into integers."
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{name} must name each example. Received NaN for some of them.")
    return array


def check_trials(scores, genuine):
    """Checks verification trials and flattens them.

    Args:
        scores: Distances of the trials, any shape.
        genuine: Booleans of the same shape, True if probe and claim are one person.

    Returns:
        `(scores, genuine)`: float64 and bool, both of shape `(trials,)`.

    Raises:
        TypeError: If `genuine` is not boolean, or the scores are not real numbers.
        ValueError: If shapes differ, a score is not finite, or one kind of trial is missing.
    """
    scores = real("`scores`", scores, np.float64)
    genuine = real("`genuine`", genuine)
    if genuine.dtype != bool:
        raise TypeError(
            "`genuine` must be boolean, True if probe and claim are the same person. Received "
            f"dtype {genuine.dtype}. Compare ids: `probe_ids == claimed_ids`."
        )
    if scores.shape != genuine.shape:
        raise ValueError(
            "`scores` and `genuine` must have the same shape, one entry for each trial. Received "
            f"shapes {scores.shape} and {genuine.shape}."
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
    """Checks that embeddings and a gallery (or None) are finite and have rows of one shape."""
    for name, values in (("embeddings", embeddings), ("gallery", gallery)):
        if values is not None:
            check_finite(name, values)
    if gallery is not None and gallery.shape[1:] != embeddings.shape[1:]:
        raise ValueError(
            "`embeddings` and `gallery` must come from one model. Received shapes "
            f"{embeddings.shape} and {gallery.shape}."
        )


def check_distance_matrix(distances, probe_ids, gallery_ids):
    """Checks a distance matrix and the ids of its rows and columns.

    Args:
        distances: Distances, probes in rows and gallery entries in columns.
        probe_ids: Person of each row.
        gallery_ids: Person of each column.

    Returns:
        `(distances, probe_ids, gallery_ids)` as arrays `(probes, entries)`, `(probes,)`,
        `(entries,)`.

    Raises:
        TypeError: If the distances are not real numbers, or the ids are invalid, see `ids`.
        ValueError: If the shapes do not fit together, a distance is not finite, or the matrix is
            empty.
    """
    distances = real("`distances`", distances, np.float64)
    probe_ids, gallery_ids = ids("`probe_ids`", probe_ids), ids("`gallery_ids`", gallery_ids)
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


def ids_of_trials(people, shape):
    """Returns the names of the two people of each trial as flat arrays.

    Args:
        people: `(probe_ids, claimed_ids)`.
        shape: Shape of the scores before they are flattened, to which the ids broadcast.

    Returns:
        `(probe_ids, claimed_ids)`, both of shape `(trials,)`.

    Raises:
        TypeError: If the ids are invalid, see `ids`.
        ValueError: If `people` is not a pair, the ids are invalid, or they do not broadcast.
    """
    if not hasattr(people, "__len__") or len(people) != 2:
        received = f"{len(people)} entries" if hasattr(people, "__len__") else repr(people)
        raise ValueError(
            f"`people` must be the pair (probe_ids, claimed_ids). Received {received}."
        )
    pair = [ids("`people`", entry) for entry in people]
    try:
        probe, claimed = (np.broadcast_to(entry, shape).ravel() for entry in pair)
    except ValueError:
        raise ValueError(
            "`people` must hold the two people of each trial, of shapes that broadcast to the "
            f"shape of `scores`, {shape}. Received {pair[0].shape} and {pair[1].shape}. For a "
            "matrix of probes by claims pass `(probe_ids[:, None], claimed_ids[None, :])`."
        ) from None
    return probe, claimed


def person_codes(people, genuine, shape):
    """Returns the two people of each trial as integers 0, 1, ..., each of shape `(trials,)`.

    Args:
        people: `(probe_ids, claimed_ids)`; for None the result is None.
        genuine: Checked booleans, shape `(trials,)`.
        shape: Shape of the scores before they are flattened, to which the ids broadcast.
    """
    if people is None:
        return None
    probe, claimed = ids_of_trials(people, shape)
    contradictions = int(((probe == claimed) != genuine).sum())
    if contradictions:
        raise ValueError(
            "`genuine` must be True exactly where the two `people` of a trial are the same. They "
            f"disagree in {contradictions:,} of {genuine.size:,} trials."
        )
    codes = np.unique(np.concatenate([probe, claimed]), return_inverse=True)[1]
    return codes[: probe.size], codes[probe.size :]
