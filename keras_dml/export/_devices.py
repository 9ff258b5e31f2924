"""SPD models as a device can run them: no device has an eigendecomposition."""

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
        metric: The distance that it compares them by.
        distance: Name of the distance of the model's own embeddings that this computes: on
            matrices, the Euclidean distance of tangent vectors is `"log_euclidean"`.
        runs: The encoder as it is written; on matrices, with the polynomial solver.
        exact: The encoder that the file must agree with; on matrices, in float64: where they are
            singular, an eigendecomposition in float32 is further off than the files are.
        on_matrices: Whether the model works on matrices.
    """

    encoder: keras.Model
    metric: distances.Distance
    distance: str | None
    runs: keras.Model
    exact: keras.Model
    on_matrices: bool


def works_on_matrices(model):
    """Whether a layer of the model is one on symmetric matrices."""
    return any(isinstance(layer, MatrixLayer) for layer in model._flatten_layers())


def device_model(model, metric):
    """A model as a device can run it.

    Where a device cannot compute the distance itself, the model gets a logarithm and its embeddings
    become tangent vectors, whose Euclidean distance is the log-Euclidean one of the matrices.

    Args:
        model: The model.
        metric: Its `Distance`.

    Returns:
        `DeviceModel`.
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
