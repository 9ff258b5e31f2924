"""Splits of people into training and test sets, and of recordings into enrolled and observed.

A split depends only on labels and a seed, never on distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keras_dml._arrays import refuse_masked, whole
from keras_dml._typing import ArrayLike


class SubjectSplit(NamedTuple):
    """Disjoint sets of people for training, validation and test.

    Attributes:
        train: Sorted ids of the people for training.
        validation: Sorted ids of the people for validation.
        test: Sorted ids of the people for test.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False)
class Enrollment:
    """Draw of enrolled and observed recordings.

    Attributes:
        people: Sorted ids of the people evaluated, shape `(people,)`.
        enrolled: Indices of the enrolled recordings of each person.
        observed: Indices of the observed recordings in order, shape `(people, observed)`.
        left_out: Ids of people with too few recordings.
    """

    people: np.ndarray
    enrolled: tuple[np.ndarray, ...]
    observed: np.ndarray
    left_out: tuple


def half_up(value: float) -> int:
    """Rounds to the nearest integer, halves up: 10.5 gives 11, while `round` gives 10."""
    return math.floor(value + 0.5)


def split_subjects(subjects: ArrayLike, *, seed: int = 0) -> SubjectSplit:
    """Splits people into training, validation and test sets.

    Half of the people (rounded up) are training people, and the other half is the test set. A fifth
    of the training people (halves rounded up) is the validation set, which is not trained on
    (Abdelwahab2019, section 5.2).

    Args:
        subjects: Person of each recording, or each person once, in any order.
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
            "Training and test people must differ, so at least 2 people are needed. Received "
            f"{people.size}."
        )
    shuffled = np.random.default_rng(whole("seed", seed, minimum=0)).permutation(people)
    training = half_up(people.size / 2)
    validation = half_up(0.2 * training)
    parts = np.split(shuffled, [training - validation, training])
    return SubjectSplit(*(np.sort(part) for part in parts))


def random_enrollments(
    subjects: ArrayLike, *, observed: int = 5, repetitions: int = 10, seed: int = 0
) -> list[Enrollment]:
    """Draws `observed` recordings of each person at random and enrolls the rest (Abdelwahab2019).

    Args:
        subjects: Person of each recording, shape `(recordings,)`.
        observed: Number of recordings observed of each person. People with at most this number of
            recordings are left out.
        repetitions: Number of draws.
        seed: Seed of the draws. Draw r depends only on the seed and r.

    Returns:
        One `Enrollment` for each repetition.

    Raises:
        ValueError: If `observed` is below 1, or fewer than two people have enough recordings.
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
    """Enrolls earlier sessions and draws the observed recordings from the latest session.

    A session is a visit, a day or a block of trials. Recordings of one session share sensor
    placement and clothing, which makes random splits too easy. All earlier recordings are enrolled.
    A repetition draws the observed recordings from the latest session, and the other recordings of
    that session are not used.

    Args:
        subjects: Person of each recording, shape `(recordings,)`.
        sessions: Session of each recording, shape `(recordings,)`; numbers or strings that sort
            chronologically. Sessions are compared only within a person.
        observed: Number of recordings observed of each person. People with fewer recordings in the
            latest session, or with one session only, are left out.
        repetitions: Number of draws.
        seed: Seed of the draws. Draw r depends only on the seed and r.

    Returns:
        One `Enrollment` for each repetition.

    Raises:
        ValueError: If shapes differ, `observed` is below 1, or fewer than two people remain.
    """
    subjects, sessions = _labels("subjects", subjects), _labels("sessions", sessions)
    if subjects.shape != sessions.shape:
        raise ValueError(
            "`subjects` and `sessions` must have one entry for each recording. Received shapes "
            f"{subjects.shape} and {sessions.shape}."
        )
    order = np.unique(sessions, return_inverse=True)[1]  # strings have no maximum
    candidates = {}
    for person in np.unique(subjects):
        rows = np.flatnonzero(subjects == person)
        latest = order[rows] == order[rows].max()
        candidates[person] = (rows[~latest], rows[latest])
    observed = whole("observed", observed, minimum=1)
    need = f"an earlier session and {observed} recordings in the latest"
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
            f"At least 2 people with {need} are needed. Received {len(usable)} of "
            f"{len(candidates)} people. Lower `observed` or give more recordings."
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
            f"`{name}` must be a flat list of numbers or strings, one per recording. Received "
            f"shape {labels.shape} and dtype {labels.dtype}."
        )
    if labels.dtype.kind in "fM" and (labels != labels).any():  # NaN, or no date
        raise ValueError(f"`{name}` must name each recording. Received NaN for some of them.")
    return labels
