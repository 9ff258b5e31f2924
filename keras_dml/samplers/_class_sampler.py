"""Defines the base class of the samplers."""

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml._arrays import whole
from keras_dml._backend import keras
from keras_dml._typing import ArrayLike
from keras_dml.samplers._drawing import AUGMENT_STREAM, ROW_STREAM, Drawing, members_by_class
from keras_dml.samplers._ids import dense_ids

if TYPE_CHECKING:
    import tensorflow as tf


class ClassSampler(keras.utils.PyDataset):
    """Base class of samplers. A sampler draws batches that contain several classes, and several
    different examples of each class. Subclasses implement `_example`.

    Args:
        count: Number of examples.
        y: Class of each example, shape `(count,)` or `(count, 1)`. Classes are integers, strings,
            bytes, or floats with integer values.
        classes: Number of distinct classes in a batch.
        per_class: Number of examples of each class in a batch.
        steps: Number of batches in an epoch. If None, an epoch draws each class about once.
        sessions: Session of each example, in the same forms as `y`, or None if sessions are
            unknown.
        groups: Group of each example, in the same forms as `y`, or None if there are no groups. All
            examples of a class must have the same group.
        mixed: Fraction of the batches that ignore `groups`, so that their classes come from all
            groups.
        drop_singles: Whether to drop classes with fewer than `per_class` examples.
        augment: Function `augment(batch, rng)` that returns a changed batch of NumPy arrays. By
            default, batches are not changed.
        seed: Seed of all draws, a non-negative integer.
        **kwargs: Further arguments of `keras.utils.PyDataset`, such as `workers`.
    """

    _classes_argument = "classes"
    _block_ends = ()  # numbers of examples of a class at which a new block of rows begins

    def __init__(
        self,
        count: int,
        y: ArrayLike,
        classes: int,
        per_class: int,
        *,
        steps: int | None = None,
        sessions: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        mixed: float = 0.0,
        drop_singles: bool = False,
        augment: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.classes: int = whole(self._classes_argument, classes, minimum=2)
        self.per_class: int = whole("per_class", per_class, minimum=2)
        self.seed: int = whole("seed", seed, minimum=0)
        if augment is not None and not callable(augment):
            raise TypeError(
                "`augment` must be a function `augment(batch, rng)`, or None. Received "
                f"{augment!r}."
            )
        self.augment = augment
        self.epoch = 0
        self.class_names: list[Any]
        ids, self.class_names = dense_ids("y", y, count)
        members = members_by_class(ids)
        self.dropped_classes: list[Any] = []
        if drop_singles:
            small = [len(rows) < self.per_class for rows in members]
            self.dropped_classes = _where(self.class_names, small)
            large = [not is_small for is_small in small]
            members, self.class_names = _where(members, large), _where(self.class_names, large)
        self._check_request(members)
        if sessions is not None:
            sessions, _ = dense_ids("sessions", sessions, count)
        if groups is not None:
            groups = self._groups_of_classes(*dense_ids("groups", groups, count), members)
        elif mixed:
            raise ValueError(
                "`mixed` is the fraction of episodes that ignore `groups`, so it needs `groups`. "
                f"Received mixed={mixed!r} without groups. Pass `groups` too, or leave out `mixed`."
            )
        self._drawing = Drawing(
            members,
            self.classes,
            self.per_class,
            sessions=sessions,
            groups=groups,
            mixed=_fraction("mixed", mixed),
            seed=self.seed,
        )
        steps = self._drawing.batches_to_cover if steps is None else steps
        self._steps = whole("steps", steps, minimum=1)

    @property
    def epoch(self) -> int:
        """Number of the epoch whose batches are drawn. Set `epoch` to resume an earlier run."""
        return self._epoch

    @epoch.setter
    def epoch(self, value: int) -> None:
        self._epoch = whole("epoch", value, minimum=0)

    def __len__(self) -> int:
        return self._steps

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns batch `index` of the current epoch, as examples in float32 and class ids
        `(rows,)` in int32.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"An epoch has {len(self)} batches. Received index {index}.")
        return self._batch(self.epoch, index)

    def on_epoch_end(self) -> None:
        """Advances to the batches of the next epoch."""
        self.epoch += 1

    def to_tf_data(self, epochs: int = 1) -> "tf.data.Dataset":
        """Returns the batches of this sampler, in the same order, as a `tf.data.Dataset` with
        static shapes.

        To train for several epochs, call `fit(sampler.to_tf_data(epochs=20), epochs=20,
        steps_per_epoch=len(sampler))`.

        Args:
            epochs: Number of consecutive epochs, beginning with the current epoch.

        Returns:
            Data set of `epochs * len(sampler)` batches. Iterating over the data set does not change
            `epoch`.

        Raises:
            ImportError: If TensorFlow is not installed.
        """
        try:
            import tensorflow as tf
        except ImportError as error:
            raise ImportError(
                "`to_tf_data` needs TensorFlow: pip install keras-dml[tensorflow]"
            ) from error
        numbers = range(self.epoch, self.epoch + whole("epochs", epochs, minimum=1))
        examples, labels = self._batch(self.epoch, 0)
        dataset = tf.data.Dataset.from_generator(
            lambda: (self._batch(epoch, step) for epoch in numbers for step in range(len(self))),
            output_signature=(
                tf.TensorSpec(examples.shape, examples.dtype),
                tf.TensorSpec(labels.shape, labels.dtype),
            ),
        )
        return dataset.apply(tf.data.experimental.assert_cardinality(len(numbers) * len(self)))

    def _batch(self, epoch, index):
        """Draws a batch block by block. Returns examples `(rows, ...)` in float32 and class ids
        `(rows,)` in int32.
        """
        rng = self._drawing.generator(ROW_STREAM, epoch, index)
        ids = self._drawing.class_ids(epoch, index)  # (classes,)
        drawn = self._drawing.rows(ids, rng)  # (classes, per_class)
        blocks = np.split(drawn, self._block_ends, axis=1)
        rows = np.concatenate([block.ravel() for block in blocks])
        batch = np.stack([self._example(row, rng) for row in rows])
        if self.augment is not None:
            axes, rng = batch.ndim, self._drawing.generator(AUGMENT_STREAM, epoch, index)
            batch = np.asarray(self.augment(batch, rng))
            if batch.ndim < axes or len(batch) != len(rows):
                raise ValueError(
                    f"`augment` must return all {len(rows)} rows of the batch in the same order, "
                    f"as an array with at least {axes} axes. Received shape {batch.shape}."
                )
        ids = self._batch_labels(ids)
        labels = np.concatenate([np.repeat(ids, block.shape[1]) for block in blocks])
        return batch.astype(np.float32, copy=False), labels

    def _example(self, row, rng):
        """Returns the example with index `row`, float32."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method `_example(row, rng)`. The method must return one "
            "example, a float32 array."
        )

    def _batch_labels(self, ids):
        """Returns the label of each class in a batch, int32, shape `(classes,)`."""
        return ids

    def _groups_of_classes(self, groups, names, members):
        """Returns the group of each class, as integers 0, 1, and so on.

        Raises:
            ValueError: If a class has examples in two groups.
        """
        for id_, rows in enumerate(members):
            distinct = np.unique(groups[rows])
            if len(distinct) > 1:
                raise ValueError(
                    f"`groups` must hold one group per class. Class {self.class_names[id_]!r} has "
                    f"examples in the groups {[names[group] for group in distinct[:3]]}. Give all "
                    "examples of a class the same group."
                )
        return groups[[rows[0] for rows in members]]

    def _check_request(self, members):
        """Raises a ValueError if there are fewer classes than a batch needs."""
        if len(members) < self.classes:
            name, dropped = self._classes_argument, len(self.dropped_classes)
            note = f" ({dropped} left out by `drop_singles`)" if dropped else ""
            raise ValueError(
                f"`{name}` must be at most {len(members)}, the number of classes in `y`{note}, "
                "because a batch contains each class at most once. Received: "
                f"{name}={self.classes}."
            )


def batches_of_an_epoch(steps_per_epoch: int | None, steps: int | None) -> int | None:
    """Returns the number of batches per epoch, which users pass as `steps_per_epoch` or as `steps`
    (the old name).
    """
    if steps_per_epoch is not None and steps is not None:
        raise ValueError(
            f"Received steps_per_epoch={steps_per_epoch!r} and steps={steps!r}. `steps` is the old "
            "name of `steps_per_epoch`. Pass only `steps_per_epoch`."
        )
    if steps_per_epoch is not None:
        return whole("steps_per_epoch", steps_per_epoch, minimum=1)
    return steps


def _fraction(name, value):
    if not isinstance(value, numbers.Real) or not 0 <= value <= 1:
        raise ValueError(f"`{name}` must be a fraction from 0 to 1. Received {name}={value!r}.")
    return float(value)


def _where(values, mask):
    return [value for value, keep in zip(values, mask, strict=True) if keep]
