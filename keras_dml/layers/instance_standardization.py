"""Layer that standardizes each channel of each recording."""

from typing import Any

from keras_dml._arrays import number
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean, wide


@keras.saving.register_keras_serializable(package="keras_dml")
class InstanceStandardization(keras.layers.Layer):
    """Standardization of each channel of each recording to mean 0 and standard deviation 1 over the
    valid steps (instance normalization).

    Use this layer for signals whose level changes from day to day, for example because of electrode
    contact or the amplifier. A constant channel becomes 0. The layer computes in float32 or wider
    under any dtype policy, because half precision cannot represent large numbers of steps.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Args:
        epsilon: Constant that is added to the variance, in squared units of the input.

    Raises:
        TypeError, ValueError: If `epsilon` is not a finite number of at least 0.
    """

    def __init__(self, epsilon: float = 1e-6, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.epsilon = number("epsilon", epsilon, 0)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        valid = (
            None if mask is None else ops.expand_dims(ops.cast(mask, "bool"), 2)
        )  # (batch, time, 1)
        gap = inputs - mean(inputs, axis=1, mask=valid, keepdims=True)
        gap = gap if valid is None else ops.where(valid, gap, 0)
        variance = mean(gap * gap, axis=1, mask=valid, keepdims=True)
        return ops.cast(gap * ops.rsqrt(variance + self.epsilon), self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}
