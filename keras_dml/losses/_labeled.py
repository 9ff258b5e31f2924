"""Base class of the losses on labels."""

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras
from keras_dml.distances import agreement
from keras_dml.labels import numeric_labels
from keras_dml.layers.precision import full_precision


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
        count = labels.shape[0] if len(labels.shape) else None
        shape = tuple(getattr(y_pred, "shape", ()))  # of several outputs each loss checks its own
        if count == 0:
            raise ValueError(
                f"{type(self).__name__} needs at least one row. Received labels of shape "
                f"{tuple(labels.shape)}."
            )
        if shape and None not in (shape[0], count) and shape[0] != count:
            raise ValueError(
                f"`labels` and embeddings must have the same number of rows. Received {count} "
                f"labels and embeddings of shape {shape}."
            )
        agreement.warn_of_another(self, y_pred)
        return super().__call__(labels, y_pred, sample_weight)
