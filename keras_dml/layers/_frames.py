"""Frames of 25 ms every 10 ms, and triangular filters on their spectra."""

import numpy as np

from keras_dml._backend import keras, ops

FRAME, HOP = 0.025, 0.010  # seconds; a frame is two hops and a half
RATE_STEP = 200  # Hz: at its multiples half a hop is a whole number of samples


class FramesOfSound(keras.layers.Layer):
    """A layer on frames of raw sound. A frame is valid if all its samples are.

    Args:
        rate: Sampling rate, a multiple of 200 Hz.
        **kwargs: See `keras.layers.Layer`.
    """

    def __init__(self, rate, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.frame, self.hop = sizes(rate)
        self.rate = int(rate)
        self.supports_masking = True

    @property
    def rate_hz(self):
        """Rate that `keras_dml.embed` compares with that of recordings."""
        return self.rate

    def build(self, input_shape):
        check_sound(input_shape)

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is None:
            return None
        return ops.all(framed(ops.cast(previous_mask, "bool"), self.hop), axis=-1)


def sizes(rate):
    """Samples of a frame and of a hop.

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
    """Raises ValueError unless a shape is `(batch, samples, 1)`."""
    if len(shape) != 3 or shape[-1] != 1:
        raise ValueError(
            "Audio must have shape (batch, samples, 1). Received shape "
            f"{tuple(shape)}. Average the channels of a stereo recording, and write "
            "`audio[..., None]` where the last axis is missing."
        )


def framed(x, hop):
    """Frames of `(batch, samples)`, two hops and a half long: shape `(batch, frames, frame)`."""
    half, frame = hop // 2, 2 * hop + hop // 2
    count = 1 + (ops.shape(x)[1] - frame) // hop
    padded = ops.pad(x, ((0, 0), (0, half)))[:, : (count + 2) * hop]
    hops = ops.reshape(padded, (-1, count + 2, hop))
    return ops.concatenate([hops[:, :count], hops[:, 1 : count + 1], hops[:, 2:, :half]], axis=-1)


def banded(filters):
    """The bins between the ends of each filter and their weights, all as wide as the widest."""
    first = (filters > 0).argmax(axis=1)
    width = np.max(np.sum(filters > 0, axis=1))
    bins = first[:, None] + np.arange(width)
    inside = bins < filters.shape[1]
    bins = np.where(inside, bins, 0)
    return bins, np.where(inside, np.take_along_axis(filters, bins, axis=1), 0)


def in_bands(power, bins, weights):
    """Weighted sums of the bins of each band: one band at a time sees its own bins, since a matrix
    would be int8 in a dynamic-range file.

    Args:
        power: Shape `(batch, frames, frequencies)`.
        bins: Shape `(bands, width)`.
        weights: Same shape.
    """
    seen = ops.take(power, bins, axis=-1)  # (batch, frames, bands, width)
    return ops.sum(seen * ops.cast(weights, power.dtype), axis=-1)
