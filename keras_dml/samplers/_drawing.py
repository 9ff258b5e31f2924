"""Classes and rows of every batch, drawn from a seed."""

import math

import numpy as np

CLASS_STREAM, ROW_STREAM, AUGMENT_STREAM = range(3)


class Drawing:
    """Draws batches of some distinct classes with some different rows of each.

    A draw depends on the seed, the epoch and the batch's index alone. Classes come without
    replacement while they last, rows of a class without replacement within a batch.

    Args:
        members: Rows of each class, a list of arrays.
        classes: Distinct classes in a batch.
        per_class: Rows of each.
        sessions: Session of each row, integers, shape `(rows,)`; None where there are none. Rows of
            a class are then from as many sessions as possible.
        seed: Non-negative integer.
    """

    def __init__(self, members, classes, per_class, *, sessions=None, seed=0):
        self.members = members
        self.classes = classes
        self.per_class = per_class
        self.sessions = sessions
        self.seed = seed
        self.batches_to_cover = math.ceil(len(members) / classes)

    def generator(self, stream, epoch, index):
        """The random generator of a stream of draws for one batch."""
        return np.random.default_rng(
            np.random.SeedSequence(self.seed, spawn_key=(stream, epoch, index))
        )

    def class_ids(self, epoch, index):
        """The classes of a batch, int32, shape `(classes,)`: its part of a permutation that
        `batches_to_cover` batches cover together."""
        cover, part = divmod(index, self.batches_to_cover)
        order = self.generator(CLASS_STREAM, epoch, cover).permutation(len(self.members))
        positions = np.arange(part * self.classes, (part + 1) * self.classes)
        return np.take(order, positions, mode="wrap").astype(np.int32)  # the last part wraps round

    def rows(self, ids, rng):
        """Different rows of each of these classes, shape `(classes, per_class)`."""
        return np.stack([self._rows_of(id_, rng) for id_ in ids])

    def _rows_of(self, id_, rng):
        order = rng.permutation(self.members[id_])
        if self.sessions is not None:
            order = order[np.argsort(_occurrence(self.sessions[order]), kind="stable")]
        return order[: self.per_class]


def members_by_class(ids):
    """Rows of each class: a list of arrays, at index id."""
    return np.split(np.argsort(ids, kind="stable"), np.cumsum(np.bincount(ids))[:-1])


def _occurrence(values):
    """Number of equal values before each one: [7, 7, 5, 7] -> [0, 1, 0, 2]."""
    order = np.argsort(values, kind="stable")
    counts = np.empty(len(values), int)
    counts[order] = np.arange(len(values)) - np.searchsorted(values[order], values[order])
    return counts
