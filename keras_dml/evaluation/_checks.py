"""Checks scores, distances and ids for all functions of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from keras_dml._arrays import real, refuse_masked
from keras_dml._typing import ArrayLike

PeopleOfTrials: TypeAlias = Sequence[ArrayLike]
"""Tuple `(probe_ids, claimed_ids)` with the ids of the two people in each trial. The shape of each
array must broadcast to the shape of the scores."""


def check_finite(name, values):
    """Raises ValueError if a value is not finite. The error message contains the index of this
    value."""
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"`{name}` must be finite. {int(bad.sum())} of {bad.size} values are NaN or infinite, "
            f"the first at index {first}. A NaN score usually comes from a recording that contains "
            "NaN. Drop this recording before scoring."
        )


def ids(name, values):
    """Converts ids of people, classes or clusters to an array of numbers, strings or bytes.

    Args:
        name: Name of the argument in error messages.
        values: Ids, any shape.

    Raises:
        TypeError: If the ids are a masked array, dates, structured values or complex numbers, or if
            they mix types such as numbers and strings. NumPy would convert mixed ids to strings.
        ValueError: If an id is NaN.
    """
    refuse_masked(name, values)
    array = np.asarray(values)
    if array.dtype == object:  # dtype of strings in pandas
        array = np.asarray(array.tolist())
    if array.dtype.kind in "US" and not hasattr(values, "dtype"):
        kinds = {type(value).__name__ for value in np.asarray(values, object).ravel()}
        if len(kinds) > 1:
            raise TypeError(
                f"Received {name} with values of the types {', '.join(sorted(kinds))}. All values "
                "must have one type. Convert them to strings first."
            )
    if array.dtype.kind not in "biufUST":
        raise TypeError(
            f"Received {name} of dtype {array.dtype}. Expected integers, strings or bytes. "
            "`numpy.unique(ids, return_inverse=True)` converts sortable ids to integers."
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(
            f"Received {name} with NaN. Each example needs an id. Drop the examples without an id, "
            "or replace NaN by an id."
        )
    return array


def check_trials(scores, genuine):
    """Checks verification trials and flattens them.

    Args:
        scores: Distances of the trials, any shape.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.

    Returns:
        Tuple `(scores, genuine)` of a float64 array and a boolean array, both of shape `(trials,)`.

    Raises:
        TypeError: If `genuine` is not boolean, or if the scores are not real numbers.
        ValueError: If the shapes of `scores` and `genuine` differ, if a score is not finite, or if
            genuine trials or imposter trials are missing.
    """
    scores = real("`scores`", scores, np.float64)
    genuine = real("`genuine`", genuine)
    if genuine.dtype != bool:
        raise TypeError(
            f"Received `genuine` of dtype {genuine.dtype}. Expected booleans, True if probe and "
            "claim are the same person. Compare ids: `probe_ids == claimed_ids`."
        )
    if scores.shape != genuine.shape:
        raise ValueError(
            f"Received `scores` of shape {scores.shape} and `genuine` of shape {genuine.shape}. "
            "Expected equal shapes. Pass one score and one boolean for each trial."
        )
    check_finite("scores", scores)
    count, imposter = int(genuine.sum()), int(genuine.size - genuine.sum())
    if count == 0 or imposter == 0:
        raise ValueError(
            f"Received {count} genuine and {imposter} imposter trials. Error rates need at least "
            "one trial of each kind. Compare probes with recordings of the same person and with "
            "recordings of other people."
        )
    return scores.ravel(), genuine.ravel()


def check_embeddings(embeddings, gallery):
    """Checks that `embeddings` and `gallery` are finite and have rows of the same shape.

    `gallery` may be None.
    """
    for name, values in (("embeddings", embeddings), ("gallery", gallery)):
        if values is not None:
            check_finite(name, values)
    if gallery is not None and gallery.shape[1:] != embeddings.shape[1:]:
        raise ValueError(
            f"Received `embeddings` of shape {embeddings.shape} and `gallery` of shape "
            f"{gallery.shape}. Their rows must have the same shape, so `embeddings` and `gallery` "
            "must come from one model."
        )


def check_distance_matrix(distances, probe_ids, gallery_ids):
    """Checks a distance matrix, the ids of its rows and the ids of its columns.

    Args:
        distances: Distances, shape `(probes, entries)`.
        probe_ids: Id of the person in each row.
        gallery_ids: Id of the person in each column.

    Returns:
        Tuple `(distances, probe_ids, gallery_ids)` of arrays `(probes, entries)`, `(probes,)`,
        `(entries,)`.

    Raises:
        TypeError: If the distances are not real numbers, or if the ids are invalid (see `ids`).
        ValueError: If the number of probe ids or of gallery ids does not match the shape of the
            matrix, if a distance is not finite, or if the matrix is empty.
    """
    distances = real("`distances`", distances, np.float64)
    probe_ids, gallery_ids = ids("`probe_ids`", probe_ids), ids("`gallery_ids`", gallery_ids)
    expected = (probe_ids.size, gallery_ids.size)
    if probe_ids.ndim != 1 or gallery_ids.ndim != 1 or distances.shape != expected:
        raise ValueError(
            f"Received `distances` of shape {distances.shape}, `probe_ids` of shape "
            f"{probe_ids.shape} and `gallery_ids` of shape {gallery_ids.shape}. Expected "
            "`distances` of shape (probes, gallery entries), with one probe id for each row and "
            "one gallery id for each column."
        )
    if distances.size == 0:
        raise ValueError(
            f"Received `distances` of shape {expected}. Expected at least one probe and one "
            "gallery entry."
        )
    check_finite("distances", distances)
    return distances, probe_ids, gallery_ids


def ids_of_trials(people, shape):
    """Returns the ids of the two people in each trial as flat arrays.

    Args:
        people: Pair `(probe_ids, claimed_ids)` with the ids of the two people in each trial.
        shape: Shape of the scores before flattening, to which the ids are broadcast.

    Returns:
        Tuple `(probe_ids, claimed_ids)` of arrays of shape `(trials,)`.

    Raises:
        TypeError: If the ids are invalid (see `ids`).
        ValueError: If `people` is not a pair, if an id is NaN, or if the ids do not broadcast to
            `shape`.
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
            f"Received `people` of shapes {pair[0].shape} and {pair[1].shape}. Expected shapes "
            f"that broadcast to the shape of `scores`, {shape}. For a score matrix with probes in "
            "rows and claims in columns, pass `(probe_ids[:, None], claimed_ids[None, :])`."
        ) from None
    return probe, claimed


def person_codes(people, genuine, shape):
    """Gives people the codes 0, 1, ... and returns the codes of the two people in each trial.

    Args:
        people: Pair `(probe_ids, claimed_ids)` with the ids of the two people in each trial, or
            None.
        genuine: Booleans that `check_trials` returned, shape `(trials,)`.
        shape: Shape of the scores before flattening, to which the ids are broadcast.

    Returns:
        Tuple `(probe_codes, claimed_codes)` of integer arrays of shape `(trials,)`. None if
        `people` is None.
    """
    if people is None:
        return None
    probe, claimed = ids_of_trials(people, shape)
    contradictions = int(((probe == claimed) != genuine).sum())
    if contradictions:
        raise ValueError(
            f"Received `genuine` and `people` that contradict each other in {contradictions:,} of "
            f"{genuine.size:,} trials. `genuine` must be True exactly if the two `people` of a "
            "trial are the same person. Compute `genuine` by `probe_ids == claimed_ids`."
        )
    codes = np.unique(np.concatenate([probe, claimed]), return_inverse=True)[1]
    return codes[: probe.size], codes[probe.size :]
