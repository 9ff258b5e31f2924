"""N classes, K support and Q query examples of each: the batch of an episode."""

import math

import numpy as np

from keras_dml._arrays import real, whole
from keras_dml.samplers.pk import AUGMENT_STREAM, ROW_STREAM, PKSampler

LABELS = ("classes", "episode")


class EpisodeSampler(PKSampler):
    """Episodes of `ways` classes with `shots` support and `queries` query examples of each.

    Use it to train as few-shot evaluation tests (Vinyals2016), and with
    `models.PrototypicalClassifier`, whose pair term needs several examples of each class in a
    batch: with labels of the whole training set its prototypes move as in any other batch.

    Rows are the support examples of all classes, class by class, then the query examples in the
    same order of classes: with `rows = ways * shots`, `batch[:rows].reshape(ways, shots, ...)` is
    the support set. No example comes twice in an episode.

    `PKSampler` says how batches, epochs and resuming depend on the seed: episode `i` of epoch `e`
    depends on `(seed, e, i)` alone, and classes come without replacement while they last.

    >>> import numpy as np
    >>> x, y = np.zeros((30, 28, 28, 1)), np.repeat([3, 5, 7], 10)
    >>> images, labels = EpisodeSampler(x, y, ways=2, shots=1, queries=4, labels="episode")[0]
    >>> images.shape, labels.tolist()
    ((10, 28, 28, 1), [0, 1, 0, 0, 0, 0, 1, 1, 1, 1])

    Args:
        x: Examples of one shape, shape `(examples, ...)`: images, recordings, vectors. Kept as
            they are; batches are float32 of the same values.
        y: Class of each example, shape `(examples,)` or `(examples, 1)`: integers of any size,
            strings, bytes, or floats that are integers.
        ways: Distinct classes in an episode, at least 2 and at most as many as `y` has.
        shots: Support examples of each, at least 1.
        queries: Query examples of each, at least 1.
        steps: Episodes in an epoch. Default: as many as show each example about once.
        labels: `"classes"`: dense ids of all classes of `y`, `class_names[id]` being the original;
            or `"episode"`: 0 to `ways - 1` in each episode.
        augment: `augment(batch, rng) -> batch` on NumPy arrays `(rows, ...)`, rows kept in order;
            `rng` is a `numpy.random.Generator` of this episode alone.
        seed: Non-negative integer.
        **kwargs: `sessions` of `PKSampler`; `workers`, `use_multiprocessing`, `max_queue_size` of
            `keras.utils.PyDataset`.

    Raises:
        ValueError, TypeError: At construction, if the examples or ids are malformed, or a class
            has fewer than `shots + queries` examples.
    """

    _classes_argument = "ways"

    def __init__(
        self,
        x,
        y,
        ways,
        shots,
        queries,
        *,
        steps=None,
        labels="classes",
        augment=None,
        seed=0,
        **kwargs,
    ):
        x = real("`x`", x)
        if x.ndim < 2 or x.size == 0:
            raise ValueError(
                "`x` must hold examples of one shape, shape (examples, ...), at least one. "
                f"Received shape {x.shape}."
            )
        if labels not in LABELS:
            raise ValueError(f"`labels` must be one of {LABELS}. Received labels={labels!r}.")
        self.shots = whole("shots", shots, least=1)
        self.queries = whole("queries", queries, least=1)
        self.labels = labels
        self.example_shape = x.shape[1:]
        rows = whole("ways", ways, least=2) * (self.shots + self.queries)
        super().__init__(
            x.reshape(len(x), x.shape[1], -1),  # a recording, for what all samplers share
            y,
            ways,
            self.shots + self.queries,
            steps=math.ceil(len(x) / rows) if steps is None else steps,
            augment=augment,
            seed=seed,
            **kwargs,
        )
        self.ways = self.classes

    def _check_request(self):
        """Refuses more classes than there are, and classes too small for an episode."""
        if len(self._members) < self.classes:
            raise ValueError(
                f"`ways` must be at most {len(self._members)}, the number of classes in `y`. "
                f"Received: ways={self.classes}."
            )
        small = [id_ for id_, rows in enumerate(self._members) if len(rows) < self.per_class]
        if small:
            name, members = self.class_names[small[0]], len(self._members[small[0]])
            raise ValueError(
                f"Each class needs shots + queries = {self.per_class} examples. {len(small)} of "
                f"{len(self._members)} classes have fewer, the first {name!r} with {members}. Ask "
                "for fewer, or leave these classes out."
            )

    def _batch(self, epoch, index):
        """Rows (rows, ...) in float32 and their ids (rows,) in int32, support before queries."""
        ids = self._draw_classes(epoch, index)  # (ways,)
        rng = self._rng(ROW_STREAM, epoch, index)
        drawn = np.stack([self._draw_members(id_, rng) for id_ in ids])  # (ways, shots + queries)
        rows = np.concatenate([part.ravel() for part in np.split(drawn, [self.shots], axis=1)])
        batch = np.stack([self._crop(row, rng) for row in rows])
        batch = batch.reshape(len(rows), *self.example_shape)
        if self.augment is not None:
            batch = np.asarray(self.augment(batch, self._rng(AUGMENT_STREAM, epoch, index)))
            if batch.ndim < 2 or len(batch) != len(rows):
                raise ValueError(
                    f"`augment` must return a batch (rows, ...) with all {len(rows)} rows in "
                    f"order. Received shape {batch.shape}."
                )
        if self.labels == "episode":
            ids = np.arange(self.ways, dtype=np.int32)
        labels = np.concatenate([np.repeat(ids, self.shots), np.repeat(ids, self.queries)])
        return batch.astype(np.float32, copy=False), labels
