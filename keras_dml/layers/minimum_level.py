"""Layer that amplifies quiet recordings to a minimum level."""

from typing import Any

from keras_dml._arrays import positive
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import wide

SILENT = 1e-8  # root mean square below which the gain is constant
# Number of steps in a partial sum of squares. A device adds numbers one after another. In float32,
# a single sum over 50,000 squares loses five digits. If the squares are first summed in blocks of
# 256 steps, and then the sums are added, only one digit is lost.
BLOCK = 256


@keras.saving.register_keras_serializable(package="keras_dml")
class MinimumLevel(keras.layers.Layer):
    """Layer that amplifies each quiet recording to a minimum level. The level of a recording is the
    root mean square over its valid steps.

    The layer does not change louder recordings. The layer computes in float32 or wider under any
    dtype policy.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Args:
        level: Smallest root mean square, in the unit of the input.

    Raises:
        TypeError, ValueError: If the level is not a positive number.

    Example:
        >>> MinimumLevel(0.5)(np.array([[[0.1], [-0.1]], [[2.0], [2.0]]])).numpy()[..., 0]
        array([[ 0.5, -0.5],
               [ 2. ,  2. ]], dtype=float32)
    """

    def __init__(self, level: float, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.level = positive("level", level)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        count = ops.cast(ops.shape(inputs)[1], inputs.dtype)
        if mask is not None:
            valid = ops.expand_dims(ops.cast(mask, "bool"), 2)  # (batch, time, 1)
            inputs = ops.where(valid, inputs, 0)
            count = ops.maximum(ops.sum(ops.cast(valid, inputs.dtype), axis=1, keepdims=True), 1)
        squares = _sum(ops.square(inputs)) / (count * inputs.shape[-1])
        power = ops.sum(squares, axis=2, keepdims=True)  # (batch, 1, 1)
        gain = self.level * ops.rsqrt(ops.maximum(power, SILENT**2))
        return ops.cast(inputs * ops.maximum(gain, 1), self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "level": self.level}


def _sum(x):
    """Computes the sum over the steps, shape `(batch, 1, channels)`."""
    blocks = (ops.shape(x)[1] + BLOCK - 1) // BLOCK
    padded = ops.pad(x, ((0, 0), (0, BLOCK), (0, 0)))[:, : blocks * BLOCK]
    parts = ops.reshape(padded, (-1, blocks, BLOCK, x.shape[-1]))
    return ops.sum(ops.sum(parts, axis=2), axis=1, keepdims=True)
