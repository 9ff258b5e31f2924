"""Operations of a model from its input to its head, and the receptive fields of activations."""

import dataclasses

import numpy as np

from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.layers import FirstDifference, MaskedAveragePooling1D


def chain(model: keras.Model) -> list[tuple[keras.Operation, Tensor]]:
    """Lists the operations of a model from its end on, each with its input tensor.

    Args:
        model: Functional or sequential `keras.Model`.

    Returns:
        List of `(operation, tensor)`, last operation first. It ends at the input, or before an
        operation that joins several tensors.
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
    """Returns True if a chain leads from the end of a model to its input without a gap."""
    return bool(operations) and operations[-1][1] is model.inputs[0]


@dataclasses.dataclass(frozen=True)
class ReceptiveField:
    """Receptive field of activations, of which activation i covers the steps `first + i * stride`
    to `first + (i + 1) * stride - 1`.

    Attributes:
        stride: Number of steps that an activation covers.
        first: First step of the first activation.
        before: Number of earlier steps that an activation also depends on.
        after: Number of later steps that an activation also depends on.
    """

    stride: int = 1
    first: int = 0
    before: int = 0
    after: int = 0

    def then(
        self, stride: int = 1, first: int = 0, before: int = 0, after: int = 0
    ) -> "ReceptiveField":
        """Returns the receptive field after a further operation."""
        return ReceptiveField(
            self.stride * stride,
            self.first + self.stride * first,
            self.before + self.stride * before,
            self.after + self.stride * after,
        )

    def spread(self, parts: np.ndarray, steps: int) -> np.ndarray | None:
        """Distributes the parts of activations evenly over the steps that each activation covers.

        Args:
            parts: Array of shape `(activations,)`.
            steps: Number of steps of the recording.

        Returns:
            Array of shape `(steps,)` with the same sum, or None if the activations do not cover a
            recording of this length.
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
    """Computes the receptive field after operations that preserve the order of time.

    Args:
        operations: Layers in the order of computation. A layer that is not a convolution,
            difference or pooling is assumed to act on each step separately. Statistics over the
            whole recording, such as in a standardization, are ignored.

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
