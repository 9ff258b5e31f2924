"""Functions that resample recordings to evenly spaced steps at another rate."""

import dataclasses
import math
from fractions import Fraction

import numpy as np

from keras_dml import _optional
from keras_dml._messages import Message
from keras_dml.recordings import _times
from keras_dml.recordings._recording import Signal

# The new rate is at most FINEST times the rate of the recording. Higher rates add no information.
FINEST = 2
COARSEST = 10_000  # largest ratio of old to new rate; the filter has 40 taps per unit of the ratio
PASSED = 0.9  # end of the pass band, as a fraction of the lower Nyquist frequency
STOPPED = 65.0  # attenuation above the lower Nyquist frequency, in dB
DRIFT = 1e-4  # allowed relative error of a ratio of rates, equal to the clock error of phones
LARGEST = 1000  # limit for numerator and denominator of a ratio of nominal rates, such as 160/441
EVEN = 0.1  # even times may deviate by this fraction of a step, or by the clock resolution
FINER = 2  # uneven times are interpolated at this multiple of the native rate
FEWEST = 8  # smallest number of samples for a spline; fewer samples are interpolated linearly
ROUNDS = 6  # with jitter of 0.3 steps, 90 % of the Nyquist frequency is passed within 0.1 dB
UNEVEN_BLOCK = 2**18  # number of values at uneven times that are resampled at once
LEAST_BLOCK = 2**14  # smallest number of steps at uneven times that are resampled at once
MARGIN = 1000  # number of steps of the lower rate by which blocks overlap
CLOSEST = 0.2  # samples closer than this fraction of a step are averaged before splines are fitted


def resampled(signal: Signal, resolution: float, rate_hz: float) -> Signal:
    """Resamples a signal by a polyphase low-pass filter.

    If the times of the samples are uneven, cubic splines first interpolate the samples at even
    times.

    Args:
        signal: Signal without missing values.
        resolution: Smallest time difference that the clock can record, in seconds.
        rate_hz: New sampling rate, in steps per second.

    Returns:
        `Signal` at the new rate.

    Raises:
        ValueError: If the rate of the signal is unknown or less than half of the new rate, or if
            the signal is shorter than one time step at the new rate.
    """
    path, native_hz = signal.path, native_rate(signal)
    if native_hz is None:
        raise ValueError(
            Message(
                "{path} does not state its rate and cannot be resampled. Set {rate_hz} to the "
                "steps per second of the file, or {time} to its column of times.",
                path=path,
            )
        )
    if rate_hz > FINEST * (1 + _times.SAME) * native_hz:
        raise ValueError(
            f"{path} has {native_hz:.6g} Hz and cannot be resampled to {rate_hz:g} Hz, because a "
            f"new rate may be at most {FINEST} times the rate of the file. Record at a higher rate."
        )
    if rate_hz * len(signal.values) < native_hz:
        raise ValueError(
            Message(
                "{path} has {native:.6g} Hz and lasts {seconds:.3g} s, which is shorter than one "
                "time step at {rate:g} Hz. If the unit of its times is wrong, set {time_unit}.",
                path=path,
                native=native_hz,
                seconds=len(signal.values) / native_hz,
                rate=rate_hz,
            )
        )
    if rate_hz * COARSEST < native_hz:
        raise ValueError(
            Message(
                "{path} has {native:.6g} Hz and cannot be resampled to {rate:g} Hz, because the "
                "new rate must be at least 1/{coarsest} of the file's rate. If the file's times "
                "are in another unit, set {time_unit}.",
                path=path,
                native=native_hz,
                rate=rate_hz,
                coarsest=COARSEST,
            )
        )
    if signal.seconds is None or is_even(signal.seconds, resolution):
        ratio = ratio_of(rate_hz, native_hz)
        values = polyphase(signal.values, ratio)
    else:
        values = _uneven(signal, native_hz, rate_hz)
    notes = signal.notes
    if rate_hz > native_hz and not _times.is_same_rate(native_hz, rate_hz):
        notes = (
            *notes,
            f"The rate was raised to {rate_hz:g} Hz. The result contains no frequencies above "
            f"{_three_digits(native_hz / 2)} Hz, because they were not recorded.",
        )
    return dataclasses.replace(signal, values=values, seconds=None, rate_hz=rate_hz, notes=notes)


