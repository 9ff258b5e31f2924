"""Layer that computes the first difference of a recording over time."""

from typing import Any

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import wide


@keras.saving.register_keras_serializable(package="keras_dml")
class FirstDifference(keras.layers.Layer):
    """Difference between each step and the previous step, for every channel. The difference removes
    slow drifts and keeps fast rhythms.

    In EEG, slow drifts have a thousand times as much power as fast rhythms. The command
    `python -m zoo.eeg_bands` measures how well each rhythm separates people. The output is zero for
    a step that has no valid previous step, such as the first step or padding. The layer computes in
    float32 or wider under any dtype policy, because half precision may not resolve a signal with a
    large offset.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Example:
        >>> FirstDifference()(np.array([[[1.0], [4.0], [2.0]]])).numpy().ravel()
        array([ 0.,  3., -2.], dtype=float32)
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        change = ops.pad(inputs[:, 1:] - inputs[:, :-1], ((0, 0), (1, 0), (0, 0)))
        if mask is not None:
            valid = ops.cast(mask, "bool")
            has_predecessor = ops.logical_and(valid, ops.pad(valid[:, :-1], ((0, 0), (1, 0))))
            change = ops.where(has_predecessor[..., None], change, 0)
        return ops.cast(change, self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape
