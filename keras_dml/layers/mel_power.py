"""Layer that computes the power of audio in mel bands inside the model."""

from typing import Any

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import wide
from keras_dml.geometry.signals.spectrum import power_spectrum
from keras_dml.layers import _frames

LINEAR = 1000.0  # Hz; Slaney's scale is linear below this frequency
HZ_PER_MEL = 200 / 3
LOG_STEP = np.log(6.4) / 27  # increase of the log frequency per mel above LINEAR


@keras.saving.register_keras_serializable(package="keras_dml")
class MelPower(_frames.AudioFrames):
    """Power in mel bands as in `librosa.feature.melspectrogram`. A frame of 25 ms begins every 10
    ms. Resemblyzer's encoder (Wan2018) takes these powers as input.

    The layer applies these steps to each frame: periodic Hann window, Fourier transform without
    padding, squared magnitude, and triangular filters of area 1 on Slaney's mel axis from 0 to half
    the rate. The layer computes no logarithm, and subtracts no mean. The layer computes in float32
    or wider under any dtype policy. The first frame begins at the first sample (`center=False` in
    librosa), and the output has only whole frames. A frame is valid if all samples in it are valid.

    Input shape: `(batch, samples, 1)`, with or without a Keras mask. Output shape: `(batch, frames,
    bands)`, in the squared unit of the samples, per hertz.

    Args:
        bands: Number of mel bands.
        rate: Sampling rate in Hz, a multiple of 200.

    Raises:
        ValueError: If the rate or the number of bands is invalid, or if the input is not of shape
            `(batch, samples, 1)`.

    Example:
        >>> MelPower(40)(np.zeros((1, 16000, 1))).shape
        TensorShape([1, 98, 40])
    """

    def __init__(self, bands: int = 40, rate: int = 16000, **kwargs: Any):
        super().__init__(rate, **kwargs)
        if int(bands) < 1:
            raise ValueError(f"`bands` must be at least 1. Received bands={bands}.")
        self.bands = int(bands)
        self.bins, self.weights_of_bins = _frames.filter_bins(
            slaney_filters(self.frame, bands, rate)
        )
        self.window = np.hanning(self.frame + 1)[:-1]

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        audio = ops.cast(inputs, wide(self.variable_dtype))[..., 0]  # (batch, samples)
        if mask is not None:
            audio = ops.where(ops.cast(mask, "bool"), audio, 0)
        frames = _frames.split_frames(audio, self.hop)
        power = power_spectrum(frames * ops.cast(self.window, frames.dtype))
        bands = _frames.apply_filters(power, self.bins, self.weights_of_bins)
        if mask is not None:
            bands = ops.where(ops.expand_dims(self.compute_mask(inputs, mask), 2), bands, 0)
        return ops.cast(bands, self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        batch, samples, _ = input_shape
        frames = None if samples is None else 1 + (samples - self.frame) // self.hop
        return (batch, frames, self.bands)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "bands": self.bands, "rate": self.rate}


def slaney_filters(transform: int, bands: int, rate: int) -> np.ndarray:
    """Returns triangular filters of area 1, whose sides are linear in Hz. The edges of the
    triangles are equally spaced on Slaney's mel axis. Slaney's mel axis is linear up to 1 kHz and
    logarithmic above 1 kHz.

    Args:
        transform: Length of the Fourier transform, in samples.
        bands: Number of triangular filters. Together, the filters cover the frequencies from 0 to
            half the rate.
        rate: Sampling rate, in Hz.

    Returns:
        Weights for the frequencies 0 to rate / 2, shape `(bands, transform // 2 + 1)`.
    """
    edges = _hertz(np.linspace(0, _mel(rate / 2), bands + 2))[:, None]
    frequency = np.arange(transform // 2 + 1) * rate / transform
    rising = (frequency - edges[:-2]) / (edges[1:-1] - edges[:-2])  # (bands, frequencies)
    falling = (edges[2:] - frequency) / (edges[2:] - edges[1:-1])
    return np.maximum(np.minimum(rising, falling), 0) * 2 / (edges[2:] - edges[:-2])


def _mel(hertz):
    if hertz < LINEAR:
        return hertz / HZ_PER_MEL
    return LINEAR / HZ_PER_MEL + np.log(hertz / LINEAR) / LOG_STEP


def _hertz(mel):
    above = LINEAR * np.exp(LOG_STEP * (mel - LINEAR / HZ_PER_MEL))
    return np.where(mel < LINEAR / HZ_PER_MEL, mel * HZ_PER_MEL, above)
