"""Splits people into training and test sets, and recordings into enrolled and observed recordings.

The splits depend only on labels and a seed, never on distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keras_dml._arrays import refuse_masked, whole
from keras_dml._typing import ArrayLike


class SubjectSplit(NamedTuple):
    """Sets of people for training, validation and test. No person is in two sets.

    Attributes:
        train: Sorted ids of the people in the training set.
        validation: Sorted ids of the people in the validation set.
        test: Sorted ids of the people in the test set.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False)
class Enrollment:
    """Random draw of enrolled and observed recordings.

    Attributes:
        people: Sorted ids of the evaluated people, shape `(people,)`.
        enrolled: Indices of the enrolled recordings, one array for each person.
        observed: Indices of the observed recordings, shape `(people, observed)`. A probe with n
            recordings of a person uses the first n indices in the row of this person.
        left_out: Ids of people with too few recordings.
    """

    people: np.ndarray
    enrolled: tuple[np.ndarray, ...]
    observed: np.ndarray
    left_out: tuple[Any, ...]


def half_up(value: float) -> int:
    """Rounds to the nearest integer, and rounds halves up. For 10.5 the result is 11, while
    Python's `round` returns 10."""
    return math.floor(value + 0.5)


def split_subjects(subjects: ArrayLike, *, seed: int = 0) -> SubjectSplit:
    """Splits people into training, validation and test sets (Abdelwahab2019, section 5.2).

    The test set is half of the people, rounded down. The validation set is a fifth of the remaining
    people, rounded to the nearest integer (2.5 becomes 3). All other people are the training set.

    Args:
        subjects: Ids of people in any order, such as the id of the person in each recording.
            Repeated ids have no effect.
        seed: Seed of the draw.

    Returns:
        `SubjectSplit` of sorted ids.

    Raises:
        ValueError: If there are fewer than two people.

    >>> [len(ids) for ids in split_subjects(range(71))]
    [29, 7, 35]
    """
    people = np.unique(_labels("subjects", subjects))
    if people.size < 2:
        raise ValueError(
            f"Received {people.size} people. Expected at least 2, because training people and test "
            "people must differ."
        )
    shuffled = np.random.default_rng(whole("seed", seed, minimum=0)).permutation(people)
    training = half_up(people.size / 2)
    validation = half_up(0.2 * training)
    parts = np.split(shuffled, [training - validation, training])
    return SubjectSplit(*(np.sort(part) for part in parts))


def random_enrollments(
    subjects: ArrayLike, *, observed: int = 5, repetitions: int = 10, seed: int = 0
) -> list[Enrollment]:
    """Draws `observed` recordings of each person, and enrolls the person's other recordings
    (Abdelwahab2019).

    Args:
        subjects: Id of the person of each recording, shape `(recordings,)`.
        observed: Number of observed recordings per person. People with at most `observed`
            recordings are left out.
        repetitions: Number of draws.
        seed: Seed of the draws. Draw number `r` depends only on `seed` and `r`.

    Returns:
        List of `Enrollment`, one for each repetition.

    Raises:
        ValueError: If `observed` is below 1, or if fewer than two people have enough recordings.
    """
    subjects = _labels("subjects", subjects)
    candidates = {
        person: (np.empty(0, int), np.flatnonzero(subjects == person))
        for person in np.unique(subjects)
    }
    observed = whole("observed", observed, minimum=1)
    need = f"more than {observed} recordings"
    usable = {p: sets for p, sets in candidates.items() if sets[1].size > observed}
    return _draws(usable, candidates, need, observed, repetitions, seed)


def session_enrollments(
    subjects: ArrayLike,
    sessions: ArrayLike,
    *,
    observed: int = 5,
    repetitions: int = 10,
    seed: int = 0,
) -> list[Enrollment]:
    """Enrolls the recordings of earlier sessions, and draws observed recordings from the latest
    session.

    A session is a visit, a day or a block of trials. Recordings of one session share sensor
    placement and clothing, so recognition is too easy if recordings of one session are split at
    random. All recordings of earlier sessions are enrolled. Each repetition draws the observed
    recordings from the latest session. The other recordings of the latest session are not used.

    Args:
        subjects: Id of the person of each recording, shape `(recordings,)`.
        sessions: Session of each recording, shape `(recordings,)`. The sessions are numbers or
            strings that sort chronologically. The order matters only among sessions of the same
            person.
        observed: Number of observed recordings per person. People who have fewer than `observed`
            recordings in the latest session, or only one session, are left out.
        repetitions: Number of draws.
        seed: Seed of the draws. Draw number `r` depends only on `seed` and `r`.

    Returns:
        List of `Enrollment`, one for each repetition.

    Raises:
        ValueError: If shapes differ, if `observed` is below 1, or if fewer than two people remain.
    """
    subjects, sessions = _labels("subjects", subjects), _labels("sessions", sessions)
    if subjects.shape != sessions.shape:
        raise ValueError(
            f"Received `subjects` of shape {subjects.shape} and `sessions` of shape "
            f"{sessions.shape}. Expected one entry for each recording in each array."
        )
    order = np.unique(sessions, return_inverse=True)[1]  # NumPy has no maximum of strings
    candidates = {}
    for person in np.unique(subjects):
        rows = np.flatnonzero(subjects == person)
        latest = order[rows] == order[rows].max()
        candidates[person] = (rows[~latest], rows[latest])
    observed = whole("observed", observed, minimum=1)
    need = f"an earlier session and {observed} recordings in the latest session"
    usable = {
        person: sets
        for person, sets in candidates.items()
        if sets[0].size > 0 and sets[1].size >= observed
    }
    # the rest of the latest session must not be enrolled
    return _draws(usable, candidates, need, observed, repetitions, seed, enroll_rest=False)


def _draws(usable, candidates, need, observed, repetitions, seed, enroll_rest=True):
    repetitions = whole("repetitions", repetitions, minimum=1)
    seed = whole("seed", seed, minimum=0)
    if len(usable) < 2:
        raise ValueError(
            f"{len(usable)} of {len(candidates)} people have {need}. At least 2 such people are "
            "needed. Lower `observed`, or pass more recordings."
        )
    left_out = tuple(person for person in candidates if person not in usable)
    enrollments = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition])
        enrolled, probes = [], []
        for always, pool in usable.values():
            order = rng.permutation(pool)
            probes.append(order[-observed:])
            enrolled.append(np.concatenate([always, order[:-observed]]) if enroll_rest else always)
        enrollments.append(
            Enrollment(np.array(list(usable)), tuple(enrolled), np.stack(probes), left_out)
        )
    return enrollments


def _labels(name, values):
    refuse_masked(f"`{name}`", values)
    labels = np.asarray(values)
    if labels.dtype == object:  # dtype of strings in pandas
        labels = np.asarray(labels.tolist())
    if labels.ndim != 1 or labels.dtype.kind not in "biufUSM":
        raise ValueError(
            f"Received `{name}` of shape {labels.shape} and dtype {labels.dtype}. Expected a flat "
            "list with one number or string for each recording."
        )
    if labels.dtype.kind in "fM" and (labels != labels).any():  # NaN, or not a time (NaT)
        raise ValueError(
            f"Received `{name}` with NaN. Expected a value for each recording. Drop the recordings "
            "without a value."
        )
    return labels
