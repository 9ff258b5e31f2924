"""Base class of the losses on labels."""

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml._backend.enforced import enforced
from keras_dml.distances import agreement
from keras_dml.labels import numeric_labels
from keras_dml.layers.head import full_precision


class LabeledLoss(keras.losses.Loss):
    """A loss whose labels are class ids, and which computes in float32 at least.

    A subclass with a `distance` warns if the head that made the embeddings names another one.

    Args:
        name: Name of the loss.
        dtype: See `keras.losses.Loss`; widened to float32: half precision rounds labels from 257
            on.
        **kwargs: See `reduction` of `keras.losses.Loss`.
    """

    def __init__(self, *, name, dtype=None, **kwargs):
        super().__init__(name=name, dtype=full_precision(dtype), **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        # before Keras makes tensors of them, which drops masks and imaginary parts
        labels = numeric_labels(y_true)
        if isinstance(y_pred, (np.ndarray, list, tuple)):
            y_pred = real("Predictions", y_pred)
        if len(labels.shape) and labels.shape[0] == 0:
            raise ValueError(
                f"{type(self).__name__} needs at least one row. Received labels of shape "
                f"{tuple(labels.shape)}."
            )
        if len(labels.shape) and len(getattr(y_pred, "shape", ())):  # a dict has no shape
            labels = _one_per_row(labels, y_pred)
        agreement.warn_of_another(self, y_pred)
        return _WithLabels(self, labels)((), y_pred, sample_weight)


class _WithLabels(keras.losses.Loss):
    """A labeled loss of labels that Keras does not cast: float32 would merge ids from 2**24 on.

    Args:
        loss: A `LabeledLoss`.
        labels: Its labels.
    """

    def __init__(self, loss, labels):
        super().__init__(name=loss.name, reduction=loss.reduction, dtype=loss.dtype)
        self._loss, self._labels = loss, labels

    def call(self, y_true, y_pred):
        return self._loss.call(self._labels, y_pred)


def _one_per_row(labels, y_pred):
    """Returns the labels if there is one for each row of the predictions.

    Raises:
        ValueError: If their number differs. If only the graph knows the numbers, the step stops
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
