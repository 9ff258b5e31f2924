"""Converts a model to a form that a device can run.

Runtimes on devices have no eigendecomposition of SPD matrices.
"""

import dataclasses

from keras_dml import distances, inputs
from keras_dml._backend import keras
from keras_dml.layers import LogEig, TangentVector
from keras_dml.layers.matrices import MatrixLayer
from keras_dml.models import with_solver
from keras_dml.models.copies import in_float64


@dataclasses.dataclass(frozen=True)
class DeviceModel:
    """Versions of a model that the export for devices needs, all with the same weights.

    Attributes:
        encoder: Model whose embeddings a device can compare.
        metric: Distance by which the device compares the embeddings of `encoder`.
        distance: Name of the distance between embeddings of the original model. `metric` computes
            the same distance between embeddings of `encoder`. For a model that takes matrices,
            `metric` is the Euclidean distance between tangent vectors and `distance` is
            `"log_euclidean"`.
        runs: Encoder that is written to the file. For a model that takes matrices, the encoder in
            the file uses the polynomial solver.
        exact: Encoder whose outputs the file must reproduce. For a model that takes matrices,
            `exact` computes in float64, because an eigendecomposition of singular matrices in
            float32 is less accurate than the file.
        on_matrices: Whether the model has layers on matrices.
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
    """Returns the versions of a model that the export for devices needs.

    If a device cannot compute the distance between matrices, the function adds a matrix logarithm
    to the model. The embeddings then become tangent vectors, whose Euclidean distance is the
    log-Euclidean distance of the matrices.

    Args:
        model: A `keras.Model`.
        metric: `Distance` of the model.
    """
    distance, contract = metric.device_distance or metric.name, inputs.from_model(model).contract
    if metric.device_distance is not None:
        head = TangentVector()
        model = keras.Model(model.inputs[0], head(LogEig()(model.outputs[0])), name=model.name)
        metric = head.distance
        inputs.declare(model, contract)
    if not works_on_matrices(model):
        return DeviceModel(model, metric, distance, runs=model, exact=model, on_matrices=False)
    runs, exact = with_solver(model, "polynomial"), in_float64(model)
    for copy in (runs, exact):
        inputs.declare(copy, contract)  # the copy does not have the contract of a model card
    return DeviceModel(model, metric, distance, runs, exact, on_matrices=True)
