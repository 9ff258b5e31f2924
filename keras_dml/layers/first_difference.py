"""First difference of a recording over time."""

from keras_dml._backend import keras, ops
from keras_dml.geometry.numerics import wide


@keras.saving.register_keras_serializable(package="keras_dml")
class FirstDifference(keras.layers.Layer):
    """Change of every channel since the step before: slow drifts go, fast rhythms stay.

    In EEG the drifts have a thousand times the power of the fast rhythms. Which rhythms tell people
    apart is measured by `python -m zoo.eeg_bands`.
    Zero where a step has no valid predecessor, so that the first step, and padding, say nothing.
    Computed in float32 or wider under any policy, since an offset may be beyond half precision.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Example:
        >>> FirstDifference()(np.array([[[1.0], [4.0], [2.0]]])).numpy().ravel()
        array([ 0.,  3., -2.], dtype=float32)
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        change = ops.pad(inputs[:, 1:] - inputs[:, :-1], ((0, 0), (1, 0), (0, 0)))
        if mask is not None:
            valid = ops.cast(mask, "bool")
            both = ops.logical_and(valid, ops.pad(valid[:, :-1], ((0, 0), (1, 0))))
            change = ops.where(both[..., None], change, 0)
        return ops.cast(change, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return input_shape
