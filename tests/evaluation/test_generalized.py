"""Tests `generalized_accuracy`, the accuracy on new and on old classes if the classifier may
predict all classes."""

import numpy as np
import pytest

from keras_dml.evaluation import generalized_accuracy


def test_each_kind_of_class_has_its_accuracy():
    labels = np.array([0, 0, 1, 1, 2, 2, 2, 3])
    predicted = np.array([0, 2, 1, 1, 2, 0, 0, 3])
    found = generalized_accuracy(predicted, labels, [2, 3])
    assert (found.new, found.old) == (0.5, 0.75)
    assert (found.new_examples, found.old_examples) == (4, 4)
    assert found.harmonic_mean == pytest.approx(1 / np.mean([1 / 0.5, 1 / 0.75]))
    for figure in ("50.0 % of 4", "75.0 % of 4", "60.0 %"):
        assert figure in str(found)


def test_a_classifier_that_never_predicts_a_new_class_has_mean_0():
    found = generalized_accuracy(["a", "a"], ["a", "b"], ["b"])
    assert (found.new, found.old, found.harmonic_mean) == (0, 1, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["a", "b"], ["b"]), r"shape \(1,\) .*shape \(2,\)"),
        (([["a"]], [["b"]], ["b"]), r"shape \(1, 1\)"),
        ((["a", "b"], ["a", "b"], ["c"]), "0 examples of `new_classes` and 2"),
        ((["a", "b"], ["a", "b"], ["a", "b"]), "2 examples of `new_classes` and 0"),
        (([0, 1], ["a", "b"], ["b"]), "int64, <U1, <U1"),
        ((["a", "b"], ["a", "b"], [1]), "<U1, <U1, int64"),
        (([], [], ["a"]), "`labels`"),
    ],
)
def test_invalid_labels_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        generalized_accuracy(*arguments)
