"""Reads and checks covariance matrices of motions by several people."""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from keras_dml._typing import ArrayLike, Path
from zoo.papers.records import read_records

MIN_PEOPLE = 3  # one to test, one to choose settings, one to train


@dataclasses.dataclass(frozen=True, eq=False)
class Clips:
    """Covariance matrices of clips with their classes and people.

    Attributes:
        matrices: Positive definite matrices, shape `(clips, n, n)`, float64.
        labels: Index of each clip's class in `classes`, shape `(clips,)`.
        people: Person of each clip, shape `(clips,)`.
        classes: Names of the classes.
        left_out: Names of the classes that `make_clips` left out.
    """

    matrices: np.ndarray
    labels: np.ndarray
    people: np.ndarray
    classes: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the people, sorted."""
        return sorted(set(self.people.tolist()))

    @property
    def digest(self) -> str:
        """Digest of the clips. The settings of a run contain the digest."""
        parts = (self.matrices.astype("<f8"), self.labels.astype("<i8"))
        content = b"".join(part.tobytes() for part in parts) + "\n".join(self.people).encode()
        return hashlib.sha256(content).hexdigest()[:12]

    def training_mask(self, held_out: Iterable[str]) -> np.ndarray:
        """Returns an array of shape `(clips,)`, which is True for the clips of people who are not
        held out.
        """
        return ~np.isin(self.people, list(held_out))


def read(manual_dir: Path, data_dir: Path | None = None):
    """Reads covariance matrices of all clips, their motions and their actors from HDM05.

    Args:
        manual_dir: Folder that holds the archive.
        data_dir: Folder of prepared data sets. None selects the folder of TensorFlow Datasets.

    Returns:
        Matrices, motions and actors, three arrays in the order of the archive.
    """
    records = read_records("hdm05_mocap/spd93", manual_dir, data_dir)
    matrices = np.stack([record["matrix"] for record in records])
    motions, actors = (
        np.array([record[key].decode() for record in records]) for key in ("motion", "subject")
    )
    return matrices, motions, actors


def make_clips(matrices: ArrayLike, classes: ArrayLike, people: ArrayLike, per_class: int) -> Clips:
    """Returns the clips of all classes with enough clips. A class needs enough clips even if any
    two people are held out.

    Args:
        matrices: Positive definite matrices, shape `(clips, n, n)`.
        classes: Name of each clip's class, shape `(clips,)`.
        people: Person of each clip, shape `(clips,)`.
        per_class: Number of clips per class in a batch. A class is left out if fewer clips remain
            after any two people are held out.

    Raises:
        ValueError: If shapes do not match, if a matrix is not finite, if there are fewer than three
            people, or if fewer than two classes remain.
    """
    matrices, classes, people = np.asarray(matrices), np.asarray(classes), np.asarray(people)
    _check(matrices, classes, people)
    names, ids = np.unique(classes, return_inverse=True)
    counts = np.stack(
        [np.bincount(ids[people == person], minlength=len(names)) for person in np.unique(people)]
    )
    fewest = counts.sum(axis=0) - np.sort(counts, axis=0)[-2:].sum(axis=0)  # two are held out
    is_large = fewest >= per_class
    if is_large.sum() < 2:
        largest = " and ".join(map(str, np.sort(fewest)[::-1][:2].tolist()))
        raise ValueError(
            f"Received {len(names)} classes. If the two people with the most clips of a class are "
            f"left out, the two largest classes have {largest} clips. At least two classes must "
            f"have {per_class} clips, because a batch contains {per_class} clips per class. Use "
            "more recordings."
        )
    mask = is_large[ids]
    return Clips(
        matrices=matrices[mask].astype(np.float64),
        labels=np.unique(ids[mask], return_inverse=True)[1],
        people=people[mask].astype(str),
        classes=tuple(names[is_large].tolist()),
        left_out=tuple(names[~is_large].tolist()),
    )


def partner(names: Sequence[str], person: str) -> str:
    """Returns the partner of a person. The settings for the person are chosen on the partner.

    The positions of the two people in the list differ by half the length of the list. If the number
    of people is even, two people are the partners of each other. Then a single training without
    these two people serves both of them.

    Args:
        names: All people.
        person: Name of one of the people.
    """
    return names[(names.index(person) + len(names) // 2) % len(names)]


def _check(matrices, classes, people):
    shape = matrices.shape
    if len(shape) != 3 or shape[1] != shape[2] or not len(matrices):
        raise ValueError(
            f"Received `matrices` of shape {shape}. At least one clip and square matrices are "
            "expected, shape (clips, n, n)."
        )
    if classes.shape != shape[:1] or people.shape != shape[:1]:
        raise ValueError(
            f"Received `classes` of shape {classes.shape} and `people` of shape {people.shape}. "
            f"One name per clip is expected in each array, shape ({shape[0]},)."
        )
    if not np.isfinite(matrices).all():
        clip = np.flatnonzero(~np.isfinite(matrices).all(axis=(1, 2)))[0]
        raise ValueError(
            f"Clip {clip} of `matrices` contains values that are not finite. Leave the clip out."
        )
    names = np.unique(people).tolist()
    if len(names) < MIN_PEOPLE:
        raise ValueError(
            f"Received clips of {', '.join(names)}. At least {MIN_PEOPLE} people are needed: one "
            "to test, one to choose settings, and one to train."
        )
