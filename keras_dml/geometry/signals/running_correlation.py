"""Computes lagged correlations of a signal that arrives in blocks, from sums of a fixed size.

The memory does not grow with the signal. The result is the result of
`correlation.lagged_correlations` for the whole signal, up to rounding.
"""

from typing import NamedTuple

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry.signals.correlation import distinct


class Sums(NamedTuple):
    """Sums over the steps x_0, ..., x_{N-1} of a signal from which the first step is subtracted.

    The correlations do not depend on the subtraction, but the sums lose fewer digits. Without it,
    the variance of a constant signal would be the difference of two large numbers.

    Attributes:
        start: First step of the signal, shape `(channels,)`.
        total: Sum of the steps, shape `(channels,)`.
        squares: Sum of the squared steps, shape `(channels,)`.
        products: For each lag l, the sum of `x_t[i] x_{t+l}[j]` over t, shape
            `(channels, lags, channels)`.
        first: For each lag l, the sum of the first l steps, shape `(lags, channels)`.
        tail: The last steps, as many as the longest lag, shape `(longest lag, channels)`. Zeros
            replace steps before the signal.
    """

    start: Tensor
    total: Tensor
    squares: Tensor
    products: Tensor
    first: Tensor
    tail: Tensor


def shapes(channels: int, lags: tuple[int, ...]) -> Sums:
    """Returns the shapes of the sums. The sums of an empty signal are zeros.

    Args:
        channels: Number of channels.
        lags: Lags in time steps, different whole numbers of at least 0.
    """
    return Sums(
        start=(channels,),
        total=(channels,),
        squares=(channels,),
        products=(channels, len(lags), channels),
        first=(len(lags), channels),
        tail=(max(lags), channels),
    )


def updated(sums: Sums, block: Tensor, count: Tensor, lags: tuple[int, ...]) -> Sums:
    """Adds the next steps of a signal to the sums.

    Args:
        sums: Sums over the steps so far.
        block: Next steps, shape `(time, channels)`. The number of steps must be known.
        count: Number of steps so far, a scalar of the dtype of the block.
        lags: Lags in time steps.
    """
    steps, longest = block.shape[0], max(lags)
    start = ops.where(count > 0, sums.start, block[0])
    block = block - start
    signal = ops.concatenate([sums.tail, block], axis=0)  # (longest + steps, channels)
    earlier = [signal[longest - lag : longest - lag + steps] for lag in lags]
    position = count + ops.cast(ops.arange(steps), block.dtype)  # (steps,)
    is_first = [ops.cast(position < lag, block.dtype) for lag in lags]
    return Sums(
        start=start,
        total=sums.total + ops.sum(block, axis=0),
        squares=sums.squares + ops.sum(block * block, axis=0),
        products=sums.products
        + ops.stack([ops.matmul(ops.transpose(x), block) for x in earlier], axis=1),
        first=sums.first + ops.matmul(ops.stack(is_first), block),
        tail=signal[steps:],
    )


def correlations(
    sums: Sums, count: Tensor, lags: tuple[int, ...], ridge: float
) -> tuple[Tensor, Tensor]:
    """Computes standard deviations and lagged correlations from sums.

    Args:
        sums: Sums over the steps of a signal.
        count: Number of steps, a scalar of at least 1, of the dtype of the sums.
        lags: Lags in time steps.
        ridge: Number that is added to each variance.

    Returns:
        Standard deviations `(channels,)` and correlations `(pairs,)`, as
        `correlation.lagged_correlations` returns them for one signal.
    """
    longest, channels = max(lags), sums.total.shape[0]
    mean = sums.total / count
    variance = ops.maximum(sums.squares / count - mean * mean, 0)
    stddev = ops.sqrt(variance + ridge)
    means = []
    for i, lag in enumerate(lags):
        pairs = ops.maximum(count - lag, 0)
        early = sums.total - ops.sum(sums.tail[longest - lag :], axis=0)  # without the last steps
        late = sums.total - sums.first[i]  # without the first steps
        centered = (
            sums.products[:, i]
            - early[:, None] * mean
            - mean[:, None] * late
            + pairs * mean[:, None] * mean
        )
        means.append(centered / (stddev[:, None] * stddev * ops.maximum(pairs, 1)))
    values = ops.reshape(ops.stack(means, axis=1), (-1,))
    return stddev, ops.take(values, distinct(channels, lags))
