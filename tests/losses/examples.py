"""Contains functions that compare a loss with the value and the gradient of a worked example."""

import numpy as np

from keras_dml._backend import ops
from keras_dml.losses import mining
from tests.goldens import golden
from tests.gradients import gradients


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def inputs(name):
    """Returns the embeddings (float64) and the labels of the worked example."""
    given = golden(name, "seeds_p3")["inputs"]
    return np.asarray(given["x"], np.float64), np.asarray(given["labels"])


def check_example(name, make, key="value"):
    """Checks the value and, if the example has one, the gradient of a loss, in float64 and in
    float32.

    Args:
        name: Id of the worked example.
        make: Function that takes keyword arguments of `keras.losses.Loss` and returns the loss.
        key: Key of the expected value in the worked example. The gradient is checked only for
            `"value"`.
    """
    example = golden(name, "seeds_p3")
    x, labels = inputs(name)
    for dtype, tolerance in example["tolerance"].items():
        loss = make(dtype=dtype)
        value = float(loss(labels, x.astype(dtype)))
        close = {"rtol": tolerance["rtol"], "atol": tolerance.get("atol", 0)}
        np.testing.assert_allclose(value, example["expected"][key], **close)
        if key == "value":
            (result,) = gradients(lambda x, loss=loss: loss(labels, x), x.astype(dtype))
            check_gradient(result, example["gradient"]["x"], tolerance)


def check_gradient(found, expected, tolerance):
    """Compares gradients entry by entry. The tolerance is a fraction of the largest entry."""
    largest = np.abs(expected).max()
    atol = tolerance["grad_rtol"] * largest + tolerance.get("grad_atol", 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def random_negatives_of_all(labels, embeddings, seed):
    """Returns random negatives, shape `(batch, batch)`. Entry `[i, j]` is the negative that was
    drawn for the pair of rows i and j.
    """
    rows = ops.shape(labels)[0]
    partners = ops.tile(ops.arange(rows, dtype="int32")[None], (rows, 1))
    return mining.random_negatives(labels, embeddings, seed, partners)
