"""Normalisation of the channels of a recording, stored in the model."""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml.geometry.numerics import wide


@keras.saving.register_keras_serializable(package="keras_dml")
class ChannelNormalisation(keras.layers.Layer):
    """Subtracts each channel's mean and divides by its standard deviation, as `adapt` measured them
    on training data.

    Input and output shape: `(..., channels)`; the input in the sensor's units, the output in
    standard deviations. A channel that is constant in the training data is only shifted. Computed
    in float32 or wider whatever the policy, since a sensor's offset may be beyond half precision.
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        channels = (input_shape[-1],)
        fixed = {"shape": channels, "trainable": False, "autocast": False}
        self.mean = self.add_weight(name="mean", initializer="zeros", **fixed)
        self.deviation = self.add_weight(name="deviation", initializer="ones", **fixed)

    def adapt(self, recordings):
        """Measures mean and standard deviation over all steps of all recordings.

        Args:
            recordings: Iterable of arrays `(time, channels)`, or one array `(recordings, time,
                channels)`.

        Raises:
            ValueError: If there are no steps, a recording has another shape, or one holds NaN or
                infinity.
        """
        recordings = [np.asarray(recording, np.float64) for recording in recordings]
        _check(recordings, self.mean.shape[0] if self.built else None)
        steps = np.concatenate(recordings)  # (steps, channels)
        deviation = steps.std(axis=0)
        rounding = np.finfo(np.float32).eps * np.abs(steps).max(axis=0)  # of a constant in float32
        if not self.built:
            self.build(steps.shape)
        self.mean.assign(steps.mean(axis=0))
        self.deviation.assign(np.where(deviation > rounding, deviation, 1.0))

    def call(self, inputs):
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        return ops.cast((inputs - self.mean) / self.deviation, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


@keras.saving.register_keras_serializable(package="keras_dml")
class RecordingStandardisation(keras.layers.Layer):
    """Brings every channel of every recording to mean 0 and standard deviation 1 over its own valid
    steps.

    For signals whose level depends on the day (electrode contact, amplifier). A dead channel
    becomes 0. Computed in float32 or wider whatever the policy, since half precision cannot count
    the steps.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Args:
        epsilon: Added to the variance, in squared units of the input.
    """

    def __init__(self, epsilon=1e-6, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.epsilon = float(epsilon)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        if mask is None:
            mean = ops.mean(inputs, axis=1, keepdims=True)
            gap = inputs - mean
            variance = ops.mean(gap * gap, axis=1, keepdims=True)
        else:
            valid = ops.cast(mask, inputs.dtype)[..., None]  # (batch, time, 1)
            count = ops.maximum(ops.sum(valid, axis=1, keepdims=True), 1)
            mean = ops.sum(ops.where(valid > 0, inputs, 0), axis=1, keepdims=True) / count
            gap = ops.where(valid > 0, inputs - mean, 0)
            variance = ops.sum(gap * gap, axis=1, keepdims=True) / count
        return ops.cast(gap * ops.rsqrt(variance + self.epsilon), self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "epsilon": self.epsilon}


def _check(recordings, channels):
    for i, recording in enumerate(recordings):
        if recording.ndim != 2 or recording.shape[1] != (channels or recordings[0].shape[1]):
            raise ValueError(
                f"Recording {i} must have shape (time, {channels or 'channels'}), with the same "
                f"channels in all. Received shape {recording.shape}. A single recording goes in "
                "as a list of one."
            )
        if not np.isfinite(recording).all():
            raise ValueError(f"Recording {i} holds NaN or infinity. Repair it or leave it out.")
    if not sum(len(recording) for recording in recordings):
        raise ValueError(
            "There are no steps to measure; give at least one recording of shape (time, channels)."
        )


@keras.saving.register_keras_serializable(package="keras_dml")
class StepDifference(keras.layers.Layer):
    """Change of every channel since the step before: slow drifts go, fast rhythms stay.

    EEG tells people apart by its fast rhythms, which a thousandth of the drifts' power carries.
    Zero where a step has no valid predecessor, so that the first step, and padding, say nothing.
    Computed in float32 or wider whatever the policy, since an offset may be beyond half precision.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Example:
        >>> StepDifference()(np.array([[[1.0], [4.0], [2.0]]])).numpy().ravel()
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
