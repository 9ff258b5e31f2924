"""Layer that stacks LSTM layers and returns the last step."""

from typing import Any

from keras_dml._arrays import whole
from keras_dml._backend import keras, ops, xla
from keras_dml._backend.loops import repeated
from keras_dml._typing import Tensor


@keras.saving.register_keras_serializable(package="keras_dml")
class LastLSTM(keras.layers.Layer):
    """Stacked LSTM layers. The layer returns the output of the last LSTM layer at the last step.

    The layer computes the same numbers as stacked `keras.layers.LSTM` layers, and also runs on
    devices. The layer runs one loop over the time steps. The loop does not store a list of outputs,
    because a TFLite file with builtin operators cannot hold a list if the number of rows is
    unknown. In a TFLite file, the layer computes the product of the input and the first kernel by
    elementwise multiplications. So the converter does not round the first kernel to 8 bits. The
    scales of channels such as mel bands differ by powers of ten. If the input has such channels,
    rounding the first kernel would change an embedding by 0.4 times the embedding's length.
    Rounding the other kernels changes an embedding by only 0.06 times the embedding's length.

    Input shape: `(batch, time, channels)` with a fixed number of steps. Output shape:
    `(batch, units)`.

    Args:
        units: Number of units of each LSTM layer.
        depth: Number of LSTM layers.

    Raises:
        TypeError, ValueError: If the number of steps is unknown, or if `units` or `depth` is not a
            whole number of at least 1.

    Example:
        >>> LastLSTM(3, depth=2)(np.zeros((4, 10, 2))).shape
        TensorShape([4, 3])
    """

    def __init__(self, units: int, depth: int = 1, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = whole("units", units, minimum=1)
        self.depth = whole("depth", depth, minimum=1)

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3 or input_shape[1] is None:
            raise ValueError(
                "LastLSTM takes windows of a known length, shape (batch, time, channels). Received "
                f"shape {tuple(input_shape)}."
            )
        gates, channels, self.parts = 4 * self.units, input_shape[2], []
        for i in range(1, self.depth + 1):
            self.parts.append(
                (
                    self.add_weight((channels, gates), "glorot_uniform", name=f"kernel_{i}"),
                    self.add_weight((self.units, gates), _orthogonal, name=f"recurrent_{i}"),
                    self.add_weight((gates,), _open, name=f"bias_{i}"),
                )
            )
            channels = self.units

    def call(self, inputs: Tensor) -> Tensor:
        zeros = ops.zeros((ops.shape(inputs)[0], self.units), dtype=self.compute_dtype)

        def step(time, states):
            x, after = ops.take(inputs, time, axis=1), []  # (batch, channels)
            for (kernel, recurrent, bias), (output, cell) in zip(self.parts, states, strict=True):
                exact = not after and xla.is_avoided()
                driven = ops.sum(x[..., None] * kernel, axis=1) if exact else ops.matmul(x, kernel)
                gates = driven + ops.matmul(output, recurrent) + bias
                enter, keep, new, leave = ops.split(gates, 4, axis=1)
                cell = ops.sigmoid(keep) * cell + ops.sigmoid(enter) * ops.tanh(new)
                x = ops.sigmoid(leave) * ops.tanh(cell)
                after.append((x, cell))
            return tuple(after)

        return repeated(inputs.shape[1], step, ((zeros, zeros),) * self.depth)[-1][0]

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], self.units)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "depth": self.depth}


def _orthogonal(shape, dtype):
    """Draws orthogonal weights in float32, because backends cannot decompose half precision."""
    return ops.cast(keras.initializers.Orthogonal()(shape, "float32"), dtype)


def _open(shape, dtype=None):
    """Returns biases of 1 for the forget gate and 0 for the other gates (`unit_forget_bias`)."""
    quarter = shape[0] // 4
    zeros = ops.zeros((quarter,), dtype)
    return ops.concatenate([zeros, ops.ones((quarter,), dtype), zeros, zeros])