def native_rate(signal: Signal) -> float | None:
    """Returns the sampling rate of a signal, or None if the rate is unknown."""
    if signal.rate_hz is not None:
        return signal.rate_hz
    return None if signal.seconds is None else _times.rate_hz(signal.seconds)


def is_even(seconds: np.ndarray, resolution: float) -> bool:
    """Returns whether times are evenly spaced, apart from rounding."""
    if len(seconds) < 3:
        return True
    even = np.linspace(0, seconds[-1], len(seconds))
    return np.abs(seconds - even).max() <= max(EVEN * even[1], 1.01 * resolution)


def ratio_of(wanted_hz: float, native_hz: float) -> Fraction:
    """Returns the ratio `wanted_hz / native_hz` of two rates as a fraction.

    For nominal rates, the fraction is exact. For example, the ratio of 16,000 and 44,100 Hz is
    160/441. For a measured rate, the function returns the simplest fraction that differs from the
    ratio by at most 0.01 %.
    """
    rates = wanted_hz, native_hz
    nominal = [Fraction(rate).limit_denominator(LARGEST) for rate in rates]
    if np.allclose(np.array(nominal, float), rates, rtol=1e-9, atol=0):
        exact = nominal[0] / nominal[1]
        if max(exact.numerator, exact.denominator) <= LARGEST:
            return exact
    ratio = wanted_hz / native_hz
    denominator = 1
    while abs(round(ratio * denominator) / denominator / ratio - 1) > DRIFT:
        denominator += 1
    return Fraction(round(ratio * denominator), denominator)


