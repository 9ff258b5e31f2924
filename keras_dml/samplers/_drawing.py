"""Draws the classes and rows of every batch. A seed makes the draws reproducible."""

import math

import numpy as np

from keras_dml._typing import ArrayLike

CLASS_STREAM, ROW_STREAM, AUGMENT_STREAM, GROUP_STREAM = range(4)


class Drawing:
    """Draws batches at random. A batch contains several classes, and several different rows of each
    class.

    A draw depends only on the seed, the epoch and the index of the batch. Classes are drawn without
    replacement until all classes have been drawn. Within a batch, the rows of a class are drawn
    without replacement.

    Args:
        members: Row numbers of each class, a list of arrays.
        classes: Number of distinct classes in a batch.
        per_class: Number of rows of each class in a batch.
        sessions: Session of each row as an integer, shape `(rows,)`, or None. If sessions are
            given, the rows of a class come from as many sessions as possible.
        groups: Group of each class as an integer, shape `(classes,)`, or None. If groups are given,
            the classes of a batch come from one group. If the group has too few classes, the
            remaining classes come from the groups that are drawn next.
        mixed: Fraction of batches whose classes come from all groups.
        seed: Seed of all draws, a non-negative integer.
    """

    def __init__(
        self,
        members: list[np.ndarray],
        classes: int,
        per_class: int,
        *,
        sessions: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        mixed: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.members = members
        self.classes = classes
        self.per_class = per_class
        self.sessions = sessions
        self.groups = groups
        self.mixed = mixed
        self.seed = seed
        self.batches_to_cover = math.ceil(len(members) / classes)

    def generator(self, stream: int, epoch: int, index: int) -> np.random.Generator:
        """Returns the random generator for one batch. Generators for different purposes have
        different values of `stream`.
        """
        return np.random.default_rng(
            np.random.SeedSequence(self.seed, spawn_key=(stream, epoch, index))
        )

    def class_ids(self, epoch: int, index: int) -> np.ndarray:
        """Draws the classes of a batch, int32, shape `(classes,)`.

        Without groups, all classes are shuffled, and each batch takes the next classes of the
        shuffled order. When `batches_to_cover` batches have taken all classes, the classes are
        shuffled again. With groups, the method draws groups, and takes the classes of the batch
        from these groups.
        """
        if self.groups is not None:
            rng = self.generator(GROUP_STREAM, epoch, index)
            if rng.random() >= self.mixed:
                return self._group_by_group(rng)
        cover, part = divmod(index, self.batches_to_cover)
        order = self.generator(CLASS_STREAM, epoch, cover).permutation(len(self.members))
        positions = np.arange(part * self.classes, (part + 1) * self.classes)
        return np.take(order, positions, mode="wrap").astype(np.int32)  # the last part wraps around

    def _group_by_group(self, rng):
        places = rng.permutation(self.groups.max() + 1)
        order = rng.permutation(len(self.members))
        order = order[np.argsort(places[self.groups[order]], kind="stable")]
        return order[: self.classes].astype(np.int32)

    def rows(self, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws different rows for each class in `ids`. Returns row numbers, shape `(classes,
        per_class)`.
        """
        return np.stack([self._rows_of(id_, rng) for id_ in ids])

    def _rows_of(self, id_, rng):
        order = rng.permutation(self.members[id_])
        if self.sessions is not None:
            order = order[np.argsort(_occurrence(self.sessions[order]), kind="stable")]
        return order[: self.per_class]


def members_by_class(ids: np.ndarray) -> list[np.ndarray]:
    """Returns a list with an array of row numbers for each class id."""
    return np.split(np.argsort(ids, kind="stable"), np.cumsum(np.bincount(ids))[:-1])


def _occurrence(values):
    """Counts how often each value occurs earlier in the array. For [7, 7, 5, 7], the result is [0,
    1, 0, 2].
    """
    order = np.argsort(values, kind="stable")
    counts = np.empty(len(values), int)
    counts[order] = np.arange(len(values)) - np.searchsorted(values[order], values[order])
    return counts
