"""Correlations of channels at lags."""

import numbers
from collections.abc import Iterable

import numpy as np

from keras_dml._backend import ops
from keras_dml.geometry.numerics import at_least_float32, nan_unless
from keras_dml.geometry.signals.covariance import centered


def lagged_correlations(x, mask=None, lags=(0,), ridge=1e-2):
    """Standard deviation of each channel, and correlations of all channels at lags.

    `r_l[i, j]` is the mean of `z[t, i] z[t + l, j]` over the pairs of steps that both are valid,
    with z the centered steps over the standard deviation of all valid steps: where few pairs remain
    a value may leave [-1, 1]. At lag 0 each pair of channels is given once, without the diagonal.

    Args:
        x: Signals, shape `(batch, time, channels)`.
        mask: Valid steps, boolean, shape `(batch, time)`; None where all are valid.
        lags: Different whole numbers of steps, from 0 on.
        ridge: Number added to each variance, in squared units of the signal: quieter channels count
            less.

    Returns:
        Standard deviations, shape `(batch, channels)`, in the unit of the signal, at least
        `sqrt(ridge)`; correlations, shape `(batch, pairs)`, lag by lag, without unit; 0 at a lag
        that no two valid steps have. Both float32 or wider; NaN for a signal without valid steps.

    Raises:
        ValueError: If the lags, the ridge or the shapes are not as above.
    """
    lags, ridge = check_lags(lags), check_ridge(ridge)
    x = at_least_float32(x)
    if len(x.shape) != 3 or x.shape[-1] is None:
        raise ValueError(
            "`x` must hold signals of known channels, shape (batch, time, channels). Received "
            f"shape {tuple(x.shape)}."
        )
    steps, count = centered(x, mask)
    steps = nan_unless(count >= 1, steps)
    square = ops.sum(steps * steps, axis=1, keepdims=True)
    stddev = ops.sqrt(square / ops.maximum(count, 1) + ridge)  # (batch, 1, channels)
    steps = steps / stddev
    channels = x.shape[-1]
    sums = ops.matmul(
        ops.swapaxes(steps, 1, 2), _later(steps, lags)
    )  # (batch, channels, lags * channels)
    found = ops.reshape(sums / _pairs(x, mask, lags), (-1, channels * len(lags) * channels))
    return stddev[:, 0], ops.take(found, _distinct(channels, lags), axis=1)


def check_lags(lags):
    """The lags as a tuple of whole numbers.

    Raises:
        ValueError: If there are none, or one is negative, no whole number or given twice.
    """
    found = list(lags) if isinstance(lags, Iterable) else []
    whole = [isinstance(lag, numbers.Integral) and not isinstance(lag, bool) for lag in found]
    if not found or not all(whole) or min(found) < 0 or len(set(found)) < len(found):
        raise ValueError(
            "`lags` must be a sequence of whole numbers of steps, not negative, each once, such as "
            f"(0, 4, 8). Received lags={lags!r}."
        )
    return tuple(int(lag) for lag in found)


def check_ridge(ridge):
    """The ridge as a float.

    Raises:
        ValueError: If it is not positive and finite: else a silent channel has no correlation.
    """
    if not (isinstance(ridge, numbers.Real) and 0 < ridge < float("inf")):
        raise ValueError(f"`ridge` must be a positive number. Received ridge={ridge!r}.")
    return float(ridge)


def num_correlations(channels, lags):
    """Number of correlations that `lagged_correlations` returns.

    Args:
        channels: Number of channels of the signals.
        lags: Lags, whole numbers of steps.
    """
    return len(_distinct(channels, lags))


def _later(x, lags):
    """Signals moved forward by each lag, zeros beyond the end: `(batch, time, lags * features)`."""
    longest = max(lags)
    beyond = ops.pad(x, [[0, 0], [0, longest], [0, 0]])
    # ends counted from the end are constants of a graph, whatever the time
    moved = [beyond[:, lag : lag - longest or None] for lag in lags]
    return ops.concatenate(moved, axis=-1)


def _pairs(x, mask, lags):
    """Numbers of pairs of valid steps, at least 1; broadcast to `(batch, 1, lags * channels)`."""
    channels = x.shape[-1]
    if mask is None:
        pairs = ops.shape(x)[1] - np.repeat(np.array(lags, "int32"), channels)
        return ops.cast(ops.maximum(pairs, 1), x.dtype)
    valid = ops.expand_dims(ops.cast(ops.cast(mask, "bool"), x.dtype), -1)
    pairs = ops.sum(valid * _later(valid, lags), axis=1, keepdims=True)
    return ops.maximum(ops.repeat(pairs, channels, axis=-1), 1)


def _distinct(channels, lags):
    """Indices of the entries to keep: at lag 0 each pair once, without the diagonal."""
    indices = np.arange(channels * len(lags) * channels).reshape(channels, len(lags), channels)
    above = np.triu_indices(channels, 1)
    parts = (indices[:, i] for i in range(len(lags)))
    found = [
        part[above] if lag == 0 else part.ravel() for lag, part in zip(lags, parts, strict=True)
    ]
    return np.concatenate(found).astype("int32")
