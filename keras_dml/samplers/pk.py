"""P classes, K recordings of each: the batch of triplet losses and of mined pairs."""

import math

import numpy as np

from keras_dml._arrays import whole
from keras_dml._backend import keras
from keras_dml.samplers._ids import dense_ids
from keras_dml.samplers._recordings import as_recordings, batch_length

CLASS_STREAM, ROW_STREAM, AUGMENT_STREAM = range(3)


class PKSampler(keras.utils.PyDataset):
    """Batches of `classes` distinct classes with `per_class` different recordings of each.

    Use it with losses that look for positives and negatives among all rows of a batch. `fit`
    takes the sampler on every backend; `to_tf_data` gives the same batches as a `tf.data.Dataset`.

    The rows of a class are adjacent, so that cutting a batch into equal parts for replicas keeps
    every class whole when the number of replicas divides `classes`.

    Batch `i` of epoch `e` depends on `(seed, e, i)` alone, not on the number of workers or on the
    batches drawn before. `fit` ends an epoch once before its first one: its epoch `k` (from 0)
    takes the batches of epoch `sampler.epoch + k + 1`, with `sampler.epoch` as it was before the
    call. A run that was stopped after `k` epochs therefore goes on exactly with
    `sampler.epoch = k` (0 at construction) and `fit(..., initial_epoch=k, shuffle=False)`;
    without `shuffle=False` Keras shuffles the order of the batches by Python's `random`. Prefer
    `steps` to the `steps_per_epoch` of `fit`, which ends an epoch with batches of it in the queue.

    With `workers` above 1 on JAX, the first `fit` after `compile` begins with batches left over
    from building the loss (Keras 3.15); one `evaluate` on a batch before it gives the order of one
    worker.

    >>> import numpy as np
    >>> x, y = np.zeros((6, 50, 3)), ["ann", "bob", "cid", "ann", "bob", "cid"]
    >>> sampler = PKSampler(x, y, classes=2, per_class=2, length=40)
    >>> signal, labels = sampler[0]
    >>> signal.shape, labels.shape, len(sampler)
    ((4, 40, 3), (4,), 2)

    Args:
        x: Recordings, shape `(recordings, time, channels)`, or a list of arrays
            `(time_i, channels)`. Kept as they are, not copied.
        y: Class of each recording, shape `(recordings,)` or `(recordings, 1)`: integers of any
            size, strings, bytes, or floats that are integers. Batches carry dense ids;
            `class_names[id]` gives the original back.
        classes: Distinct classes in a batch, at least 2 and at most as many as `y` has.
        per_class: Recordings of each, at least 2 and at most as many as the smallest class has.
        steps: Batches in an epoch. Default: `ceil(number of classes / classes)`, in which every
            class appears about once.
        length: Time steps of every batch; each recording is cut to it by a random crop. Default:
            whole recordings, which must have one length.
        sessions: Session (day, trial, device) of each recording, same forms as `y`. The rows of
            a class are then from different sessions as far as it has them.
        augment: `augment(batch, rng) -> batch` on NumPy arrays `(rows, time, channels)`, rows
            kept in order; `rng` is a `numpy.random.Generator` of this batch alone.
        seed: Non-negative integer.
        **kwargs: `workers`, `use_multiprocessing`, `max_queue_size` of `keras.utils.PyDataset`.

    Raises:
        ValueError, TypeError: At construction, if the recordings or ids are malformed or the
            request is impossible; the message names the recording, the class or the limit.
    """

    _classes_argument = "classes"

    def __init__(
        self,
        x,
        y,
        classes,
        per_class,
        *,
        steps=None,
        length=None,
        sessions=None,
        augment=None,
        seed=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.classes = whole(self._classes_argument, classes, least=2)
        self.per_class = whole("per_class", per_class, least=2)
        self.seed = whole("seed", seed, least=0)
        self.augment = augment
        self.epoch = 0
        length = None if length is None else whole("length", length, least=1)
        self._recordings = as_recordings(x)
        self.length = batch_length(self._recordings, length)
        ids, self.class_names = dense_ids("y", y, len(self._recordings))
        self._members = _members(ids)
        self._check_request()
        self._sessions = None
        if sessions is not None:
            self._sessions, _ = dense_ids("sessions", sessions, len(self._recordings))
        self._batches_to_cover = math.ceil(len(self.class_names) / self.classes)
        self._steps = self._batches_to_cover if steps is None else whole("steps", steps, least=1)

    @property
    def epoch(self):
        """The epoch whose batches are drawn; set it to go on with an earlier run."""
        return self._epoch

    @epoch.setter
    def epoch(self, value):
        self._epoch = whole("epoch", value, least=0)

    def __len__(self):
        return self._steps

    def __getitem__(self, index):
        """Batch `index` of the present epoch: rows (rows, length, channels), dense ids (rows,)."""
        if not 0 <= index < len(self):
            raise IndexError(f"An epoch has {len(self)} batches. Received index {index}.")
        return self._batch(self.epoch, index)

    def on_epoch_end(self):
        """Moves on to the batches of the next epoch."""
        self.epoch += 1

    def to_tf_data(self, epochs=1):
        """The same batches in the same order as a `tf.data.Dataset` with static shapes.

        For several epochs of `fit`: `fit(sampler.to_tf_data(epochs=20), epochs=20,
        steps_per_epoch=len(sampler))`.

        Args:
            epochs: Number of epochs, from the sampler's present one on, one after another.

        Returns:
            Data set of `epochs * len(sampler)` batches; iterating it leaves `epoch` as it is.

        Raises:
            ImportError: If TensorFlow is not installed.
        """
        try:
            import tensorflow as tf
        except ImportError as error:
            raise ImportError(
                "`to_tf_data` needs TensorFlow: pip install keras-dml[tensorflow]"
            ) from error
        numbers = range(self.epoch, self.epoch + whole("epochs", epochs, least=1))
        signal, labels = self._batch(self.epoch, 0)
        dataset = tf.data.Dataset.from_generator(
            lambda: (self._batch(epoch, step) for epoch in numbers for step in range(len(self))),
            output_signature=(
                tf.TensorSpec(signal.shape, signal.dtype),
                tf.TensorSpec(labels.shape, labels.dtype),
            ),
        )
        return dataset.apply(tf.data.experimental.assert_cardinality(len(numbers) * len(self)))

    def _check_request(self):
        """Refuses more classes, or more recordings of a class, than there are."""
        if len(self._members) < self.classes:
            raise ValueError(
                f"`{self._classes_argument}` must be at most {len(self._members)}, the number of "
                "classes in `y`, since the classes of a batch are distinct. Received: "
                f"{self._classes_argument}={self.classes}."
            )
        smallest = min(range(len(self._members)), key=lambda id_: len(self._members[id_]))
        name, members = self.class_names[smallest], len(self._members[smallest])
        if members == 1:
            raise ValueError(
                f"`y` has a class with one member, {name!r} (recording "
                f"{self._members[smallest][0]}), and a pair needs two different recordings. Add "
                "recordings of it or leave it out."
            )
        if members < self.per_class:
            raise ValueError(
                f"`per_class` must be at most {members}, the size of the smallest class, "
                f"{name!r}. Received: per_class={self.per_class}."
            )

    def _batch(self, epoch, index):
        """Rows (rows, length, channels) in float32 and their ids (rows,) in int32."""
        ids = self._draw_classes(epoch, index)  # (classes,)
        rng = self._rng(ROW_STREAM, epoch, index)
        rows = np.concatenate([self._draw_members(id_, rng) for id_ in ids])
        batch = np.stack([self._crop(row, rng) for row in rows])  # (rows, length, channels)
        if self.augment is not None:
            batch = np.asarray(self.augment(batch, self._rng(AUGMENT_STREAM, epoch, index)))
            if batch.ndim != 3 or len(batch) != len(rows):
                raise ValueError(
                    f"`augment` must return a batch (rows, time, channels) with all {len(rows)} "
                    f"rows in order. Received shape {batch.shape}."
                )
        return batch.astype(np.float32, copy=False), np.repeat(ids, self.per_class)

    def _draw_classes(self, epoch, index):
        """The classes of a batch: its part of a permutation that some batches cover together."""
        cover, part = divmod(index, self._batches_to_cover)
        order = self._rng(CLASS_STREAM, epoch, cover).permutation(len(self._members))
        positions = np.arange(part * self.classes, (part + 1) * self.classes)
        return np.take(order, positions, mode="wrap").astype(np.int32)  # the last part wraps round

    def _draw_members(self, id_, rng):
        """Indices of `per_class` different recordings, from as many sessions as can be."""
        order = rng.permutation(self._members[id_])
        if self._sessions is not None:
            order = order[np.argsort(_occurrence(self._sessions[order]), kind="stable")]
        return order[: self.per_class]

    def _crop(self, row, rng):
        recording = self._recordings[row]
        start = rng.integers(len(recording) - self.length + 1)
        return recording[start : start + self.length].astype(np.float32, copy=False)

    def _rng(self, stream, epoch, index):
        return np.random.default_rng(
            np.random.SeedSequence(self.seed, spawn_key=(stream, epoch, index))
        )


def _members(ids):
    """Indices of the recordings of each class: a list of arrays, at position id."""
    return np.split(np.argsort(ids, kind="stable"), np.cumsum(np.bincount(ids))[:-1])


def _occurrence(values):
    """How many equal values stand before each one: [7, 7, 5, 7] -> [0, 1, 0, 2]."""
    order = np.argsort(values, kind="stable")
    counts = np.empty(len(values), int)
    counts[order] = np.arange(len(values)) - np.searchsorted(values[order], values[order])
    return counts
