"""Computes correlations between channels at several time lags."""

import numbers
from collections.abc import Iterable

import numpy as np

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import at_least_float32, nan_unless
from keras_dml.geometry.signals.covariance import centered


def lagged_correlations(
    x: Tensor, mask: Tensor | None = None, lags: Iterable[int] = (0,), ridge: float = 1e-2
) -> tuple[Tensor, Tensor]:
    """Computes the standard deviation of each channel, and correlations between channels at several
    time lags.

    The correlation `r_l[i, j]` at lag l is the mean of `z[t, i] z[t + l, j]` over pairs of valid
    steps, where z is the centered signal divided by its standard deviation over all valid steps. A
    correlation may lie outside [-1, 1] if there are few pairs of valid steps. At lag 0, the result
    contains only one correlation for each pair of different channels.

    Args:
        x: Signals, shape `(batch, time, channels)`.
        mask: Boolean mask of valid steps, shape `(batch, time)`. Default: all steps are valid.
        lags: Lags in time steps. Lags are different whole numbers of at least 0.
        ridge: Number that is added to each variance, in the squared unit of the signal. A ridge
            lowers the correlations of channels with small variances.

    Returns:
        Standard deviations, shape `(batch, channels)`, in the unit of the signal, at least
        `sqrt(ridge)`. Correlations without a unit, shape `(batch, pairs)`, ordered by lag.
        If a lag has no pair of valid steps, its correlations are 0. The two tensors are float32 or
        wider, and NaN for a signal without valid steps.

    Raises:
        ValueError: If the lags, the ridge or the shapes are invalid.
    """
    lags, ridge = check_lags(lags), check_ridge(ridge)
    x = at_least_float32(x)
    if len(x.shape) != 3 or x.shape[-1] is None:
        raise ValueError(
            "`x` must hold signals with a known number of channels, shape (batch, time, "
            f"channels). Received shape {tuple(x.shape)}."
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
    means = ops.reshape(sums / _pairs(x, mask, lags), (-1, channels * len(lags) * channels))
    return stddev[:, 0], ops.take(means, distinct(channels, lags), axis=1)


def check_lags(lags: Iterable[int]) -> tuple[int, ...]:
    """Checks lags, and returns a tuple of integers.

    Raises:
        ValueError: If `lags` is empty, if a lag is negative or not a whole number, or if a lag is
            repeated.
    """
    values = list(lags) if isinstance(lags, Iterable) else []
    whole = [isinstance(lag, numbers.Integral) and not isinstance(lag, bool) for lag in values]
    if not values or not all(whole) or min(values) < 0 or len(set(values)) < len(values):
        raise ValueError(
            "`lags` must be different whole numbers of at least 0, such as (0, 4, 8). Received "
            f"lags={lags!r}."
        )
    return tuple(int(lag) for lag in values)


def check_ridge(ridge: float) -> float:
    """Checks the ridge, and returns a float.

    Raises:
        ValueError: If `ridge` is not positive and finite. Without a ridge, the correlations of a
            constant channel are undefined.
    """
    if not (isinstance(ridge, numbers.Real) and 0 < ridge < float("inf")):
        raise ValueError(f"`ridge` must be a positive number. Received ridge={ridge!r}.")
    return float(ridge)


def num_correlations(channels: int, lags: Iterable[int]) -> int:
    """Returns the number of correlations that `lagged_correlations` computes.

    Args:
        channels: Number of channels of the signals.
        lags: Lags, whole numbers of steps.
    """
    return len(distinct(channels, lags))


def _later(x, lags):
    """Shifts signals forward by each lag, and appends zeros. Returns a tensor
    `(batch, time, lags * features)`."""
    longest = max(lags)
    beyond = ops.pad(x, [[0, 0], [0, longest], [0, 0]])
    # Because the indices are counted from the end, they are constants of the graph for every number
    # of steps.
    shifted = [beyond[:, lag : lag - longest or None] for lag in lags]
    return ops.concatenate(shifted, axis=-1)


def _pairs(x, mask, lags):
    """Counts the pairs of valid steps at each lag. Counts below 1 are replaced by 1. The result
    broadcasts to `(batch, 1, lags * channels)`."""
    channels = x.shape[-1]
    if mask is None:
        pairs = ops.shape(x)[1] - np.repeat(np.array(lags, "int32"), channels)
        return ops.cast(ops.maximum(pairs, 1), x.dtype)
    valid = ops.expand_dims(ops.cast(ops.cast(mask, "bool"), x.dtype), -1)
    pairs = ops.sum(valid * _later(valid, lags), axis=1, keepdims=True)
    return ops.maximum(ops.repeat(pairs, channels, axis=-1), 1)


def distinct(channels: int, lags: Iterable[int]) -> np.ndarray:
    """Returns the indices of the correlations to keep. All correlations at positive lags are kept.
    At lag 0, one correlation is kept for each pair of different channels.

    Args:
        channels: Number of channels of the signals.
        lags: Lags, whole numbers of steps.

    Returns:
        Indices into the flattened array `(channels, lags, channels)`, int32.
    """
    indices = np.arange(channels * len(lags) * channels).reshape(channels, len(lags), channels)
    above = np.triu_indices(channels, 1)
    parts = (indices[:, i] for i in range(len(lags)))
    entries = [
        part[above] if lag == 0 else part.ravel() for lag, part in zip(lags, parts, strict=True)
    ]
    return np.concatenate(entries).astype("int32")
