"""Causal filters that Kim2020 applies to EEG before computing the covariance."""

from __future__ import annotations

import numpy as np

LOW_HZ, HIGH_HZ, ORDER = 4.0, 47.0, 3
UPDATE = 0.001  # value of Schirrmeister2017, who state a decay of 0.999
SMALLEST = 1e-4


def band_pass(
    signal: np.ndarray, rate_hz: float, low_hz: float = LOW_HZ, high_hz: float = HIGH_HZ
) -> np.ndarray:
    """Filters each channel with a causal Butterworth band-pass filter of order 3.

    The filter starts in the steady state for the first sample, so a constant offset does not cause
    a transient.

    Args:
        signal: Samples of shape (T, channels).
        rate_hz: Samples per second, more than `2 * high_hz`.
        low_hz: Lower edge of the band, at which the filter halves the power.
        high_hz: Upper edge of the band, at which the filter halves the power.

    Returns:
        Filtered samples of shape (T, channels), float64, in the unit of the signal.
    """
    from scipy.signal import butter, sosfilt, sosfilt_zi

    sections = butter(ORDER, (low_hz, high_hz), "bandpass", fs=rate_hz, output="sos")
    state = sosfilt_zi(sections)[:, :, None] * signal[0]  # (sections, 2, channels)
    return sosfilt(sections, signal, axis=0, zi=state)[0]


def moving_standardization(
    signal: np.ndarray, warm_up: int, update: float = UPDATE, smallest: float = SMALLEST
) -> np.ndarray:
    """Subtracts an exponential moving mean and divides by a moving standard deviation.

    For each channel, the moving mean is m_t = u x_t + (1 - u) m_{t-1} and the moving variance is
    v_t = u (x_t - m_t)^2 + (1 - u) v_{t-1}. The result is (x_t - m_t) / max(sqrt(v_t), smallest)
    (Schirrmeister2017).

    Args:
        signal: Samples of shape (T, channels).
        warm_up: Number of samples at the beginning whose mean and variance are the initial values
            of m and v.
        update: Weight u of a new sample.
        smallest: Smallest value by which a channel is divided, in the unit of the signal. Because
            of this limit, a constant channel becomes 0.

    Returns:
        Standardized samples of shape (T, channels), float64, without unit.
    """
    begin = signal[:warm_up]
    centered = signal - _moving(signal, begin.mean(axis=0), update)
    variance = _moving(centered**2, begin.var(axis=0), update)
    return centered / np.maximum(np.sqrt(variance), smallest)


def _moving(signal: np.ndarray, start: np.ndarray, update: float) -> np.ndarray:
    """Returns the exponential moving mean of each channel, shape (T, channels).

    `start` is the initial value of the mean, before the first sample.
    """
    from scipy.signal import lfilter

    state = (1 - update) * start[None]  # (1, channels)
    return lfilter([update], [1, update - 1], signal, axis=0, zi=state)[0]
