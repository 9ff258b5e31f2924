"""Layer that pools recordings by mean and standard deviation over time."""

from typing import Any

import numpy as np

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._backend.values import concrete
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean, nan_unless
from keras_dml.layers.head import Head, full_precision

# Smallest variance, in squared units of the input. Because of the limit, the gradient of a constant
# channel's standard deviation is 0 instead of infinite.
FLOOR = 1e-5


@keras.saving.register_keras_serializable(package="keras_dml")
class StatisticsPooling(Head, keras.layers.Layer):
    """Mean and standard deviation of each channel over the valid steps (Snyder2018; Monteiro2020,
    section 4.3). The layer returns one vector per recording.

    The standard deviation is sqrt(max(variance, 1e-5)). The variance is the mean squared deviation
    over the valid steps.

    Input shape: `(batch, time, channels)`, with or without a Keras mask. Output shape:
    `(batch, 2 * channels)`. The means come first, then the standard deviations. The output has the
    dtype float32 or wider under any dtype policy.

    Raises:
        ValueError: If a recording has no valid step. A compiled call returns NaN for such a
            recording.

    Example:
        >>> StatisticsPooling()(np.array([[[1.0], [5.0]]])).numpy()
        array([[3., 2.]], dtype=float32)
    """

    def __init__(self, *, dtype: str | keras.DTypePolicy | None = None, **kwargs: Any):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        self.distance = distances.Cosine()
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3:
            raise ValueError(
                "StatisticsPooling takes recordings, shape (batch, time, channels). Received shape "
                f"{tuple(input_shape)}."
            )

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        valid = (
            None if mask is None else ops.expand_dims(ops.cast(mask, "bool"), 2)
        )  # (batch, time, 1)
        center = mean(inputs, axis=1, mask=valid, keepdims=True)  # (batch, 1, channels)
        gap = inputs - center
        gap = gap if valid is None else ops.where(valid, gap, 0)  # gradients would pass on NaN
        variance = mean(gap * gap, axis=1, mask=valid)  # (batch, channels)
        stddev = ops.sqrt(ops.maximum(variance, FLOOR))
        pooled = ops.concatenate([center[:, 0], stddev], axis=-1)
        if valid is None:
            return pooled
        steps = ops.sum(ops.cast(valid, "int32"), axis=1)  # (batch, 1)
        _check(steps)
        return nan_unless(steps > 0, pooled)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], 2 * input_shape[-1])


def _check(count):
    counts = concrete(count)
    if counts is not None and len(counts) and np.min(counts) == 0:
        raise ValueError(
            f"Recording {int(np.argmin(counts))} of the batch has no valid step to pool. Leave out "
            "recordings shorter than the network's receptive field."
        )
