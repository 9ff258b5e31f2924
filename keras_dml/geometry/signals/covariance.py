"""Computes covariance matrices of signals, with and without shrinkage."""

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import at_least_float32, divide, mean, nan_unless

ESTIMATORS = ("sample", "trace_normalized", "oas", "ledoit_wolf")


def covariance(x: Tensor, mask: Tensor | None = None, estimator: str = "sample") -> Tensor:
    """Computes the covariance matrix of each signal's channels over the valid steps.

    The estimators use the number N of valid steps. The estimators subtract the mean of the valid
    steps, sum the outer products of the valid steps to a matrix A, and use `S = A / N`:

    - `sample`: `A / (N - 1)`, as in NumPy. The matrix is singular unless N exceeds the number of
      channels.
    - `trace_normalized`: `A / trace(A)`. The result does not depend on the unit and the loudness of
      the signal.
    - `oas`, `ledoit_wolf`: `(1 - r) S + r t I`, where t is the mean variance and r is the
      shrinkage. For `oas`, r is the oracle approximating shrinkage of Chen2010. As in scikit-learn
      and pyRiemann, the terms with the factor 2 / channels are omitted. For `ledoit_wolf`, r is the
      shrinkage of Ledoit2004. Use shrinkage for short signals.

    If the signals are multiplied by c, the matrix is multiplied by `c^2`, up to rounding. The
    matrix of `trace_normalized` stays the same if the signals are multiplied. In float32, an entry
    of the matrix is infinite above 3e38 and 0 below 1e-38. Float32 signals must therefore lie
    between about 1e-18 and 1e17.

    Args:
        x: Signals, shape `(batch, time, channels)`.
        mask: Boolean mask of valid steps, shape `(batch, time)`. Default: all steps are valid.
        estimator: Estimator of the covariance: `"sample"`, `"trace_normalized"`, `"oas"` or
            `"ledoit_wolf"`.

    Returns:
        Symmetric matrices, shape `(batch, channels, channels)`, in the squared unit of the signals,
        float32 or wider. The matrix is NaN if a signal has fewer than two valid steps, and zero if
        a signal is constant.

    Raises:
        ValueError: If the estimator is unknown or the shapes do not fit together.
    """
    check_estimator(estimator)
    x = at_least_float32(x)
    if len(x.shape) != 3:
        raise ValueError(
            "`x` must hold signals, shape (batch, time, channels). Received shape "
            f"{tuple(x.shape)}."
        )
    steps, count = centered(x, mask)  # (batch, time, channels), (batch, 1, 1)
    return nan_unless(count >= 2, _ESTIMATES[estimator](steps, count))


def check_estimator(estimator: str) -> None:
    """Checks the name of an estimator.

    Raises:
        ValueError: If the name is not one of `ESTIMATORS`.
    """
    if estimator not in ESTIMATORS:
        raise ValueError(
            f"`estimator` must be one of {', '.join(ESTIMATORS)}. Received {estimator!r}."
        )


def centered(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Subtracts the mean of the valid steps from each signal, and counts the valid steps.

    Args:
        x: Signals, shape `(batch, time, channels)`.
        mask: Boolean mask of valid steps, shape `(batch, time)`. Default: all steps are valid.

    Returns:
        Centered signals, same shape, with 0 at invalid steps. Numbers of valid steps, shape
        `(batch, 1, 1)`, or `(1, 1, 1)` without a mask.

    Raises:
        ValueError: If the shape of the mask is not `(batch, time)`.
    """
    if mask is None:
        count = ops.reshape(ops.cast(ops.shape(x)[1], x.dtype), (1, 1, 1))
        return x - mean(x, axis=1, keepdims=True), count
    mask = ops.cast(mask, "bool")
    times = {mask.shape[1], x.shape[1]} - {None} if len(mask.shape) == 2 else ()
    if len(times) > 1 or len(mask.shape) != 2:
        raise ValueError(
            f"`mask` must have shape (batch, time). Received shape {tuple(mask.shape)} for "
            f"signals of shape {tuple(x.shape)}."
        )
    mask = ops.expand_dims(mask, -1)
    count = ops.sum(ops.cast(mask, x.dtype), axis=1, keepdims=True)
    return ops.where(mask, x - mean(x, axis=1, mask=mask, keepdims=True), 0), count


def _sample(steps, count):
    return _scatter(steps) / ops.maximum(count - 1, 1)


def _trace_normalized(steps, count):
    largest = ops.max(ops.abs(steps), axis=(1, 2), keepdims=True, initial=0)
    steps = divide(steps, ops.stop_gradient(largest))  # so that squares do not overflow
    scatter = _scatter(steps)
    return divide(scatter, _trace(scatter))


def _oas(steps, count):
    covariance, variance = _normalized(steps, count)
    spherical, rest, square = _parts(covariance)
    trace = _trace(spherical)
    limit = (count + 1) * square  # 0 if there is nothing to shrink
    total = square + trace * trace / covariance.shape[-1]  # trace of S S
    shrinkage = ops.minimum(divide(total + trace * trace, limit), 1)
    shrinkage = ops.where(limit > 0, shrinkage, ops.ones_like(shrinkage))
    return variance * (spherical + (1 - shrinkage) * rest)


def _ledoit_wolf(steps, count):
    covariance, variance = _normalized(steps, count)
    spherical, rest, square = _parts(covariance)
    lengths = divide(ops.sum(steps * steps, axis=-1, keepdims=True), variance)
    fourth = ops.sum(lengths * lengths, axis=1, keepdims=True) / count
    noise = ops.maximum(fourth - _square(covariance), 0) / count
    return variance * (spherical + (1 - ops.minimum(divide(noise, square), 1)) * rest)


_ESTIMATES = {
    "sample": _sample,
    "trace_normalized": _trace_normalized,
    "oas": _oas,
    "ledoit_wolf": _ledoit_wolf,
}


def _scatter(steps):
    return ops.matmul(ops.swapaxes(steps, 1, 2), steps)


def _normalized(steps, count):
    """Divides covariances by their mean variance. Returns the result and the mean variance, shape
    `(batch, 1, 1)`.

    Shrinkage formulas contain squares of variances. In float32, the square of a variance may
    underflow or overflow although the variance is representable, for example if signals are
    measured in tesla. The gradient treats the mean variance as a constant. The gradient is still
    exact, because the estimates do not depend on the mean variance.
    """
    covariance = _scatter(steps) / count
    variance = ops.stop_gradient(_trace(covariance)) / steps.shape[-1]
    return divide(covariance, variance), variance


def _parts(covariance):
    """Splits covariances S into `t I`, where t is the mean variance, and the rest `S - t I`.
    Returns both parts, and the squared norm of the rest. The squared norm equals
    `trace(S S) - trace(S)^2 / n`, but has no errors from cancellation."""
    n = covariance.shape[-1]
    spherical = _trace(covariance) / n * ops.eye(n, dtype=covariance.dtype)
    rest = covariance - spherical
    return spherical, rest, _square(rest)


def _trace(x):
    return ops.trace(x, axis1=-2, axis2=-1)[..., None, None]


def _square(x):
    return ops.sum(x * x, axis=(-2, -1), keepdims=True)
