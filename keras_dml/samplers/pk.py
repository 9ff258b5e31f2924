"""Sampler of P classes with K recordings of each, for triplet losses and mined pairs."""

import numpy as np

from keras_dml._arrays import whole
from keras_dml.samplers._class_sampler import ClassSampler, batches_of_an_epoch
from keras_dml.samplers._recordings import as_recordings, batch_length


class PKSampler(ClassSampler):
    """Sampler of batches of `classes` distinct classes with `per_class` different recordings of
    each.

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
    `steps_per_epoch` of the sampler to that of `fit`, which ends an epoch with batches of it in the
    queue.

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
        steps_per_epoch: Batches in an epoch. Default: `ceil(number of classes / classes)`, in
            which every class appears about once: 20 epochs of 5 classes of 9 are 40 steps.
        length: Time steps of every batch; each recording is cut to it by a random crop. Default:
            whole recordings, which must have one length.
        sessions: Session (day, trial, device) of each recording, same forms as `y`. The rows of
            a class are then from different sessions as far as it has them.
        drop_singles: Whether to leave classes with fewer than `per_class` recordings out, in place
            of an error; `dropped_classes` lists them, and ids count the classes that stay.
        augment: `augment(batch, rng) -> batch` on NumPy arrays `(rows, time, channels)`, rows
            kept in order; `rng` is a `numpy.random.Generator` of this batch alone.
        seed: Non-negative integer.
        **kwargs: `workers`, `use_multiprocessing`, `max_queue_size` of `keras.utils.PyDataset`.

    Raises:
        ValueError, TypeError: At construction, if the recordings or ids are malformed or the
            request is impossible; the message names the recording, the class or the limit.
            `steps`, an older name of `steps_per_epoch`, is accepted; both at once are refused.
    """

    def __init__(
        self,
        x,
        y,
        classes,
        per_class,
        *,
        steps_per_epoch=None,
        steps=None,
        length=None,
        sessions=None,
        drop_singles=False,
        augment=None,
        seed=0,
        **kwargs,
    ):
        self._recordings = as_recordings(x)
        length = None if length is None else whole("length", length, minimum=1)
        self.length = batch_length(self._recordings, length)
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
        """Raises if there are fewer classes, or recordings of a class, than a batch needs."""
        super()._check_request(members)
        singles = [id_ for id_, rows in enumerate(members) if len(rows) == 1]
        if singles:
            count = "a class" if len(singles) == 1 else f"{len(singles)} classes"
            name, row = self.class_names[singles[0]], members[singles[0]][0]
            first = "" if len(singles) == 1 else "the first "
            raise ValueError(
                f"`y` has {count} with one member, {first}{name!r} (recording {row}), and a pair "
                "needs two different recordings. Add recordings, or leave such classes out by "
                "`drop_singles=True`."
            )
        smallest = min(range(len(members)), key=lambda id_: len(members[id_]))
        if len(members[smallest]) < self.per_class:
            raise ValueError(
                f"`per_class` must be at most {len(members[smallest])}, the size of the smallest "
                f"class, {self.class_names[smallest]!r}. Received: per_class={self.per_class}. Ask "
                "for fewer, or leave smaller classes out by `drop_singles=True`."
            )
