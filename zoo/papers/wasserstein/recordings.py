"""Defines recordings of people, and divides them into training, validation and test."""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from keras_dml._typing import ArrayLike
from keras_dml._typing import Recordings as Signals
from keras_dml.evaluation import splits

OBSERVED = 5  # recordings of a person that the paper's protocol observes; the others are enrolled
SEED = 0  # of the division, for all methods
MIN_FILMS = 4  # with fewer films, halving them would leave a person one film
MIN_PEOPLE = 16


@dataclasses.dataclass(frozen=True, eq=False)
class Recordings:
    """Recordings of people. Each attribute except `rate_hz` and `films` has one entry per
    recording.

    Attributes:
        signals: Arrays `(time_i, channels)`, float32, in the units of the sensor.
        subjects: Names of the people, strings.
        blocks: Number of the walk, day or film that the recording belongs to, in order of time. In
            the stricter trials, the recordings of a person's last block are the new recordings.
        gaze: Positions of the gaze in degrees, arrays `(time_i, 2)` of equal length. None, if the
            recordings are not eye movements.
        rate_hz: Time steps per second.
        films: Whether the blocks are films. A film was watched by several people.
    """

    signals: list[np.ndarray]
    subjects: np.ndarray
    blocks: np.ndarray
    rate_hz: float
    gaze: list[np.ndarray] | None = None
    films: bool = False

    def __len__(self) -> int:
        return len(self.signals)

    @property
    def names(self) -> list[str]:
        """Names of the people, sorted."""
        return sorted(set(self.subjects.tolist()))

    @property
    def channels(self) -> int:
        """Number of channels of a signal."""
        return self.signals[0].shape[1]

    @property
    def velocities(self) -> list[np.ndarray]:
        """Angular velocities of the gaze in degrees per millisecond, arrays `(time_i, 2)`. The
        velocity at the first step is 0.
        """
        steps = (np.diff(gaze, axis=0, prepend=gaze[:1]) for gaze in self.gaze)
        return [(step * self.rate_hz / 1000).astype(np.float32) for step in steps]

    @property
    def digest(self) -> str:
        """Digest of all recordings. The settings of a run contain the digest."""
        content = hashlib.sha256()
        for array in (*self.signals, *(self.gaze or ()), self.blocks.astype("<i8")):
            content.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
        content.update("\n".join(self.subjects.tolist()).encode())
        return content.hexdigest()[:12]

    def select(self, mask: ArrayLike) -> "Recordings":
        """Returns the recordings for which a boolean array is true."""
        indices = np.flatnonzero(mask)
        return dataclasses.replace(
            self,
            signals=[self.signals[i] for i in indices],
            subjects=self.subjects[indices],
            blocks=self.blocks[indices],
            gaze=None if self.gaze is None else [self.gaze[i] for i in indices],
        )

    def of_people(self, people: Iterable[str]) -> "Recordings":
        """Returns the recordings of the given people."""
        return self.select(np.isin(self.subjects, list(people)))


@dataclasses.dataclass(frozen=True, eq=False)
class Division:
    """Recordings of three disjoint groups of people.

    Attributes:
        train: Recordings on which networks are trained.
        validation: Recordings on which settings are chosen.
        test: Recordings on which methods are compared.
    """

    train: Recordings
    validation: Recordings
    test: Recordings


