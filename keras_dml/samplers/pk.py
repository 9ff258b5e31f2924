"""Provides a sampler that draws P classes per batch and K recordings per class, for triplet losses
and losses with mined pairs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml._arrays import whole
from keras_dml._typing import ArrayLike, Recordings
from keras_dml.samplers._class_sampler import ClassSampler, batches_of_an_epoch
from keras_dml.samplers._recordings import as_recordings, batch_length


class PKSampler(ClassSampler):
    """Sampler that draws `classes` distinct classes per batch, and `per_class` different recordings
    of each class.

    Use this sampler with losses that search for positives and negatives among all rows of a batch.
    `fit` accepts the sampler on every backend. `to_tf_data` converts the sampler to a
    `tf.data.Dataset` with the same batches.

    The rows of a class are adjacent. If `classes` is a multiple of the number of replicas, all rows
    of a class are therefore on the same replica.

    Batch `i` of epoch `e` depends only on `(seed, e, i)`, not on the number of workers or on
    earlier batches. `fit` calls `on_epoch_end` once before its first epoch. If `sampler.epoch` is e
    before the call of `fit`, epoch k of `fit` (counted from 0) therefore uses the batches of epoch
    e + k + 1. To resume a run after k epochs with exactly the batches of an uninterrupted run,
    create the sampler again, set `sampler.epoch = k`, and call
    `fit(..., initial_epoch=k, shuffle=False)`. Without `shuffle=False`, Keras shuffles the order of
    the batches with Python's `random`. Pass `steps_per_epoch` to the sampler, not to `fit`. If
    `steps_per_epoch` is passed to `fit`, some batches of an epoch are still in the queue when the
    epoch ends.

    On JAX, Keras 3.15 draws batches from the sampler to build the loss. If `workers` is above 1,
    the first `fit` after `compile` begins with these batches. To avoid training on batches that
    Keras drew to build the loss, call `evaluate` on one batch before `fit`.

    >>> import numpy as np
    >>> x, y = np.zeros((6, 50, 3)), ["ann", "bob", "cid", "ann", "bob", "cid"]
    >>> sampler = PKSampler(x, y, classes=2, per_class=2, length=40)
    >>> signal, labels = sampler[0]
    >>> signal.shape, labels.shape, len(sampler)
    ((4, 40, 3), (4,), 2)

    Args:
        x: Recordings, shape `(recordings, time, channels)`, or a list of arrays
            `(time_i, channels)`. The recordings are not copied.
        y: Class of each recording, shape `(recordings,)` or `(recordings, 1)`. Classes are integers
            of any size, strings, bytes, or floats with integer values. In batches, classes have ids
            that start at 0, and `class_names[id]` is the original id.
        classes: Number of distinct classes in a batch, at least 2 and at most the number of classes
            in `y`.
        per_class: Number of recordings of each class in a batch, at least 2 and at most the size of
            the smallest class.
        steps_per_epoch: Number of batches in an epoch. The default is `ceil(number of classes /
            classes)`, so that every class appears about once. For example, if a batch contains 5 of
            9 classes, an epoch has 2 steps, and 20 epochs have 40 steps.
        steps: Older name of `steps_per_epoch`.
        length: Number of time steps of the random crop that is taken from each recording. By
            default, recordings are not cut, and must have equal lengths.
        sessions: Session (day, trial, device) of each recording, in the same forms as `y`. If
            sessions are given, the rows of a class come from as many sessions as possible.
        drop_singles: Whether to drop classes with fewer than `per_class` recordings. If False, a
            class with too few recordings raises an error. `dropped_classes` lists the dropped
            classes. Dropped classes have no class ids.
        augment: Function `augment(batch, rng) -> batch` that changes NumPy arrays `(rows, time,
            channels)` and keeps the order of rows. `rng` is a `numpy.random.Generator` for this
            batch only.
        seed: Seed of all draws, a non-negative integer.
        **kwargs: Arguments `workers`, `use_multiprocessing` and `max_queue_size` of
            `keras.utils.PyDataset`.

    Raises:
        ValueError, TypeError: If recordings or ids are invalid, if there are too few classes or
            recordings, or if the constructor receives both `steps_per_epoch` and `steps`. The error
            message contains the recording, the class or the limit.
    """

    def __init__(
        self,
        x: ArrayLike | Recordings,
        y: ArrayLike,
        classes: int,
        per_class: int,
        *,
        steps_per_epoch: int | None = None,
        steps: int | None = None,
        length: int | None = None,
        sessions: ArrayLike | None = None,
        drop_singles: bool = False,
        augment: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self._recordings = as_recordings(x)
        length = None if length is None else whole("length", length, minimum=1)
        self.length: int | None = batch_length(self._recordings, length)
        super().__init__(
            len(self._recordings),
            y,
            classes,
            per_class,
            steps=batches_of_an_epoch(steps_per_epoch, steps),
            sessions=sessions,
            drop_singles=drop_singles,
            augment=augment,
            seed=seed,
            **kwargs,
        )

    def _example(self, row, rng):
        recording = self._recordings[row]
        start = rng.integers(len(recording) - self.length + 1)
        return recording[start : start + self.length].astype(np.float32, copy=False)

    def _check_request(self, members):
        """Raises a ValueError if there are fewer classes, or fewer recordings of a class, than a
        batch needs."""
        super()._check_request(members)
        singles = [id_ for id_, rows in enumerate(members) if len(rows) == 1]
        if singles:
            count = "a class" if len(singles) == 1 else f"{len(singles)} classes"
            name, row = self.class_names[singles[0]], members[singles[0]][0]
            first = "" if len(singles) == 1 else "the first is "
            raise ValueError(
                f"`y` has {count} with only one recording: {first}{name!r} (recording {row}). A "
                "pair needs two different recordings. Add recordings, or leave these classes out "
                "by `drop_singles=True`."
            )
        smallest = min(range(len(members)), key=lambda id_: len(members[id_]))
        if len(members[smallest]) < self.per_class:
            raise ValueError(
                f"`per_class` must be at most {len(members[smallest])}, the size of the smallest "
                f"class, {self.class_names[smallest]!r}. Received: per_class={self.per_class}. "
                "Use a smaller number, or leave smaller classes out by `drop_singles=True`."
            )
