"""Covariance matrices of motions by several people, and the people held out."""

import dataclasses
import hashlib

import numpy as np

MIN_PEOPLE = 3  # one to test on, one to choose settings on, one to train on


@dataclasses.dataclass(frozen=True, eq=False)
class Clips:
    """The data of the experiment.

    Attributes:
        matrices: Positive definite, shape `(clips, n, n)`, float64.
        labels: Index of each clip's class in `classes`, shape `(clips,)`.
        people: Person of each clip, shape `(clips,)`.
        classes: Names of the classes.
        left_out: Names of the classes that `clips_of` has left out.
    """

    matrices: np.ndarray
    labels: np.ndarray
    people: np.ndarray
    classes: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def names(self):
        """The people, in order."""
        return sorted(set(self.people.tolist()))

    @property
    def digest(self):
        """Digest of the clips, for the settings of runs."""
        parts = (self.matrices.astype("<f8"), self.labels.astype("<i8"))
        whole = b"".join(part.tobytes() for part in parts) + "\n".join(self.people).encode()
        return hashlib.sha256(whole).hexdigest()[:12]

    def split(self, held_out):
        """Booleans of shape `(clips,)`: those of people who are not held out."""
        return ~np.isin(self.people, list(held_out))


def clips_of(matrices, classes, people, per_class):
    """Clips of the classes that can be trained on with any two people held out.

    Args:
        matrices: Positive definite, shape `(clips, n, n)`.
        classes: Name of each clip's class, shape `(clips,)`.
        people: Person of each clip, shape `(clips,)`.
        per_class: Clips of a class that a batch takes; a class with fewer once two people are held
            out is left out.

    Returns:
        `Clips`.

    Raises:
        ValueError: If shapes do not fit, a matrix is not finite, there are fewer than three people,
            or fewer than two classes are left.
    """
    matrices, classes, people = np.asarray(matrices), np.asarray(classes), np.asarray(people)
    _check(matrices, classes, people)
    names, ids = np.unique(classes, return_inverse=True)
    counts = np.stack(
        [np.bincount(ids[people == one], minlength=len(names)) for one in _of(people)]
    )
    fewest = counts.sum(axis=0) - np.sort(counts, axis=0)[-2:].sum(axis=0)  # two are held out
    enough = fewest >= per_class
    if enough.sum() < 2:
        raise ValueError(
            f"Batches take {per_class} clips of a class, so at least two classes need as many when "
            f"two people are held out. The fullest two of {len(names)} have "
            f"{np.sort(fewest)[::-1][:2].tolist()}. Take more recordings."
        )
    kept = enough[ids]
    return Clips(
        matrices=matrices[kept].astype(np.float64),
        labels=np.unique(ids[kept], return_inverse=True)[1],
        people=people[kept].astype(str),
        classes=tuple(names[enough].tolist()),
        left_out=tuple(names[~enough].tolist()),
    )


def partner(names, person):
    """The person on whom the settings for a person are chosen.

    Half the list away: an even number of people pair up, so that one training without both serves
    either.
    """
    return names[(names.index(person) + len(names) // 2) % len(names)]


def _of(people):
    return sorted(set(people.tolist()))


def _check(matrices, classes, people):
    shape = matrices.shape
    if len(shape) != 3 or shape[1] != shape[2] or not len(matrices):
        raise ValueError(
            f"`matrices` must be square, shape (clips, n, n), at least one. Received shape {shape}."
        )
    if classes.shape != shape[:1] or people.shape != shape[:1]:
        raise ValueError(
            f"`classes` and `people` must name one a clip, shape ({shape[0]},). Received shapes "
            f"{classes.shape} and {people.shape}."
        )
    if not np.isfinite(matrices).all():
        bad = np.flatnonzero(~np.isfinite(matrices).all(axis=(1, 2)))
        raise ValueError(f"`matrices` must be finite. Clip {bad[0]} is not; leave it out.")
    if len(_of(people)) < MIN_PEOPLE:
        raise ValueError(
            f"At least {MIN_PEOPLE} people are needed: one to test on, one to choose settings "
            f"on, others to train on. Received {', '.join(_of(people))}."
        )
