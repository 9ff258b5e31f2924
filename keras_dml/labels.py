"""Labels as a caller gives them: numbers, as ids are, and each one of the classes."""

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras, ops


def numeric_labels(labels):
    """Labels as they are where they are a tensor, else as an array of numbers.

    Raises:
        TypeError: If they are names, or nothing that `keras_dml._arrays.real` takes for numbers.
    """
    if _are_names(labels):
        raise TypeError(
            "`labels` must be class ids, whole numbers from 0. Received names. "
            "`names, labels = numpy.unique(labels, return_inverse=True)` makes ids of them; "
            "`names[id]` gives a name back."
        )
    return labels if ops.is_tensor(labels) else real("`labels`", labels)


def column_of(labels):
    """Labels of shape `(rows, 1)` as `(rows,)`; any others as they are.

    Args:
        labels: An array or a tensor.
    """
    return labels[:, 0] if len(labels.shape) == 2 and labels.shape[1] == 1 else labels


def checked_labels(labels, rows, classes):
    """Labels as an array of ids, one a row, all of them known.

    Raises:
        TypeError: If they are no numbers nor names, as `numeric_labels`.
        ValueError: For another shape, or a label that is none of the classes; the message names it.
    """
    names = _are_names(labels)  # which are told with the number of classes below
    labels = column_of(np.asarray(labels if names else numeric_labels(labels)))
    if labels.shape != (rows,):
        raise ValueError(
            f"`labels` must be one class id a row, shape ({rows},). Received shape {labels.shape}."
        )
    strange = ~np.isin(labels, np.arange(classes))
    if strange.any():
        raise ValueError(
            f"`labels` must be class ids from 0 to {classes - 1}. Received "
            f"{np.unique(labels[strange])[:8].tolist()}. "
            "`numpy.unique(labels, return_inverse=True)` makes ids of names."
        )
    return labels.astype(int)


def _are_names(labels):
    if ops.is_tensor(labels):
        return keras.backend.standardize_dtype(labels.dtype) == "string"
    try:
        return labels is not None and np.asarray(labels).dtype.kind in "OSTU"
    except ValueError:  # rows of different lengths, which are told as such
        return False
