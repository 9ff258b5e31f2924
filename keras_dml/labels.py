"""Checks labels. A label is the class id of a row. Every label must be the id of a class that the
model knows.
"""

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml._typing import ArrayLike, Tensor


def numeric_labels(labels: ArrayLike | Tensor) -> Tensor:
    """Checks that labels are numbers. Returns a tensor unchanged, and other labels as an array.

    If some batches have labels of shape `(rows,)` and others of shape `(rows, 1)`, TensorFlow
    compiles a step for labels of unknown rank. This function reshapes labels of unknown rank to
    `(rows,)`.

    Raises:
        TypeError: If the labels are names or not real numbers.
    """
    if _are_names(labels):
        raise TypeError(
            "`labels` must be class ids, which are whole numbers from 0. Received names. `names, "
            "labels = numpy.unique(labels, return_inverse=True)` converts names to ids, and "
            "`names[id]` is the name of an id."
        )
    if not ops.is_tensor(labels):
        return real("`labels`", labels)
    has_rank = getattr(labels.shape, "rank", 0) is not None
    return labels if has_rank else ops.reshape(labels, (-1,))


def column_of(labels: ArrayLike | Tensor) -> Tensor:
    """Reshapes labels of shape `(rows, 1)` to `(rows,)`. Labels of other shapes are returned
    unchanged.

    Args:
        labels: Labels, an array or a tensor.
    """
    return labels[:, 0] if len(labels.shape) == 2 and labels.shape[1] == 1 else labels


def checked_labels(labels: ArrayLike | Tensor, rows: int, classes: int) -> np.ndarray:
    """Checks that there is one label per row and that each label is a class id. Returns an array.

    Args:
        labels: Labels, shape `(rows,)` or `(rows, 1)`.
        rows: Number of rows.
        classes: Number of classes.

    Raises:
        TypeError: If the labels are neither numbers nor names (see `numeric_labels`).
        ValueError: If the labels have another shape, or if a label is not a class id. The error
            message contains the invalid label.
    """
    names = _are_names(labels)  # names raise the error below, which states the number of classes
    labels = column_of(np.asarray(labels if names else numeric_labels(labels)))
    if labels.shape != (rows,):
        raise ValueError(
            f"`labels` must be one class id per row, shape ({rows},). Received shape "
            f"{labels.shape}."
        )
    unknown = ~np.isin(labels, np.arange(classes))
    if unknown.any():
        raise ValueError(
            f"`labels` must be class ids from 0 to {classes - 1}. Received "
            f"{np.unique(labels[unknown])[:8].tolist()}. `numpy.unique(labels, "
            "return_inverse=True)` converts names to ids."
        )
    return labels.astype(int)


def _are_names(labels):
    if ops.is_tensor(labels):
        return keras.backend.standardize_dtype(labels.dtype) == "string"
    try:
        return labels is not None and np.asarray(labels).dtype.kind in "OSTU"
    except ValueError:  # rows of different lengths, which `real` reports
        return False
