"""Holds recordings of people, and divides them between training and testing."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from keras_dml._messages import Message
from keras_dml._typing import ArrayLike


@dataclasses.dataclass
class People:
    """Recordings with the person and the session of each recording.

    Attributes:
        signals: List of arrays `(time_i, channels)`, in the sensor's units.
        subjects: Person of each recording.
        sessions: Session of each recording, as a value that increases with time.

    Example:
        >>> walks = People([np.zeros((9, 3))] * 3, ["ann", "ann", "bob"], [1, 2, 1])
        >>> walks.select({"ann"}).sessions
        [1, 2]
    """

    signals: list[Any]
    subjects: list[Any]
    sessions: list[Any]

    def __add__(self, recordings: People) -> People:
        return People(
            self.signals + recordings.signals,
            self.subjects + recordings.subjects,
            self.sessions + recordings.sessions,
        )

    def take(self, rows: ArrayLike) -> People:
        """Returns the recordings that an array of indices or of booleans selects."""
        rows = np.arange(len(self.signals))[rows]
        return People(*([column[i] for i in rows] for column in vars(self).values()))

    def select(self, people: Collection[Any]) -> People:
        """Returns the recordings of the given people."""
        return self.take([subject in people for subject in self.subjects])

    def without(self, people: Collection[Any]) -> People:
        """Returns the recordings of all people except the given people."""
        return self.take([subject not in people for subject in self.subjects])

    def windows(self, length: int, stride: int | None = None) -> People:
        """Cuts every recording into windows.

        Args:
            length: Number of time steps per window.
            stride: Number of steps between the starts of two windows. Default: `length`, so that
                windows do not overlap.
        """
        cut = People([], [], [])
        for signal, subject, session in zip(
            self.signals, self.subjects, self.sessions, strict=True
        ):
            parts = [
                signal[i : i + length] for i in range(0, len(signal) - length + 1, stride or length)
            ]
            cut += People(parts, [subject] * len(parts), [session] * len(parts))
        return cut

    def at_tempos(self, tempos: Iterable[float]) -> People:
        """Changes the speed of recordings by linear interpolation.

        If the factor is not 1, the changed recordings are labeled as additional people.

        Args:
            tempos: Factors by which the speed is multiplied. A factor of 1.1 makes recordings 10 %
                faster.
        """
        result = People([], [], [])
        for tempo in tempos:
            mark = "" if tempo == 1 else f" x{tempo:g}"
            result += People(
                [_at_tempo(signal, tempo) for signal in self.signals],
                [f"{subject}{mark}" for subject in self.subjects],
                self.sessions,
            )
        return result

    def at_least(self, steps: int, recordings: int) -> People:
        """Removes short recordings, and then people with too few recordings.

        Args:
            steps: Smallest number of time steps of a recording.
            recordings: Smallest number of recordings of a person.
        """
        long = self.take([len(signal) >= steps for signal in self.signals])
        names, counts = np.unique(long.subjects, return_counts=True)
        return long.select(set(names[counts >= recordings]))

    def halves(self, files: Sequence[Hashable] | None = None) -> People:
        """Sorts each person's recordings by session, and divides them into two new sessions.

        Args:
            files: File of each recording. If a person has several files, all recordings of a file
                go to the same session. By default, each recording is a separate file.
        """
        sessions, subjects = np.array(self.sessions), np.array(self.subjects)
        for subject in set(self.subjects):
            rows = np.flatnonzero(subjects == subject)
            order = rows[np.argsort(sessions[rows], kind="stable")]
            half = _middle(len(order), [] if files is None else [files[i] for i in order])
            sessions[order[:half]], sessions[order[half:]] = 1, 2
        return People(self.signals, self.subjects, sessions.tolist())


def _middle(count, files):
    """Returns the start of a file that is nearest to the middle, or the middle if there is only one
    file."""
    starts = [i for i in range(1, len(files)) if files[i] != files[i - 1]]
    return min(starts, key=lambda i: abs(i - count // 2), default=count // 2)


def _at_tempo(signal, tempo):
    if tempo == 1:
        return signal
    times = np.arange(0, len(signal) - 1 + 1e-9, tempo)
    steps = np.arange(len(signal))
    return np.stack([np.interp(times, steps, x) for x in signal.T], axis=1).astype(np.float32)


def folds(subjects: Iterable[Any], count: int, seed: int = 0) -> list[list[Any]]:
    """Divides people at random into disjoint groups whose sizes differ by at most 1.

    Args:
        subjects: People in any order. Repeated names count once.
        count: Number of groups.
        seed: Seed of the random division.

    Returns:
        List of `count` sorted lists of people.

    Raises:
        ValueError: If there are fewer people than groups.

    Example:
        >>> [len(fold) for fold in folds(range(17), 4)]
        [4, 4, 4, 5]
    """
    people = sorted(set(subjects))
    if not 1 <= count <= len(people):
        raise ValueError(
            Message(
                "{count} is {value}, but it must be from 1 to the number of people, {people}.",
                value=count,
                people=len(people),
            )
        )
    order = np.random.default_rng(seed).permutation(people)
    bounds = [i * len(people) // count for i in range(1, count)]
    return [sorted(part.tolist()) for part in np.split(order, bounds)]
