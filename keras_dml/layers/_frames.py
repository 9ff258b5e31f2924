"""Audio frames of 25 ms every 10 ms, and triangular filters for the spectra of frames."""

from typing import Any

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor

FRAME, HOP = 0.025, 0.010  # seconds; a frame is two hops and a half
RATE_STEP = 200  # Hz; at multiples of this rate half a hop is a whole number of samples


class AudioFrames(keras.layers.Layer):
    """Base class of layers that split raw audio into frames. A frame is valid if all samples in it
    are valid.

    Args:
        rate: Sampling rate in Hz, a multiple of 200.
        **kwargs: Further arguments of `keras.layers.Layer`, such as `name`.
    """

    def __init__(self, rate: int, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.frame, self.hop = frame_sizes(rate)
        self.rate = int(rate)
        self.supports_masking = True

    @property
    def rate_hz(self) -> int:
        """Sampling rate in Hz. `keras_dml.embed` compares this rate with the rate of the
        recordings."""
        return self.rate

    def build(self, input_shape: tuple[Any, ...]) -> None:
        check_sound(input_shape)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        if previous_mask is None:
            return None
        return ops.all(split_frames(ops.cast(previous_mask, "bool"), self.hop), axis=-1)


def frame_sizes(rate):
    """Returns the number of samples in a frame and in a hop.

    Args:
        rate: Sampling rate, in Hz.

    Raises:
        ValueError: If half a hop is not a whole number of samples.
    """
    if rate <= 0 or rate % RATE_STEP:
        raise ValueError(
            f"`rate` must be a multiple of {RATE_STEP} Hz. Received rate={rate!r}. Resample "
            "the audio to 16000 Hz, as `scipy.signal.resample_poly` does."
        )
    return round(FRAME * rate), round(HOP * rate)


def check_sound(shape):
    """Raises ValueError if a shape is not `(batch, samples, 1)`."""
    if len(shape) != 3 or shape[-1] != 1:
        raise ValueError(
            "Audio must have shape (batch, samples, 1). Received shape "
            f"{tuple(shape)}. Average the channels of a stereo recording, and write "
            "`audio[..., None]` if the last axis is missing."
        )


def split_frames(x, hop):
    """Splits audio `(batch, samples)` into frames `(batch, frames, frame)`. A frame is two and a
    half hops long."""
    half, frame = hop // 2, 2 * hop + hop // 2
    count = 1 + (ops.shape(x)[1] - frame) // hop
    padded = ops.pad(x, ((0, 0), (0, half)))[:, : (count + 2) * hop]
    hops = ops.reshape(padded, (-1, count + 2, hop))
    return ops.concatenate([hops[:, :count], hops[:, 1 : count + 1], hops[:, 2:, :half]], axis=-1)


def filter_bins(filters):
    """Returns the frequency bins that each filter uses, as indices and weights.

    Every filter gets as many bins as the widest filter needs.

    Args:
        filters: Weights of all frequency bins, shape `(bands, frequencies)`.

    Returns:
        Indices, shape `(bands, width)`, and weights, shape `(bands, width)`.
    """
    first = (filters > 0).argmax(axis=1)
    width = np.max(np.sum(filters > 0, axis=1))
    bins = first[:, None] + np.arange(width)
    inside = bins < filters.shape[1]
    bins = np.where(inside, bins, 0)
    return bins, np.where(inside, np.take_along_axis(filters, bins, axis=1), 0)


def apply_filters(power, bins, weights):
    """Computes the weighted sum of each band's frequency bins.

    The function selects the bins of each band instead of multiplying by a matrix, because a
    dynamic-range TFLite file would store the matrix as int8.

    Args:
        power: Power spectra, shape `(batch, frames, frequencies)`.
        bins: Indices that `filter_bins` returned, shape `(bands, width)`.
        weights: Weights that `filter_bins` returned, shape `(bands, width)`.
    """
    selected = ops.take(power, bins, axis=-1)  # (batch, frames, bands, width)
    return ops.sum(selected * ops.cast(weights, power.dtype), axis=-1)
