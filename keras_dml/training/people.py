"""Recordings of people, and how they are divided between training and testing."""

import dataclasses

import numpy as np


@dataclasses.dataclass
class People:
    """Recordings with their person and session.

    Attributes:
        signals: List of arrays `(time_i, channels)`, in the sensor's units.
        subjects: Person of each recording.
        sessions: Session of each recording, in the order of time.

    Example:
        >>> walks = People([np.zeros((9, 3))] * 3, ["ann", "ann", "bob"], [1, 2, 1])
        >>> walks.of({"ann"}).sessions
        [1, 2]
    """

    signals: list
    subjects: list
    sessions: list

    def __add__(self, other):
        return People(
            self.signals + other.signals,
            self.subjects + other.subjects,
            self.sessions + other.sessions,
        )

    def take(self, rows):
        """The recordings at some indices, or where a boolean array is true."""
        rows = np.arange(len(self.signals))[rows]
        return People(*([column[i] for i in rows] for column in vars(self).values()))

    def of(self, wanted):
        """The recordings of some people."""
        return self.take([subject in wanted for subject in self.subjects])

    def without(self, people):
        """The recordings of all other people."""
        return self.take([subject not in people for subject in self.subjects])

    def windows(self, length, stride=None):
        """Windows of every recording.

        Args:
            length: Steps of a window.
            stride: Steps from one window to the next; None: `length`, windows side by side.
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

    def at_tempos(self, tempos):
        """The same recordings faster and slower, by lines between their steps; each tempo but 1
        makes further people.

        Args:
            tempos: 1.1 is a tenth faster.
        """
        found = People([], [], [])
        for tempo in tempos:
            mark = "" if tempo == 1 else f" x{tempo:g}"
            found += People(
                [_at_tempo(signal, tempo) for signal in self.signals],
                [f"{subject}{mark}" for subject in self.subjects],
                self.sessions,
            )
        return found

    def at_least(self, steps, recordings):
        """Without recordings shorter than `steps`, then without people who have fewer than
        `recordings`."""
        long = self.take([len(signal) >= steps for signal in self.signals])
        names, counts = np.unique(long.subjects, return_counts=True)
        return long.of(set(names[counts >= recordings]))

    def halves(self, files=None):
        """Divides each person's recordings into two sessions, in the order of their sessions.

        Args:
            files: File of each recording. The recordings of one file are in one session if the
                person has several files. None: each recording is a file.
        """
        sessions, subjects = np.array(self.sessions), np.array(self.subjects)
        for subject in set(self.subjects):
            own = np.flatnonzero(subjects == subject)
            order = own[np.argsort(sessions[own], kind="stable")]
            half = _middle(len(order), [] if files is None else [files[i] for i in order])
            sessions[order[:half]], sessions[order[half:]] = 1, 2
        return People(self.signals, self.subjects, sessions.tolist())


def _middle(count, files):
    """The index nearest to the middle at which another file begins; the middle if none does."""
    starts = [i for i in range(1, len(files)) if files[i] != files[i - 1]]
    return min(starts, key=lambda i: abs(i - count // 2), default=count // 2)


def _at_tempo(signal, tempo):
    if tempo == 1:
        return signal
    times = np.arange(0, len(signal) - 1 + 1e-9, tempo)
    steps = np.arange(len(signal))
    return np.stack([np.interp(times, steps, x) for x in signal.T], axis=1).astype(np.float32)


def folds(subjects, count, seed=0):
    """Disjoint groups of people that cover all, as equal in size as can be.

    Args:
        subjects: Person of each recording, or each person once, in any order.
        count: Number of groups.
        seed: Seed of the draw.

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
            f"`count` must lie between 1 and the number of people, {len(people)}. Received "
            f"count={count}."
        )
    order = np.random.default_rng(seed).permutation(people)
    bounds = [i * len(people) // count for i in range(1, count)]
    return [sorted(part.tolist()) for part in np.split(order, bounds)]
