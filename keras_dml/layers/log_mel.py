"""Log-mel bands of audio, computed inside the model."""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._backend.values import concrete
from keras_dml.geometry.numerics import mean, wide
from keras_dml.layers import _frames

EMPHASIS_LOSS = 0.03  # one minus the factor 0.97 of the pre-emphasis
# Minimum power of a band, for samples in [-1, 1]: a float16 file holds it; 1e-10 would be 0.
FLOOR = 1e-6


@keras.saving.register_keras_serializable(package="keras_dml")
class LogMel(_frames.FramesOfSound):
    """Logarithms of the power in mel bands, in frames of 25 ms every 10 ms (for the x-vector of
    Snyder2018).

    Each frame by itself: pre-emphasis 0.97, Hamming window, Fourier transform, squared magnitude,
    triangles on the mel axis (`mel_filters`), log(max(., 1e-6)). The mean of each band over the
    recording's frames is then taken off, so that neither microphone nor loudness counts. Computed
    in float32 or wider under any policy.

    A frame is valid if all its samples are. Of the time axis only whole frames are kept: 1 +
    (samples - 400) // 160 at 16 kHz. TFLite runs it with builtin operators and keeps it in float in
    every quantization, as none of its operators holds weights that a converter would round to int8.
    One convolution would take half the time there (0.5 instead of 1.2 ms per second of audio), but
    rounding its weights moves quiet bands by 10 log units.

    Input shape: `(batch, samples, 1)`, in [-1, 1], with or without a Keras mask. Output shape:
    `(batch, frames, bands)`.

    Args:
        bands: Number of mel bands.
        rate: Sampling rate, a multiple of 200 Hz.
        low: Lower edge of the lowest band, in Hz.
        high: Upper edge of the highest band, in Hz; half the rate at most.
        min_frames: Frames that the following layers need; a shorter recording is refused here, with
            its length in samples.

    Raises:
        ValueError: If the rate or the bands are impossible, the input is not of shape `(batch,
            samples, 1)`, or a recording whose length is known is too short.

    Example:
        >>> LogMel(30)(np.zeros((1, 16000, 1))).shape
        TensorShape([1, 98, 30])
    """

    def __init__(self, bands=30, rate=16000, low=20.0, high=7600.0, *, min_frames=1, **kwargs):
        super().__init__(rate, **kwargs)
        self.bands, self.min_frames = int(bands), int(min_frames)
        self.low, self.high = float(low), float(high)
        self.transform = 2 ** (self.frame - 1).bit_length()  # samples, padded with zeros
        self.bins, self.weights_of_bins = _frames.banded(
            mel_filters(self.transform, bands, rate, low, high)
        )
        self.window = np.hamming(self.frame)

    def call(self, inputs, mask=None):
        audio = ops.cast(inputs, wide(self.variable_dtype))[..., 0]  # (batch, samples)
        self._check(audio.shape[1])
        if mask is None:
            bands = self._log_power(_frames.framed(audio, self.hop))  # (batch, frames, bands)
            return ops.cast(bands - mean(bands, axis=1, keepdims=True), self.compute_dtype)
        valid = self.compute_mask(inputs, mask)
        self._check_rows(mask, valid)
        audio = ops.where(ops.cast(mask, "bool"), audio, 0)
        bands = self._log_power(_frames.framed(audio, self.hop))
        valid = ops.expand_dims(valid, 2)  # (batch, frames, 1)
        bands = ops.where(valid, bands - mean(bands, axis=1, mask=valid, keepdims=True), 0)
        return ops.cast(bands, self.compute_dtype)

    def _log_power(self, frames):
        before = ops.concatenate([frames[..., :1], frames[..., :-1]], axis=-1)
        # x - 0.97 y; a float16 file's 0.97 would be off by a percent of the 0.03 that slow
        # sounds keep
        emphasized = frames - before + EMPHASIS_LOSS * before
        windowed = emphasized * ops.cast(self.window, frames.dtype)
        # TensorFlow does not fill up frames of an empty batch
        missing = self.transform - self.frame
        windowed = ops.pad(windowed, ((0, 0), (0, 0), (0, missing)))
        real, imaginary = ops.rfft(windowed, self.transform)
        power = real * real + imaginary * imaginary  # (batch, frames, transform // 2 + 1)
        bands = _frames.in_bands(power, self.bins, self.weights_of_bins)
        return ops.log(ops.maximum(bands, FLOOR))

    def compute_output_shape(self, input_shape):
        batch, samples, _ = input_shape
        self._check(samples)
        frames = None if samples is None else 1 + (samples - self.frame) // self.hop
        return (batch, frames, self.bands)

    def _check(self, samples):
        needed = self.frame + (self.min_frames - 1) * self.hop
        if samples is not None and samples < needed:
            raise ValueError(
                f"A recording has {samples} samples, {1e3 * samples / self.rate:.0f} ms at "
                f"{self.rate} Hz; the network needs at least {needed}, "
                f"{1e3 * needed / self.rate:.0f} ms. Leave it out or join it with another."
            )

    def _check_rows(self, mask, valid):
        counts = concrete(ops.sum(ops.cast(valid, "int32"), axis=1))
        if counts is not None and len(counts) and np.min(counts) < self.min_frames:
            self._check(int(np.sum(ops.convert_to_numpy(mask)[np.argmin(counts)])))

    def get_config(self):
        return {
            **super().get_config(),
            "bands": self.bands,
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "min_frames": self.min_frames,
        }


def mel_filters(transform, bands, rate=16000, low=20.0, high=7600.0):
    """Triangular filters of height one on the mel axis, 2595 log10(1 + f / 700), each from the
    previous peak to the next.

    Args:
        transform: Length of the Fourier transform, in samples.
        bands: Number of triangles.
        rate: Sampling rate, in Hz.
        low: Lower edge of the first triangle, in Hz.
        high: Upper edge of the last triangle, in Hz.

    Returns:
        Weights of the frequencies 0 to rate / 2, shape `(bands, transform // 2 + 1)`.

    Raises:
        ValueError: If the edges are not within 0 and half the rate, or a band is so narrow that no
            frequency of the transform falls into it.
    """
    if not 0 <= low < high <= rate / 2 or bands < 1:
        raise ValueError(
            f"Bands must lie within 0 and {rate / 2:g} Hz, half the rate, and be at least one. "
            f"Received bands={bands}, low={low}, high={high}, rate={rate}."
        )
    edges = np.linspace(_mel(low), _mel(high), bands + 2)[:, None]
    mel = _mel(np.arange(transform // 2 + 1) * rate / transform)
    rising = (mel - edges[:-2]) / (edges[1:-1] - edges[:-2])  # (bands, frequencies)
    falling = (edges[2:] - mel) / (edges[2:] - edges[1:-1])
    filters = np.maximum(np.minimum(rising, falling), 0)
    if (filters.max(axis=1) == 0).any():
        raise ValueError(
            f"{bands} bands between {low:g} and {high:g} Hz are too many: the lowest hold none of "
            f"the frequencies, {rate / transform:g} Hz apart. Ask for fewer."
        )
    return filters


def _mel(frequency):
    return 2595 * np.log10(1 + frequency / 700)
