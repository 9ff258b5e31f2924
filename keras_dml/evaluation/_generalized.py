"""Accuracy on new and on old classes when a classifier chooses among all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_dml.evaluation._checks import ids

_KINDS = {**dict.fromkeys("biuf", "number"), **dict.fromkeys("UT", "string"), "S": "bytes"}


@dataclass(frozen=True)
class GeneralizedAccuracy:
    """Accuracy among all classes, for examples of new and of old classes (Xian2019).

    Attributes:
        new: Fraction of the examples of new classes that are right.
        old: Fraction of the examples of old classes that are right.
        harmonic_mean: Harmonic mean of both fractions; 0 if one of them is 0.
        new_examples: Number of examples of new classes.
        old_examples: Number of examples of old classes.
    """

    new: float
    old: float
    harmonic_mean: float
    new_examples: int
    old_examples: int

    def __str__(self):
        return (
            f"new classes {100 * self.new:.1f} % of {self.new_examples:,}, old classes "
            f"{100 * self.old:.1f} % of {self.old_examples:,}, harmonic mean "
            f"{100 * self.harmonic_mean:.1f} %"
        )


def generalized_accuracy(predicted, labels, new_classes):
    """Computes the accuracy on new and on old classes among all classes.

    Accuracy among the new classes alone hides that a classifier prefers the classes it was trained
    on. Generalized few-shot learning and class-incremental learning report this figure.

    Args:
        predicted: Predicted class of each example, shape `(examples,)`, chosen among all classes.
        labels: Class of each example, shape `(examples,)`: names or ids, as in `predicted`.
        new_classes: Classes that were added after training.

    Returns:
        `GeneralizedAccuracy`; printing it shows all three figures.

    Raises:
        ValueError: If shapes or kinds of labels differ, or `labels` lacks new or old classes.

    >>> print(generalized_accuracy(["a", "a", "new"], ["a", "new", "new"], ["new"]))
    new classes 50.0 % of 2, old classes 100.0 % of 1, harmonic mean 66.7 %
    """
    predicted, labels = ids("`predicted`", predicted), ids("`labels`", labels)
    new_classes = ids("`new_classes`", new_classes)
    arrays = (predicted, labels, new_classes)
    if len({_KINDS[array.dtype.kind] for array in arrays}) > 1:
        raise ValueError(
            "`predicted`, `labels` and `new_classes` must name classes in one way, as numbers or "
            f"as strings. Received dtypes {', '.join(str(array.dtype) for array in arrays)}."
        )
    if predicted.shape != labels.shape or labels.ndim != 1:
        raise ValueError(
            "`predicted` and `labels` must be one class for each example, of the same shape "
            f"(examples,). Received shapes {predicted.shape} and {labels.shape}."
        )
    is_new = np.isin(labels, new_classes)
    if is_new.all() or not is_new.any():
        raise ValueError(
            "`labels` must hold examples of new and of old classes. Received "
            f"{int(is_new.sum())} examples of `new_classes` and {int((~is_new).sum())} of others."
        )
    right = predicted == labels
    new, old = float(right[is_new].mean()), float(right[~is_new].mean())
    mean = 2 * new * old / (new + old) if new and old else 0.0
    return GeneralizedAccuracy(new, old, mean, int(is_new.sum()), int((~is_new).sum()))
