"""Forms of a model that a device can run; no device has an eigendecomposition of SPD matrices."""

import dataclasses

from keras_dml import distances, inputs
from keras_dml._backend import keras
from keras_dml.layers import LogEig, TangentVector
from keras_dml.layers.matrices import MatrixLayer
from keras_dml.models import with_solver
from keras_dml.models.copies import in_float64


@dataclasses.dataclass(frozen=True)
class DeviceModel:
    """A model in the forms that its file for devices needs, all with the same weights.

    Attributes:
        encoder: The model whose embeddings a device can compare.
        metric: The distance by which the device compares them.
        distance: Name of the distance of the original embeddings that `metric` computes. On
            matrices, the Euclidean distance of tangent vectors is `"log_euclidean"`.
        runs: The encoder that is written; on matrices, with the polynomial solver.
        exact: The encoder that the file must agree with. On matrices it computes in float64,
            because for singular matrices an eigendecomposition in float32 is less accurate than
            the files.
        on_matrices: Whether the model works on matrices.
    """

    encoder: keras.Model
    metric: distances.Distance
    distance: str | None
    runs: keras.Model
    exact: keras.Model
    on_matrices: bool


def works_on_matrices(model: keras.Model) -> bool:
    """Returns whether the model has a layer on symmetric matrices.

    Args:
        model: A `keras.Model`.
    """
    return any(isinstance(layer, MatrixLayer) for layer in model._flatten_layers())


def device_model(model: keras.Model, metric: distances.Distance) -> DeviceModel:
    """Returns the forms of a model that its file for devices needs.

    If a device cannot compute the distance of matrices, the function adds a matrix logarithm to the
    model. Its embeddings become tangent vectors, whose Euclidean distance is the log-Euclidean
    distance of the matrices.

    Args:
        model: The model.
        metric: Its `Distance`.
    """
    distance, contract = metric.device_distance or metric.name, inputs.from_model(model).contract
    if metric.device_distance is not None:
        head = TangentVector()
        model = keras.Model(model.input, head(LogEig()(model.output)), name=model.name)
        metric = head.distance
        inputs.declare(model, contract)
    if not works_on_matrices(model):
        return DeviceModel(model, metric, distance, runs=model, exact=model, on_matrices=False)
    runs, exact = with_solver(model, "polynomial"), in_float64(model)
    for copy in (runs, exact):
        inputs.declare(copy, contract)  # a card's contract is not part of the model
    return DeviceModel(model, metric, distance, runs, exact, on_matrices=True)