def polyphase(values: np.ndarray, ratio: Fraction, cutoff: float = 1.0) -> np.ndarray:
    """Resamples values by a rational ratio. The filter is a linear-phase FIR filter that is
    designed by a Kaiser window.

    The filter passes frequencies up to 90 % of the Nyquist frequency of the lower rate, and stops
    frequencies above this Nyquist frequency. Before filtering, the function extends the signal at
    its two ends by odd reflection.

    The result equals the result of `scipy.signal.resample_poly` except for rounding errors. The
    function does not use SciPy, because the import of `scipy.signal` takes longer than a whole
    command and doubles its memory.

    Args:
        values: Values, shape `(time, channels)`.
        ratio: New rate divided by the old rate.
        cutoff: Factor by which the cutoff frequency is multiplied.

    Returns:
        Array of shape `(floor((time - 1) * ratio) + 1, channels)`. The result does not extend
        beyond the last step of `values`.
    """
    if ratio == 1 and cutoff == 1:
        return values
    up, down = ratio.numerator, ratio.denominator
    taps = up * _low_pass(cutoff / max(up, down))
    half = len(taps) // 2
    reach = -(-half // up)  # largest distance of a step from a filtered step, in steps of `values`
    extended = _continued(values.astype(np.float64), reach)
    # (time, channels, taps per step)
    windows = np.lib.stride_tricks.sliding_window_view(extended, 2 * reach + 1, axis=0)
    resampled = np.empty(((len(values) - 1) * up // down + 1, values.shape[1]), values.dtype)
    # The steps `phase`, `phase + up`, ... of the result have the same taps.
    for phase in range(min(up, len(resampled))):
        first, shift = divmod(phase * down, up)
        places = half + shift - up * np.arange(-reach, reach + 1)
        is_tap = (places >= 0) & (places < len(taps))
        kernel = np.where(is_tap, taps[places * is_tap], 0)
        part = resampled[phase::up]
        part[:] = windows[first::down][: len(part)] @ kernel
    return resampled


def _low_pass(edge):
    """Returns the taps of a low-pass filter, which are a sinc function multiplied by a Kaiser
    window. `scipy.signal.kaiserord` and `scipy.signal.firwin` use the same formulas.

    Args:
        edge: Frequency that the filter stops, as a fraction of the Nyquist frequency.
    """
    count = math.ceil((STOPPED - 7.95) / (2.285 * math.pi * (1 - PASSED) * edge) + 1)
    steps = np.arange(-(count // 2 + 1), count // 2 + 2)
    center = (1 + PASSED) / 2 * edge
    taps = np.sinc(center * steps) * np.kaiser(len(steps), 0.1102 * (STOPPED - 8.7))
    return taps / taps.sum()


def _continued(values, count):
    """Extends values by `count` steps at the two ends, first by odd reflection and then by a
    constant."""
    reflected = min(count, len(values) - 1)
    before = 2 * values[:1] - values[reflected:0:-1]
    after = 2 * values[-1:] - values[-2 : -2 - reflected : -1] if reflected else values[:0]
    whole = np.concatenate([before, values, after])
    return np.pad(whole, ((count - reflected,) * 2, (0, 0)), mode="edge")


def _uneven(signal, native_hz, rate_hz):
    """Resamples a signal whose times are uneven.

    The function interpolates the samples by a cubic spline, and evaluates the spline at even times.
    The rate of the even times is at least twice the native rate. A low-pass filter then removes
    frequencies above the native Nyquist frequency. Splines attenuate high frequencies, so the
    result differs from the samples. The function resamples the differences between samples and
    result in the same way, and adds the resampled differences to the result. The function repeats
    this correction, and uses `ROUNDS` splines in total.

    The method needs a hundred times as much memory as the signal itself, so the function resamples
    a long signal in blocks. Each sample affects only a few dozen steps of the result. Neighboring
    blocks overlap by a larger number of steps.
    """
    seconds, values = _without_close_samples(signal.seconds, signal.values, CLOSEST / native_hz)
    block = max(LEAST_BLOCK, UNEVEN_BLOCK // values.shape[1])
    margin = math.ceil(MARGIN * max(1, native_hz / rate_hz))
    count = math.floor(seconds[-1] * rate_hz + 1e-6) + 1
    parts, end = [], 0
    for start in range(0, len(seconds), block):
        begin, last = end, start + block >= len(seconds)
        end = count if last else math.ceil(seconds[start + block] * rate_hz)
        origin = 0
        if start > margin:
            origin = min(begin, math.ceil(seconds[start - margin] * rate_hz))
        first = np.searchsorted(seconds, origin / rate_hz)
        rows = slice(first, start + block + margin)
        part = _splined(seconds[rows] - origin / rate_hz, values[rows], native_hz, rate_hz)
        parts.append(part[begin - origin : end - origin])
    return np.concatenate(parts)


def _splined(seconds, values, native_hz, rate_hz):
    """Resamples values by the method that `_uneven` describes. `seconds` are uneven times that
    begin at 0."""
    with _optional.explained():
        import scipy.interpolate

    finer = max(1, math.ceil(FINER * native_hz / rate_hz - 1e-6))
    grid_hz = finer * rate_hz
    count = math.floor(seconds[-1] * grid_hz + 1e-6 * finer) + 1
    grid = np.minimum(np.arange(count) / grid_hz, seconds[-1])
    if len(seconds) < FEWEST:
        even = np.stack([np.interp(grid, seconds, column) for column in values.T], axis=1)
        return polyphase(even, Fraction(1, finer))
    even, missing = 0.0, values
    for _ in range(ROUNDS):
        spline = scipy.interpolate.CubicSpline(seconds, missing, bc_type="natural")(grid)
        even = even + polyphase(spline, Fraction(1), min(1.0, native_hz / grid_hz))
        missing = values - scipy.interpolate.CubicSpline(grid, even)(seconds)
    return polyphase(even, Fraction(1, finer))


def _without_close_samples(seconds, values, closest):
    """Averages neighboring samples whose times differ by less than `closest` seconds.

    The first and the last time do not change.
    """
    groups = np.cumsum(np.r_[True, np.diff(seconds) >= closest]) - 1
    counts = np.bincount(groups)
    if len(counts) == len(seconds):
        return seconds, values
    means = [np.bincount(groups, weights=column) / counts for column in (seconds, *values.T)]
    means[0][0], means[0][-1] = seconds[0], seconds[-1]
    return means[0], np.stack(means[1:], axis=1)


def _three_digits(rate):
    return f"{float(f'{rate:.3g}'):g}"
