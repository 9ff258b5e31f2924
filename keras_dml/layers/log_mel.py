"""Layer that computes log-mel bands from audio inside the model."""

from typing import Any

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._backend.values import concrete
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean, wide
from keras_dml.layers import _frames

EMPHASIS_LOSS = 0.03  # 1 minus 0.97, the factor of the pre-emphasis
# Smallest power of a band, for samples in [-1, 1]. A float16 model file can store 1e-6, whereas
# 1e-10 would become 0.
FLOOR = 1e-6


@keras.saving.register_keras_serializable(package="keras_dml")
class LogMel(_frames.AudioFrames):
    """Logarithms of the power in mel bands (log-mel). A frame of 25 ms begins every 10 ms. Log-mel
    bands are the input of the x-vector network (Snyder2018).

    The layer applies these steps to each frame: pre-emphasis with factor 0.97, Hamming window,
    Fourier transform, squared magnitude, triangular filters on the mel axis (`mel_filters`), and
    the logarithm of max(power, 1e-6). Then the layer subtracts the mean of each band over the
    recording's frames (cepstral mean normalization). The subtraction removes the effects of
    microphone and loudness. The layer computes in float32 or wider under any dtype policy.

    A frame is valid if all samples in it are valid. The output has only whole frames. At 16 kHz,
    the number of frames is 1 + (samples - 400) // 160. TFLite runs the layer with builtin
    operators. Under every quantization, the layer computes in float, because no operator of the
    layer has weights that a converter would round to int8. A convolution instead of the Fourier
    transform would take less than half the time in TFLite (0.5 instead of 1.2 ms per second of
    audio). But rounding the convolution's weights would change quiet bands by 10 log units.

    Input shape: `(batch, samples, 1)` with samples in [-1, 1], with or without a Keras mask. Output
    shape: `(batch, frames, bands)`.

    Args:
        bands: Number of mel bands.
        rate: Sampling rate in Hz, a multiple of 200.
        low: Lower edge of the lowest band, in Hz.
        high: Upper edge of the highest band, in Hz, at most half the rate.
        min_frames: Number of frames that the following layers need. The layer raises an error for a
            shorter recording.

    Raises:
        ValueError: If the rate or the bands are invalid, if the shape of the input is not `(batch,
            samples, 1)`, or if a recording of known length is too short.

    Example:
        >>> LogMel(30)(np.zeros((1, 16000, 1))).shape
        TensorShape([1, 98, 30])
    """

    def __init__(
        self,
        bands: int = 30,
        rate: int = 16000,
        low: float = 20.0,
        high: float = 7600.0,
        *,
        min_frames: int = 1,
        **kwargs: Any,
    ):
        super().__init__(rate, **kwargs)
        self.bands, self.min_frames = int(bands), int(min_frames)
        self.low, self.high = float(low), float(high)
        self.transform = 2 ** (self.frame - 1).bit_length()  # samples, padded with zeros
        self.bins, self.weights_of_bins = _frames.filter_bins(
            mel_filters(self.transform, bands, rate, low, high)
        )
        self.window = np.hamming(self.frame)

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        audio = ops.cast(inputs, wide(self.variable_dtype))[..., 0]  # (batch, samples)
        self._check(audio.shape[1])
        if mask is None:
            bands = self._log_power(_frames.split_frames(audio, self.hop))  # (batch, frames, bands)
            return ops.cast(bands - mean(bands, axis=1, keepdims=True), self.compute_dtype)
        valid = self.compute_mask(inputs, mask)
        self._check_rows(mask, valid)
        audio = ops.where(ops.cast(mask, "bool"), audio, 0)
        bands = self._log_power(_frames.split_frames(audio, self.hop))
        valid = ops.expand_dims(valid, 2)  # (batch, frames, 1)
        bands = ops.where(valid, bands - mean(bands, axis=1, mask=valid, keepdims=True), 0)
        return ops.cast(bands, self.compute_dtype)

    def _log_power(self, frames):
        before = ops.concatenate([frames[..., :1], frames[..., :-1]], axis=-1)
        # The result is x - 0.97 y. Low frequencies are multiplied by about 0.03. In float16, the
        # rounding error of 0.97 would be one percent of 0.03.
        emphasized = frames - before + EMPHASIS_LOSS * before
        windowed = emphasized * ops.cast(self.window, frames.dtype)
        # TensorFlow's rfft does not pad the frames of an empty batch
        missing = self.transform - self.frame
        windowed = ops.pad(windowed, ((0, 0), (0, 0), (0, missing)))
        real, imaginary = ops.rfft(windowed, self.transform)
        power = real * real + imaginary * imaginary  # (batch, frames, transform // 2 + 1)
        bands = _frames.apply_filters(power, self.bins, self.weights_of_bins)
        return ops.log(ops.maximum(bands, FLOOR))

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        batch, samples, _ = input_shape
        self._check(samples)
        frames = None if samples is None else 1 + (samples - self.frame) // self.hop
        return (batch, frames, self.bands)

    def _check(self, samples):
        needed = self.frame + (self.min_frames - 1) * self.hop
        if samples is not None and samples < needed:
            raise ValueError(
                f"A recording has {samples} samples ({1e3 * samples / self.rate:.0f} ms at "
                f"{self.rate} Hz). The network needs at least {needed} samples "
                f"({1e3 * needed / self.rate:.0f} ms). Leave out the recording, or join it with "
                "another recording."
            )

    def _check_rows(self, mask, valid):
        counts = concrete(ops.sum(ops.cast(valid, "int32"), axis=1))
        if counts is not None and len(counts) and np.min(counts) < self.min_frames:
            self._check(int(np.sum(ops.convert_to_numpy(mask)[np.argmin(counts)])))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "bands": self.bands,
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "min_frames": self.min_frames,
        }


