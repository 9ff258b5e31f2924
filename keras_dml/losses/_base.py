"""Base classes of the losses. `LabeledLoss` checks labels, and `DistanceMatrixLoss` also computes
all distances between the rows of a batch.
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

MAX_DISTANCE = 1e15  # infinity times a gradient of 0 is NaN; float32 can hold the square of 1e15


class LabeledLoss(keras.losses.Loss):
    """Base class of losses whose labels are class ids. The losses compute in float32 or wider.

    A subclass may have an attribute `distance`. The loss warns if the last layer of the model has a
    distance that differs from the loss's `distance`.

    Args:
        name: Name of the loss.
        dtype: Dtype of the computation, see `keras.losses.Loss`. Half precision is replaced by
            float32, because half precision rounds labels above 256.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.
    """

    def __init__(self, *, name: str, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=full_precision(dtype), **kwargs)

    def __call__(
        self, y_true: ArrayLike | Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        # Labels are checked here, because Keras's later conversion of labels to tensors drops masks
        # and imaginary parts.
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
    """Base class of losses that are computed from the distances between all rows of a batch.
    Subclasses implement `values`.

    Labels are class ids, shape `(batch,)`. Each class may have any number of rows, in any order.
    Predictions are embeddings that the distance accepts. Distances above 1e15 are replaced by 1e15
    and have no gradient. The value of an anchor without a valid pair is 0 unless the subclass
    documents another value. The value of an anchor is NaN if one of its distances is NaN. Labels
    that are not class ids raise an error. In a compiled step, the backend raises the error. If XLA
    compiles the step on TensorFlow, no error is raised, and the value of an anchor with an invalid
    label is NaN.

    Args:
        distance: Distance between embeddings, given as the name of a distance or as a function
            `d(x, y)` that returns distances of shape `(n, m)`.
        name: Name of the loss.
        dtype: Dtype of the computation, see `keras.losses.Loss`. Half precision is replaced by
            float32.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.
    """

    def __init__(
        self,
        distance: distances.Distance | str | Callable[..., Any],
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
        """Computes the distances between all rows, shape `(batch, batch)`. If a subclass compares
        squared distances, the method returns squared distances."""
        return ops.minimum(self.distance(embeddings, embeddings), MAX_DISTANCE)

    def values(self, labels: Tensor, distances: Tensor, embeddings: Tensor) -> Tensor:
        """Computes one value per anchor.

        Args:
            labels: Class ids, int32, shape `(batch,)`. -1 marks an invalid label.
            distances: Distances that `distance_matrix` returned, shape `(batch, batch)`.
            embeddings: Embeddings, shape `(batch, ...)`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `values(labels, distances, embeddings)`. The "
            "method must return one value per anchor, shape (batch,)."
        )


def mean_of_terms(sums: Tensor, counts: Tensor) -> Tensor:
    """Scales the sum of each anchor's terms, so that the mean over anchors equals the mean over all
    terms in the batch.

    Args:
        sums: Sum of each anchor's terms, shape `(batch,)`.
        counts: Number of each anchor's terms, shape `(batch,)`.
    """
    rows = ops.cast(ops.shape(sums)[0], sums.dtype)
    return sums * (rows / ops.maximum(ops.sum(counts), 1))


class _WithLabels(keras.losses.Loss):
    """Wrapper that passes labels to a labeled loss without Keras's cast to float32. The cast would
    give different class ids above 2**24 the same value.

    Args:
        loss: `LabeledLoss` that receives the labels.
        labels: Class ids of the rows. The wrapper passes the class ids to the loss unchanged.
    """

    def __init__(self, loss, labels):
        super().__init__(name=loss.name, reduction=loss.reduction, dtype=loss.dtype)
        self._loss, self._labels = loss, labels

    def call(self, y_true, y_pred):
        return self._loss.call(self._labels, y_pred)


def _check_rows(labels, y_pred):
    """Checks that there is one label per row of the predictions, and returns the labels.

    Raises:
        ValueError: If the number of labels differs from the number of rows. If the numbers of
            labels and rows are known only while the graph runs, the backend raises an error.
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
