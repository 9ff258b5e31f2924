"""Helpers for tests of learned similarities: small perceptrons, and an oracle that computes every
pair separately."""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml.geometry import similarity
from tests.goldens import golden

SEEDS = "seeds_p2"


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def by_pairs(x, y, perceptron, join=lambda a, b: np.concatenate([a, b])):
    """Computes the learned similarities of all pairs in float64, one pair at a time, as an
    oracle."""
    table = np.empty((len(x), len(y)))
    for place in np.ndindex(*table.shape):
        units = join(np.asarray(x[place[0]], float), np.asarray(y[place[1]], float))
        for i, (kernel, bias) in enumerate(zip(perceptron.kernels, perceptron.biases, strict=True)):
            units = np.maximum(units, perceptron.slope * units) if i else units
            units = units @ np.asarray(kernel, float) + np.asarray(bias, float)
        table[place] = units[0]
    return table


def staged(function):
    """Compiles a function on JAX. An eager call on JAX would compile each operation separately."""
    if keras.backend.backend() != "jax":
        return function
    import jax

    return jax.jit(function)


def difference(a, b):
    return np.abs(a - b)


def random(rng, features, hidden=(5,), slope=0.1, dtype="float64", inputs=2):
    """Draws a perceptron with `inputs * features` inputs and weights of about 1."""
    widths = (inputs * features, *hidden, 1)
    sizes = list(zip(widths, widths[1:], strict=False))
    kernels = tuple(rng.normal(size=size).astype(dtype) for size in sizes)
    return similarity.Perceptron(
        kernels, tuple(rng.normal(size=size[1]).astype(dtype) for size in sizes), slope
    )


def perceptron_of(layers, slope, dtype="float32"):
    """Returns the perceptron that the entry `layers` of a worked example describes."""
    return similarity.Perceptron(
        tuple(np.array(layer["kernel"], dtype) for layer in layers),
        tuple(np.array(layer["bias"], dtype) for layer in layers),
        slope,
    )


def example(name):
    """Returns the inputs, the expected values, the gradients, the tolerance of the values and the
    tolerance of the gradients of a worked example."""
    result = golden(name, SEEDS)
    tolerance = result["tolerance"]
    close = {key: tolerance[key] for key in ("rtol", "atol")}
    close_gradient = {key: tolerance[f"grad_{key}"] for key in ("rtol", "atol")}
    return result["inputs"], result["expected"], result.get("gradient"), close, close_gradient