def mel_filters(
    transform: int, bands: int, rate: int = 16000, low: float = 20.0, high: float = 7600.0
) -> np.ndarray:
    """Returns triangular filters of height 1 on the mel axis. A frequency f in Hz corresponds to
    2595 log10(1 + f / 700) mel.

    Each triangle extends from the previous triangle's peak to the next triangle's peak.

    Args:
        transform: Length of the Fourier transform, in samples.
        bands: Number of triangles.
        rate: Sampling rate, in Hz.
        low: Lower edge of the first triangle, in Hz.
        high: Upper edge of the last triangle, in Hz.

    Returns:
        Weights for the frequencies 0 to rate / 2, shape `(bands, transform // 2 + 1)`.

    Raises:
        ValueError: If an edge is not between 0 and half the rate, or if a band is so narrow that it
            contains no frequency of the Fourier transform.
    """
    if not 0 <= low < high <= rate / 2 or bands < 1:
        raise ValueError(
            f"`bands` must be at least 1, and `low` and `high` must be from 0 to {rate / 2:g} Hz. "
            f"Received bands={bands}, low={low}, high={high}, rate={rate}."
        )
    edges = np.linspace(_mel(low), _mel(high), bands + 2)[:, None]
    mel = _mel(np.arange(transform // 2 + 1) * rate / transform)
    rising = (mel - edges[:-2]) / (edges[1:-1] - edges[:-2])  # (bands, frequencies)
    falling = (edges[2:] - mel) / (edges[2:] - edges[1:-1])
    filters = np.maximum(np.minimum(rising, falling), 0)
    if (filters.max(axis=1) == 0).any():
        raise ValueError(
            f"{bands} bands between {low:g} and {high:g} Hz are too many, because the lowest "
            "bands contain no frequency of the Fourier transform. The frequencies of the transform "
            f"are {rate / transform:g} Hz apart. Reduce `bands`."
        )
    return filters


def _mel(frequency):
    return 2595 * np.log10(1 + frequency / 700)
