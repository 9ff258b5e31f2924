"""Computes distances between embeddings of a model in blocks, so that the memory is bounded."""

import math

import numpy as np

from keras_dml import distances, embeddings, inputs
from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml._typing import ArrayLike, Path
from keras_dml.distances import agreement
from keras_dml.zoo import reading


def distance(
    model: keras.Model | Path | distances.Distance,
    x: ArrayLike,
    y: ArrayLike,
    *,
    max_bytes: float = 64 * 2**20,
) -> np.ndarray:
    """Computes the distance of each embedding in `x` to each embedding in `y`. Embeddings that are
    more alike have smaller distances.

    Args:
        model: A `keras.Model` whose last layer defines a distance, the name or path of a saved
            model, or a `Distance`.
        x: Embeddings, shape `(n, ...)`.
        y: Embeddings of the same model, shape `(m, ...)`.
        max_bytes: Memory in bytes for one block of pairs. The matrix of all distances needs
            additional memory.

    Returns:
        Distances, a NumPy array of shape `(n, m)`.

    Raises:
        TypeError: If the embeddings are not real numbers.
        ValueError: If the model does not define a distance. If the embeddings are not finite, or do
            not have the shape of the model's embeddings.
    """
    arrays = {"x": real("`x`", x), "y": real("`y`", y)}
    for name, array in arrays.items():
        embeddings.check_finite(name, array)
    model = reading.loaded(model)
    if isinstance(model, keras.Model):
        metric = head_distance(model)
        shape = tuple(inputs.encoder(model).output_shape[1:])
        for name, array in arrays.items():
            embeddings.check_shape(name, array, shape, model.name)
            metric.check(name, array, model)
    elif callable(model):
        metric = distances.get(model)
    else:
        raise TypeError(
            "`model` must be a keras.Model, the name or path of a saved model, or a distance such "
            f"as `keras_dml.distances.Cosine()`. Received {type(model).__name__}."
        )
    return _matrix(metric, *arrays.values(), max_bytes)


def head_distance(model: keras.Model) -> distances.Distance:
    """Returns the distance that the last layer of a model defines.

    The function warns if the model was compiled with a loss that uses another distance.

    Args:
        model: A `keras.Model`.

    Raises:
        ValueError: If the last layer does not define a distance.
    """
    if hasattr(model, "distance"):
        return distances.get(model.distance)
    head = model.layers[-1]
    if not hasattr(head, "distance"):
        raise ValueError(
            f"The last layer of {model.name!r}, {type(head).__name__} {head.name!r}, does not "
            "define a distance. End the model with a layer of `keras_dml.layers` that defines a "
            "distance, or pass a distance such as `keras_dml.distances.Cosine()`."
        )
    distance = distances.get(head.distance)
    losses = keras.tree.flatten(getattr(model, "loss", None))
    if len(losses) == 1:
        agreement.warn_if_different(losses[0], f"{type(head).__name__} {head.name!r}", distance)
    return distance


def _matrix(metric, x, y, max_bytes):
    """Computes all distances in blocks of rows and columns."""
    pairs = max(1, int(max_bytes // metric.bytes_per_pair(y[:1])))
    rows = min(max(1, len(x)), math.isqrt(pairs))  # square blocks need the fewest copies
    columns = pairs // rows
    matrix = None
    for i in range(0, len(x), rows):
        for j in range(0, len(y), columns):
            block = ops.convert_to_numpy(metric(x[i : i + rows], y[j : j + columns]))
            if matrix is None:
                matrix = np.empty((len(x), len(y)), block.dtype)
            matrix[i : i + rows, j : j + columns] = block
    return np.zeros((len(x), len(y)), x.dtype) if matrix is None else matrix
