"""Operations of a model from its input to its head, and the receptive fields of activations."""

import dataclasses

import numpy as np

from keras_dml._backend import keras
from keras_dml.layers import FirstDifference, MaskedAveragePooling1D


def chain(model):
    """Lists the operations of a model from its end on, each with its input tensor.

    Args:
        model: Functional or sequential `keras.Model`.

    Returns:
        List of `(operation, tensor)`, last operation first. It ends at the input, or before an
        operation that joins several tensors.
    """
    found, tensor = [], model.outputs[0]
    while True:
        operation, node, _ = tensor._keras_history
        if isinstance(operation, keras.layers.InputLayer):
            return found
        inputs = operation._inbound_nodes[node].input_tensors
        if len(inputs) != 1:
            return found
        (tensor,) = inputs
        found.append((operation, tensor))


def reaches_the_input(model, found):
    """Returns True if a chain leads from the end of a model to its input without a gap."""
    return bool(found) and found[-1][1] is model.inputs[0]


@dataclasses.dataclass(frozen=True)
class ReceptiveField:
    """Receptive field of activations, of which activation i covers the steps `first + i * stride`
    to `first + (i + 1) * stride - 1`.

    Attributes:
        stride: Steps that an activation stands for.
        first: First step of the first activation.
        before: Steps before these that it saw.
        after: Steps after these that it saw.
    """

    stride: int = 1
    first: int = 0
    before: int = 0
    after: int = 0

    def then(self, stride=1, first=0, before=0, after=0):
        """Returns the receptive field after a further operation."""
        return ReceptiveField(
            self.stride * stride,
            self.first + self.stride * first,
            self.before + self.stride * before,
            self.after + self.stride * after,
        )

    def spread(self, parts, steps):
        """Distributes the parts of activations evenly over the steps that each activation covers.

        Args:
            parts: Array of shape `(activations,)`.
            steps: Number of steps of the recording.

        Returns:
            Array of shape `(steps,)` with the same sum; None where so many activations do not
            cover a recording of so many steps.
        """
        starts = self.first + self.stride * np.arange(len(parts))
        rest = steps - starts[-1] - self.stride
        if not -self.stride < rest <= self.before + self.after:
            return None
        sizes = np.minimum(self.stride, steps - starts)
        spread = np.zeros(steps)
        spread[self.first : starts[-1] + sizes[-1]] = np.repeat(parts / sizes, sizes)
        return spread


def receptive_field(operations):
    """Computes the receptive field after operations that preserve the order of time.

    Args:
        operations: Layers, the first first. What is no convolution, difference or pooling is taken
            for one that acts on each step by itself; statistics over the whole recording, such as
            those of a standardization, are left out.

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
