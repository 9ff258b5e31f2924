"""Provides a sampler of few-shot episodes. An episode is a batch of N classes, with K support
examples and Q query examples of each class.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml._arrays import whole
from keras_dml._typing import ArrayLike
from keras_dml.samplers._class_sampler import ClassSampler, batches_of_an_epoch
from keras_dml.samplers._recordings import as_examples

LABELS = ("classes", "episode")


class EpisodeSampler(ClassSampler):
    """Sampler of few-shot episodes. An episode contains `ways` classes, with `shots` support
    examples and `queries` query examples of each class.

    Use this sampler to train with the same kind of episodes as in few-shot evaluation
    (Vinyals2016). The sampler is also suitable for `models.PrototypicalClassifier`, whose pair term
    needs several examples of each class in a batch. For `PrototypicalClassifier`, use
    `labels="classes"`, so that the classifier updates the prototypes of the right classes.

    A batch holds the support examples of all classes, class by class, followed by the query
    examples in the same order of classes. The support set is `batch[:rows].reshape(ways, shots,
    ...)` with `rows = ways * shots`. No example appears twice in an episode.

    Episode `i` of epoch `e` depends only on `(seed, e, i)`. Classes are drawn without replacement
    until all classes have been drawn. The documentation of `PKSampler` explains how to resume a
    run.

    >>> import numpy as np
    >>> x, y = np.zeros((30, 28, 28, 1)), np.repeat([3, 5, 7], 10)
    >>> images, labels = EpisodeSampler(x, y, ways=2, shots=1, queries=4, labels="episode")[0]
    >>> images.shape, labels.tolist()
    ((10, 28, 28, 1), [0, 1, 0, 0, 0, 0, 1, 1, 1, 1])

    Args:
        x: Examples that all have the same shape, such as images, recordings or vectors, shape
            `(examples, ...)`. The examples are not copied. Batches contain the examples in float32.
        y: Class of each example, shape `(examples,)` or `(examples, 1)`. Classes are integers of
            any size, strings, bytes, or floats with integer values.
        ways: Number of distinct classes in an episode, at least 2 and at most the number of classes
            in `y`.
        shots: Number of support examples of each class, at least 1.
        queries: Number of query examples of each class, at least 1.
        steps_per_epoch: Number of episodes in an epoch. By default, an epoch draws each example
            about once.
        steps: Older name of `steps_per_epoch`.
        groups: Group of each example, in the same forms as `y`. For example, the group of a
            character is its alphabet. All examples of a class must have the same group. If groups
            are given, an episode draws groups in a random order. The episode draws all classes of
            one group before it draws classes of the next group. Classes of the same group are
            usually harder to distinguish. By default, an episode draws from all classes.
        mixed: Fraction of episodes that ignore `groups`, so that their classes come from all
            groups.
        labels: Kind of labels in a batch, `"classes"` or `"episode"`. With `"classes"`, labels are
            class ids, which are the same in all episodes, and `class_names[id]` is the original id.
            With `"episode"`, the classes of each episode get labels from 0 to `ways - 1`.
        augment: Function `augment(batch, rng) -> batch` that changes NumPy arrays `(rows, ...)` and
            keeps the order of rows. `rng` is a `numpy.random.Generator` for this episode only.
        seed: Seed of all draws, a non-negative integer.
        **kwargs: Arguments `sessions` and `drop_singles` of `PKSampler`, and arguments `workers`,
            `use_multiprocessing` and `max_queue_size` of `keras.utils.PyDataset`.

    Raises:
        ValueError, TypeError: If examples or ids are invalid, if a class has fewer than `shots +
            queries` examples, or if a class has examples in two groups.
    """

    _classes_argument = "ways"

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        ways: int,
        shots: int,
        queries: int,
        *,
        steps_per_epoch: int | None = None,
        steps: int | None = None,
        labels: str = "classes",
        augment: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self._examples = as_examples(x)
        if labels not in LABELS:
            raise ValueError(f"`labels` must be one of {LABELS}. Received labels={labels!r}.")
        self.ways: int = whole("ways", ways, minimum=2)
        self.shots: int = whole("shots", shots, minimum=1)
        self.queries: int = whole("queries", queries, minimum=1)
        self.labels = labels
        self._block_ends = (self.shots,)
        each = self.shots + self.queries
        count = len(self._examples)
        steps = batches_of_an_epoch(steps_per_epoch, steps)
        super().__init__(
            count,
            y,
            self.ways,
            each,
            steps=math.ceil(count / (self.ways * each)) if steps is None else steps,
            augment=augment,
            seed=seed,
            **kwargs,
        )

    def _example(self, row, rng):
        return self._examples[row].astype(np.float32, copy=False)

    def _batch_labels(self, ids):
        return np.arange(self.ways, dtype=np.int32) if self.labels == "episode" else ids

    def _check_request(self, members):
        """Raises a ValueError if there are fewer classes, or fewer examples of a class, than an
        episode needs."""
        super()._check_request(members)
        small = [id_ for id_, rows in enumerate(members) if len(rows) < self.per_class]
        if small:
            raise ValueError(
                f"Each class needs shots + queries = {self.per_class} examples. {len(small)} of "
                f"{len(members)} classes have fewer. The first of these is "
                f"{self.class_names[small[0]]!r} with {len(members[small[0]])}. Use fewer shots "
                "or queries, or leave smaller classes out by `drop_singles=True`."
            )