def make_recordings(
    signals: Signals,
    subjects: Sequence[str],
    blocks: Sequence[int],
    rate_hz: float,
    gaze: Signals | None = None,
    films: bool = False,
) -> Recordings:
    """Checks arrays and returns them as `Recordings`.

    Args:
        signals, subjects, blocks, rate_hz, gaze, films: Same as the attributes of `Recordings`.

    Raises:
        ValueError: If there are no signals, if the arguments have different numbers of entries, if
            a signal is not finite, if signals have different numbers of channels, or if the arrays
            in `gaze` have different lengths.
    """
    signals = [np.asarray(signal, np.float32) for signal in signals]
    counts = {"signals": len(signals), "subjects": len(subjects), "blocks": len(blocks)}
    if gaze is not None:
        gaze = [np.asarray(positions, np.float32) for positions in gaze]
        counts["gaze"] = len(gaze)
    if len(set(counts.values())) > 1 or not signals:
        raise ValueError(
            f"Received {counts}. At least one recording is expected, with one entry per recording "
            "in signals, subjects, blocks and gaze."
        )
    for i, signal in enumerate(signals):
        if (
            signal.ndim != 2
            or signal.shape[1] != signals[0].shape[1]
            or not np.isfinite(signal).all()
        ):
            raise ValueError(
                f"Recording {i}, of shape {signal.shape}, is invalid. A recording must have the "
                f"shape (time, {signals[0].shape[-1]}), with as many channels as the first "
                "recording, and only finite values. Leave this recording out."
            )
    if gaze is not None and len({positions.shape for positions in gaze}) > 1:
        raise ValueError(
            "Received gaze arrays of different shapes. All arrays must have the same shape "
            "(time, 2), in degrees. Cut the recordings into windows of one length."
        )
    subjects = np.asarray(subjects).astype(str)
    return Recordings(signals, subjects, np.asarray(blocks, np.int64), rate_hz, gaze, films)


def divide(recordings: Recordings, people: int | None = None) -> Division:
    """Divides people into a half for the test and a half for training. A fifth of the training half
    is used to choose settings.

    If there are enough films, the films are also divided into halves, so that no film is used for
    both training and test (Abdelwahab2019, section 5.2). People with only one recording are left
    out of training and validation, and people with only one block are left out of the test.

    Args:
        recordings: `Recordings`.
        people: Number of people to use. The people are drawn from all people who have enough
            recordings in two blocks. None: all people.

    Raises:
        ValueError: If there are too few people.
    """
    names = recordings.names
    if people is not None:
        testable = _people_with_two_blocks(recordings)
        testable = [name for name in names if name in testable]
        names = np.random.default_rng(SEED).permutation(testable)[:people]
    if len(names) < 2:
        raise ValueError(
            f"Received {len(names)} people. At least {MIN_PEOPLE} people are needed. Use more "
            "recordings."
        )
    training_people, validation_people, test_people = splits.split_subjects(names, seed=SEED)
    training_part, test_part = recordings, recordings
    if recordings.films and len(np.unique(recordings.blocks)) >= MIN_FILMS:
        films = np.random.default_rng(SEED).permutation(np.unique(recordings.blocks))
        is_training_film = np.isin(recordings.blocks, films[: len(films) // 2])
        training_part = recordings.select(is_training_film)
        test_part = recordings.select(~is_training_film)
    train, validation = (
        _with_pairs(training_part.of_people(group))
        for group in (training_people, validation_people)
    )
    test = test_part.of_people(test_people)
    test = test.of_people(_people_with_two_blocks(test, more_than=1))
    groups = (train, validation, test)
    if min(len(group.names) for group in groups) < 2:
        counts = "{} for training, {} for choosing settings and {} for the test".format(
            *(len(group.names) for group in groups)
        )
        raise ValueError(
            f"Received {len(names)} people, which gives {counts}. People with only one recording "
            "do not count. In the test, people with only one block do not count either. Each group "
            f"needs at least two people. Use at least {MIN_PEOPLE} people with enough recordings."
        )
    return Division(*groups)


def _people_with_two_blocks(recordings, more_than=OBSERVED):
    """Returns the people who have recordings in at least two blocks and more than `more_than`
    recordings.
    """
    return {
        name
        for name in recordings.names
        if np.unique(recordings.blocks[recordings.subjects == name]).size > 1
        and (recordings.subjects == name).sum() > more_than
    }


def _with_pairs(recordings):
    """Returns the recordings of people who have at least two recordings."""
    names, counts = np.unique(recordings.subjects, return_counts=True)
    return recordings.of_people(names[counts > 1])
