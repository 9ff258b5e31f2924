"""Layer that normalizes the channels of recordings by the mean and the standard deviation of
training data."""

from typing import Any

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._typing import Recordings, Tensor
from keras_dml.geometry.numerics import wide


@keras.saving.register_keras_serializable(package="keras_dml")
class ChannelNormalization(keras.layers.Layer):
    """Normalization of each channel by the mean and the standard deviation that `adapt` measures on
    training data.

    Input and output shape: `(..., channels)`. The input is in the sensor's units. The output is in
    units of the standard deviation. If a channel is constant in the training data, the layer only
    subtracts the channel's mean. The layer computes in float32 or wider under any dtype policy,
    because half precision may not resolve a signal with a large offset.
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        channels = (input_shape[-1],)
        fixed = {"shape": channels, "trainable": False, "autocast": False}
        self.mean = self.add_weight(name="mean", initializer="zeros", **fixed)
        self.stddev = self.add_weight(name="stddev", initializer="ones", **fixed)

    def adapt(self, recordings: Recordings) -> None:
        """Measures the mean and the standard deviation over all steps of all recordings.

        Args:
            recordings: Iterable of arrays `(time, channels)`, or one array `(recordings, time,
                channels)`.

        Raises:
            ValueError: If `recordings` is empty or holds no steps, or if a recording has a wrong
                shape or holds NaN or infinity.
        """
        recordings = [np.asarray(recording, np.float64) for recording in recordings]
        _check(recordings, self.mean.shape[0] if self.built else None)
        steps = np.concatenate(recordings)  # (steps, channels)
        stddev = steps.std(axis=0)
        # rounding to float32 may give a constant channel this standard deviation instead of 0
        rounding = np.finfo(np.float32).eps * np.abs(steps).max(axis=0)
        if not self.built:
            self.build(steps.shape)
        self.mean.assign(steps.mean(axis=0))
        self.stddev.assign(np.where(stddev > rounding, stddev, 1.0))

    def call(self, inputs: Tensor) -> Tensor:
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        return ops.cast((inputs - self.mean) / self.stddev, self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape


def _check(recordings, channels):
    for i, recording in enumerate(recordings):
        if recording.ndim != 2 or recording.shape[1] != (channels or recordings[0].shape[1]):
            raise ValueError(
                f"Recording {i} must have shape (time, {channels or 'channels'}), and all "
                "recordings must have the same number of channels. Received shape "
                f"{recording.shape}. Pass a single recording as a list with one element."
            )
        if not np.isfinite(recording).all():
            raise ValueError(f"Recording {i} holds NaN or infinity. Repair it or leave it out.")
    if not sum(len(recording) for recording in recordings):
        raise ValueError(
            "The recordings hold no steps. Give at least one recording of shape (time, channels)."
        )
