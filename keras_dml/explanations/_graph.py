"""Lists the operations of a model, and computes the receptive fields of layers."""

import dataclasses

import numpy as np

from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.layers import FirstDifference, MaskedAveragePooling1D


def chain(model: keras.Model) -> list[tuple[keras.Operation, Tensor]]:
    """Lists the operations of a model from output to input, and the input tensor of each operation.

    Args:
        model: Functional or sequential `keras.Model`.

    Returns:
        List of `(operation, tensor)`, last operation first. The list ends at an operation with
        several input tensors.
    """
    operations, tensor = [], model.outputs[0]
    while True:
        operation, node, _ = tensor._keras_history
        if isinstance(operation, keras.layers.InputLayer):
            return operations
        inputs = operation._inbound_nodes[node].input_tensors
        if len(inputs) != 1:
            return operations
        (tensor,) = inputs
        operations.append((operation, tensor))


def reaches_the_input(model: keras.Model, operations: list[tuple[keras.Operation, Tensor]]) -> bool:
    """Returns True if the list that `chain` returned reaches the input of the model."""
    return bool(operations) and operations[-1][1] is model.inputs[0]


@dataclasses.dataclass(frozen=True)
class ReceptiveField:
    """Receptive field of the activations of a layer.

    Activation i covers the time steps `first + i * stride` to `first + (i + 1) * stride - 1`.
    Earlier and later time steps may also affect activation i.

    Attributes:
        stride: Number of time steps that an activation covers.
        first: First time step that the first activation covers.
        before: Number of time steps that affect an activation and lie before the time steps that
            the activation covers.
        after: Number of time steps that affect an activation and lie after the time steps that the
            activation covers.
    """

    stride: int = 1
    first: int = 0
    before: int = 0
    after: int = 0

    def then(
        self, stride: int = 1, first: int = 0, before: int = 0, after: int = 0
    ) -> "ReceptiveField":
        """Returns the receptive field of the layers if a further layer follows."""
        return ReceptiveField(
            self.stride * stride,
            self.first + self.stride * first,
            self.before + self.stride * before,
            self.after + self.stride * after,
        )

    def spread(self, parts: np.ndarray, steps: int) -> np.ndarray | None:
        """Distributes the part of each activation evenly over the time steps that it covers.

        Args:
            parts: Part of the distance that belongs to each activation, shape `(activations,)`.
            steps: Number of time steps of the recording.

        Returns:
            Part of the distance that belongs to each time step, shape `(steps,)`. None if the
            activations do not cover `steps`.
        """
        starts = self.first + self.stride * np.arange(len(parts))
        rest = steps - starts[-1] - self.stride
        if not -self.stride < rest <= self.before + self.after:
            return None
        sizes = np.minimum(self.stride, steps - starts)
        spread = np.zeros(steps)
        spread[self.first : starts[-1] + sizes[-1]] = np.repeat(parts / sizes, sizes)
        return spread


def receptive_field(operations: list[keras.Operation]) -> ReceptiveField:
    """Computes the receptive field of a sequence of layers that preserve the order of time steps.

    Args:
        operations: Layers in the order of computation. The function assumes that only convolutions,
            differences and poolings combine several time steps. Some layers, such as a
            standardization, use statistics of the whole recording. The function ignores statistics
            of the whole recording.

    Returns:
        `ReceptiveField`.
    """
    field = ReceptiveField()
    for layer in operations:
        if isinstance(layer, keras.layers.Conv1D):
            reach = (layer.kernel_size[0] - 1) * layer.dilation_rate[0]
            before = reach if layer.padding == "causal" else reach // 2
            first = before if layer.padding == "valid" else 0
            field = field.then(layer.strides[0], first, before, reach - before)
        elif isinstance(layer, MaskedAveragePooling1D):
            field = field.then(layer.pool_size)
        elif isinstance(layer, FirstDifference):
            field = field.then(before=1)
    return field
