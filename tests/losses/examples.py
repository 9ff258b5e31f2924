"""Worked examples of the loss family: a loss against its golden value and gradient."""

import numpy as np

from keras_dml._backend import ops
from keras_dml.losses import mining
from tests.goldens import golden
from tests.gradients import gradients


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def inputs(name):
    """Embeddings of the golden example, float64, and its labels."""
    given = golden(name, "seeds_p3")["inputs"]
    return np.asarray(given["x"], np.float64), np.asarray(given["labels"])


def check_example(name, make, key="value"):
    """Value, and gradient where there is one, in float64 and in float32.

    Args:
        name: Id of the example.
        make: From keyword arguments of `keras.losses.Loss` to the loss.
        key: Which expected value; others than `"value"` have no gradient.
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
    """Entry by entry, to a share of the largest one."""
    largest = np.abs(expected).max()
    atol = tolerance["grad_rtol"] * largest + tolerance.get("grad_atol", 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def random_negatives_of_all(labels, embeddings, seed):
    """The negative of row i for each row j, shape `(batch, batch)`."""
    rows = ops.shape(labels)[0]
    partners = ops.tile(ops.arange(rows, dtype="int32")[None], (rows, 1))
    return mining.random_negatives(labels, embeddings, seed, partners)
