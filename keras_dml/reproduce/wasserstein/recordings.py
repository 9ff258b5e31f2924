"""Recordings of people, and who of them trains, chooses settings and is tested."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np

from keras_dml.evaluation import splits

OBSERVED = 5  # recordings of a person that the paper's protocol observes; more are enrolled
SEED = 0  # of the division, the same for all methods
MIN_FILMS = 4  # fewer are not divided between training and test: nobody would have two


@dataclasses.dataclass(frozen=True, eq=False)
class Recordings:
    """The data of the experiment; everything has one entry a recording.

    Attributes:
        signals: Arrays `(time_i, channels)`, float32, in the sensor's units.
        subjects: Person, strings.
        blocks: Part of the person's recordings that it is of, in the order of time: a walk, a day,
            a film. The last one is observed in the stricter trials.
        rate_hz: Steps a second.
        gaze: Arrays `(time_i, 2)` in degrees, of one length, for eye movements; None for others.
        films: Whether blocks are films, which many people saw.
    """

    signals: list
    subjects: np.ndarray
    blocks: np.ndarray
    rate_hz: float
    gaze: list | None = None
    films: bool = False

    def __len__(self):
        return len(self.signals)

    @property
    def names(self):
        """The people, in order."""
        return sorted(set(self.subjects.tolist()))

    @property
    def channels(self):
        """Channels of a signal."""
        return self.signals[0].shape[1]

    @property
    def velocities(self):
        """Angular velocities of the gaze, `(time_i, 2)` in degrees per millisecond; the first step
        repeats."""
        steps = (np.diff(one, axis=0, prepend=one[:1]) for one in self.gaze)
        return [(one * self.rate_hz / 1000).astype(np.float32) for one in steps]

    @property
    def digest(self):
        """Digest of all of it, for the settings of runs."""
        whole = hashlib.sha256()
        for array in (*self.signals, *(self.gaze or ()), self.blocks.astype("<i8")):
            whole.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
        whole.update("\n".join(self.subjects.tolist()).encode())
        return whole.hexdigest()[:12]

    def take(self, rows):
        """The recordings where a boolean array is true."""
        kept = np.flatnonzero(rows)
        return dataclasses.replace(
            self,
            signals=[self.signals[i] for i in kept],
            subjects=self.subjects[kept],
            blocks=self.blocks[kept],
            gaze=None if self.gaze is None else [self.gaze[i] for i in kept],
        )

    def of(self, people):
        """The recordings of some people."""
        return self.take(np.isin(self.subjects, list(people)))


@dataclasses.dataclass(frozen=True, eq=False)
class Division:
    """Recordings of three disjoint groups of people, each a `Recordings`."""

    train: Recordings
    validation: Recordings
    test: Recordings


def recordings_of(signals, subjects, blocks, rate_hz, gaze=None, films=False):
    """`Recordings` of arrays that fit each other.

    Args:
        signals, subjects, blocks, rate_hz, gaze, films: As the attributes of `Recordings`.

    Raises:
        ValueError: If there is none, counts differ, a signal is not finite or of another number of
            channels, or the gaze is not of one length.
    """
    signals = [np.asarray(one, np.float32) for one in signals]
    counts = {"signals": len(signals), "subjects": len(subjects), "blocks": len(blocks)}
    if gaze is not None:
        gaze = [np.asarray(one, np.float32) for one in gaze]
        counts["gaze"] = len(gaze)
    if len(set(counts.values())) > 1 or not signals:
        raise ValueError(
            f"Signals, subjects, blocks and gaze must have one entry a recording, at least one. "
            f"Received {counts}."
        )
    for i, one in enumerate(signals):
        if one.ndim != 2 or one.shape[1] != signals[0].shape[1] or not np.isfinite(one).all():
            raise ValueError(
                "Signals must be finite, of shape (time, channels) with the same channels. "
                f"Recording {i}, of shape {one.shape}, is not; leave it out."
            )
    if gaze is not None and len({one.shape for one in gaze}) > 1:
        raise ValueError("The gaze must be cut to windows of one length, in degrees.")
    subjects = np.asarray(subjects).astype(str)
    return Recordings(signals, subjects, np.asarray(blocks, np.int64), rate_hz, gaze, films)


def divide(recordings, people=None):
    """Half of the people train, of whom a fifth choose settings; the other half is tested.

    Films are halved too where there are enough, so that training and test share none
    (Abdelwahab2019, section 5.2).

    Args:
        recordings: `Recordings`.
        people: Number of people to take, among those with the most parts; None for all.

    Returns:
        `Division`; who has one recording cannot train or choose, who has one block cannot be
        tested, and both are left out.

    Raises:
        ValueError: If there are too few people.
    """
    names = recordings.names
    if people is not None:
        testable = _with_two_blocks(recordings)
        testable = [name for name in names if name in testable]
        names = np.random.default_rng(SEED).permutation(testable)[:people]
    if len(names) < 2:
        raise ValueError(f"At least 16 people are needed. Received {len(names)}.")
    known, choosing, tested = splits.split_subjects(names, seed=SEED)
    learned, shown = recordings, recordings
    if recordings.films and len(np.unique(recordings.blocks)) >= MIN_FILMS:
        films = np.random.default_rng(SEED).permutation(np.unique(recordings.blocks))
        first = np.isin(recordings.blocks, films[: len(films) // 2])
        learned, shown = recordings.take(first), recordings.take(~first)
    train, validation = (_with_pairs(learned.of(group)) for group in (known, choosing))
    test = shown.of(tested)
    test = test.of(_with_two_blocks(test, 1))
    groups = (train, validation, test)
    if min(len(group.names) for group in groups) < 2:
        counts = " to train, {} to choose settings on, {} to test".format(
            *(len(group.names) for group in groups[1:])
        )
        raise ValueError(
            "At least two people are needed each to train, to choose settings on and to test, "
            f"which 16 people give. Received {len(names)}: {len(train.names)}{counts}, of those "
            "with two recordings, and two blocks for the test."
        )
    return Division(*groups)


def _with_two_blocks(recordings, more_than=OBSERVED):
    """People with recordings in two blocks and more recordings than a number."""
    return {
        name
        for name in recordings.names
        if np.unique(recordings.blocks[recordings.subjects == name]).size > 1
        and (recordings.subjects == name).sum() > more_than
    }


def _with_pairs(recordings):
    names, counts = np.unique(recordings.subjects, return_counts=True)
    return recordings.of(names[counts > 1])
