"""Base classes of the losses: `LabeledLoss` on labels, `DistanceMatrixLoss` on all distances of a
batch.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml import distances
from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml._backend.enforced import enforced
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.distances import agreement
from keras_dml.labels import numeric_labels
from keras_dml.layers.head import full_precision
from keras_dml.losses.pairs import class_ids

MAX_DISTANCE = 1e15  # infinity times a gradient of 0 is NaN; float32 holds the square of this


class LabeledLoss(keras.losses.Loss):
    """Base class of losses whose labels are class ids, which compute in float32 or wider.

    A subclass with a `distance` warns if the head of the model names another distance.

    Args:
        name: Name of the loss.
        dtype: See `keras.losses.Loss`. Half precision is widened to float32, because it rounds
            labels from 257 on.
        **kwargs: See `reduction` of `keras.losses.Loss`.
    """

    def __init__(self, *, name: str, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=full_precision(dtype), **kwargs)

    def __call__(
        self, y_true: ArrayLike | Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        # Checked before Keras converts them to tensors, which drops masks and imaginary parts.
        labels = numeric_labels(y_true)
        if isinstance(y_pred, (np.ndarray, list, tuple)):
            y_pred = real("Predictions", y_pred)
        if len(labels.shape) and labels.shape[0] == 0:
            raise ValueError(
                f"{type(self).__name__} needs at least one row. Received labels of shape "
                f"{tuple(labels.shape)}."
            )
        if len(labels.shape) and len(getattr(y_pred, "shape", ())):  # a dict has no shape
            labels = _check_rows(labels, y_pred)
        agreement.warn_of_another(self, y_pred)
        return _WithLabels(self, labels)((), y_pred, sample_weight)


class DistanceMatrixLoss(LabeledLoss):
    """Base class of losses of the distances between all rows of a batch. Subclasses implement
    `values`.

    Labels are class ids, shape `(batch,)`, in any number and order. Predictions are embeddings that
    the distance takes. Distances beyond 1e15 count as 1e15, without a gradient. An anchor without a
    valid pair has the value 0 unless the subclass documents another value. An anchor with a NaN
    among its distances has the value NaN. Labels that are not ids raise an error, in a compiled
    step an error of the backend. If XLA compiles the step on TensorFlow, their anchors have the
    value NaN.

    Args:
        distance: Name of a distance, or an object `d(x, y) -> (n, m)`.
        name: Name of the loss.
        dtype: See `keras.losses.Loss`; widened to float32.
        **kwargs: See `reduction` of `keras.losses.Loss`.
    """

    def __init__(
        self,
        distance: distances.Distance | str | Callable,
        *,
        name: str,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.distance = distances.get(distance)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        labels = class_ids(y_true)
        matrix = self.distance_matrix(y_pred)
        values = self.values(labels, matrix, y_pred)
        sums = ops.sum(ops.stop_gradient(matrix), axis=1)
        invalid = ops.logical_or(ops.isnan(sums), labels < 0)
        return ops.where(invalid, float("nan"), values)

    def distance_matrix(self, embeddings: Tensor) -> Tensor:
        """Computes the distances between all rows, or their squares if a subclass compares squares,
        shape `(batch, batch)`."""
        return ops.minimum(self.distance(embeddings, embeddings), MAX_DISTANCE)

    def values(self, labels: Tensor, distances: Tensor, embeddings: Tensor) -> Tensor:
        """Computes one value per anchor.

        Args:
            labels: Class ids, int32, shape `(batch,)`; -1: invalid.
            distances: Result of `distance_matrix`.
            embeddings: Embeddings, shape `(batch, ...)`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `values(labels, distances, embeddings)`. It "
            "returns one value per anchor, shape (batch,)."
        )


def mean_of_terms(sums: Tensor, counts: Tensor) -> Tensor:
    """Scales the sums of anchors so that their mean is the mean of all terms of the batch.

    Args:
        sums: Sum of an anchor's terms, shape `(batch,)`.
        counts: Number of an anchor's terms, shape `(batch,)`.
    """
    rows = ops.cast(ops.shape(sums)[0], sums.dtype)
    return sums * (rows / ops.maximum(ops.sum(counts), 1))


class _WithLabels(keras.losses.Loss):
    """A labeled loss whose labels Keras does not cast, because float32 would merge ids from 2**24
    on.

    Args:
        loss: A `LabeledLoss`.
        labels: Labels for the loss.
    """

    def __init__(self, loss, labels):
        super().__init__(name=loss.name, reduction=loss.reduction, dtype=loss.dtype)
        self._loss, self._labels = loss, labels

    def call(self, y_true, y_pred):
        return self._loss.call(self._labels, y_pred)


def _check_rows(labels, y_pred):
    """Returns the labels if there is one for each row of the predictions.

    Raises:
        ValueError: If their numbers differ. If only the graph knows the numbers, the step stops
            with an error of its backend.
    """
    count, rows = labels.shape[0], y_pred.shape[0]
    message = "`labels` and embeddings must have the same number of rows."
    if None in (count, rows):
        equal = ops.equal(ops.shape(labels)[0], ops.shape(y_pred)[0])
        return ops.where(enforced(equal, message), labels, ops.zeros_like(labels))
    if count != rows:
        raise ValueError(
            f"{message} Received {count} labels and embeddings of shape {tuple(y_pred.shape)}."
        )
    return labels
