"""SPD models as a device can run them: no device has an eigendecomposition."""

from keras_dml._backend import keras
from keras_dml.layers import LogEig, TangentVector
from keras_dml.layers.matrices import MatrixLayer
from keras_dml.models import with_solver
from keras_dml.models.copies import in_float64


def works_on_matrices(model):
    """Whether a layer of the model is one on symmetric matrices."""
    return any(isinstance(layer, MatrixLayer) for layer in model._flatten_layers())


def comparable(model, metric):
    """A model whose embeddings a device can compare, and the distance that it compares them by.

    Where a device cannot compute the distance itself, the model gets a logarithm and its embeddings
    become tangent vectors, whose Euclidean distance is the log-Euclidean one of the matrices. Any
    other model is returned as it is.

    Args:
        model: A model of which the distance is.
        metric: A `Distance`.

    Returns:
        `(model, metric)`.
    """
    if metric.device_distance is None:
        return model, metric
    head = TangentVector()
    return keras.Model(model.input, head(LogEig()(model.output)), name=model.name), head.distance


def without_eigh(model):
    """A model with the same weights and the polynomial solver, if it works on matrices."""
    return with_solver(model, "polynomial") if works_on_matrices(model) else model


def exact(model):
    """A model with the same weights in float64, if it works on matrices: where they are singular,
    an eigendecomposition in float32 is further off than the files are."""
    return in_float64(model) if works_on_matrices(model) else model
