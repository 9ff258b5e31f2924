"""A lower bound on the level of recordings."""

from keras_dml._backend import keras, ops
from keras_dml.geometry.numerics import mean, wide

SILENT = 1e-8  # root mean square below which nothing is amplified further


@keras.saving.register_keras_serializable(package="keras_dml")
class MinimumLevel(keras.layers.Layer):
    """Amplifies recordings whose root mean square over their valid steps is below a level; louder
    ones stay as they are.

    Computed in float32 or wider under any policy.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Args:
        level: Smallest root mean square, in the unit of the input.

    Raises:
        ValueError: If the level is not positive.

    Example:
        >>> MinimumLevel(0.5)(np.array([[[0.1], [-0.1]], [[2.0], [2.0]]])).numpy()[..., 0]
        array([[ 0.5, -0.5],
               [ 2. ,  2. ]], dtype=float32)
    """

    def __init__(self, level, **kwargs):
        super().__init__(autocast=False, **kwargs)
        if not 0 < level < float("inf"):
            raise ValueError(f"`level` must be a positive number. Received level={level!r}.")
        self.level = float(level)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        valid = None if mask is None else ops.cast(mask, "bool")[..., None]  # (batch, time, 1)
        if valid is not None:
            inputs = ops.where(valid, inputs, 0)
        squares = mean(ops.square(inputs), axis=1, mask=valid, keepdims=True)
        power = mean(squares, axis=2, keepdims=True)  # (batch, 1, 1)
        gain = self.level * ops.rsqrt(ops.maximum(power, SILENT**2))
        return ops.cast(inputs * ops.maximum(gain, 1), self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "level": self.level}
