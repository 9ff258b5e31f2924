"""Pooling layers over time that ignore masked steps."""

import numbers
from typing import Any

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean, nan_unless
from keras_dml.layers.head import Head, full_precision

MODES = ("max", "mean")


@keras.saving.register_keras_serializable(package="keras_dml")
class SequencePooling(Head, keras.layers.Layer):
    """Maximum or mean of each filter over the valid steps (global max or average pooling). The
    layer returns one vector per recording. The distance between two vectors is their negative
    cosine.

    The layer is the baseline for quantile layers (Abdelwahab2019, section 5.3, method MP-NPL).

    Input shape: `(batch, time, filters)`, with or without a Keras mask. Output shape:
    `(batch, filters)`. The output has the dtype float32 or wider under any dtype policy. A
    recording without a valid step gives NaN.

    Args:
        mode: Pooling over time, `"max"` or `"mean"`.

    Raises:
        ValueError: If `mode` is unknown.

    Example:
        >>> SequencePooling("max")(np.array([[[3.0], [1.0]]])).numpy()
        array([[3.]], dtype=float32)
    """

    def __init__(
        self, mode: str = "max", *, dtype: str | keras.DTypePolicy | None = None, **kwargs: Any
    ):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        if mode not in MODES:
            raise ValueError(f"`mode` must be one of {MODES}. Received mode={mode!r}.")
        self.mode = mode
        self.distance = distances.Cosine()
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        pool = _max if self.mode == "max" else mean
        if mask is None:
            return pool(inputs, axis=1)
        valid = ops.expand_dims(ops.cast(mask, "bool"), -1)  # (batch, time, 1)
        return nan_unless(ops.any(valid, axis=1), pool(inputs, axis=1, mask=valid))

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], input_shape[-1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "mode": self.mode}


def _max(x, axis, mask=None):
    x = x if mask is None else ops.where(mask, x, -3e38)
    # Without an initial value, TensorFlow raises an error for an eager maximum over zero
    # recordings.
    return ops.max(x, axis=axis, **({"initial": -float("inf")} if x.shape[0] == 0 else {}))


@keras.saving.register_keras_serializable(package="keras_dml")
class MaskedAveragePooling1D(keras.layers.Layer):
    """Average of the valid steps in each window of a sequence.

    Window i covers steps `i * pool_size` to `(i + 1) * pool_size - 1`. The last window may be
    shorter. The first window starts at the first step, and masked steps do not count. So padding
    does not change the output. In contrast, Keras's strided pooling also averages over padding. In
    Keras's strided convolutions with the padding `"same"`, the windows shift if the batch is padded
    to another length. A window is valid if it contains at least one valid step.

    Input shape: `(batch, time, filters)`. Output shape: `(batch, ceil(time / pool_size), filters)`.

    Args:
        pool_size: Number of steps per window.

    Raises:
        ValueError: If `pool_size` is not a positive integer.
    """

    def __init__(self, pool_size: int = 2, **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(pool_size, numbers.Integral) or pool_size < 1:
            raise ValueError(
                f"`pool_size` must be a whole number of at least 1. Received {pool_size!r}."
            )
        self.pool_size = int(pool_size)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None and self._same_is_right_aligned():
            return self._pool(ops.average_pool, inputs)
        mask = ops.ones_like(inputs[..., 0]) if mask is None else mask
        valid = ops.cast(mask, inputs.dtype)[..., None]  # (batch, time, 1)
        fraction = self._pool(ops.average_pool, valid)  # (batch, windows, 1)
        total = self._pool(ops.average_pool, ops.where(valid > 0, inputs, 0))
        return total / ops.where(fraction > 0, fraction, 1)

    def _pool(self, pool, x):
        if self._same_is_right_aligned():
            return pool(x, self.pool_size, self.pool_size, padding="same")
        x = ops.pad(x, ((0, 0), (0, self.pool_size - 1), (0, 0)))
        return pool(x, self.pool_size, self.pool_size, padding="valid")

    def _same_is_right_aligned(self):
        """Returns True if Keras's `"same"` pads only on the right.

        The padding `"same"` puts half of the padded steps, rounded down, on the left. If
        `pool_size` is at most 2, there is at most one padded step. A single padded step is on the
        right.
        """
        return self.pool_size <= 2

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        if previous_mask is None:
            return None
        valid = ops.cast(previous_mask, "float32")[..., None]
        pooled = self._pool(ops.max_pool, valid)
        return pooled[..., 0] > 0

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        batch, time, filters = input_shape
        return (batch, None if time is None else -(-time // self.pool_size), filters)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "pool_size": self.pool_size}
