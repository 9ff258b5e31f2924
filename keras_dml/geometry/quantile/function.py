"""Computes empirical quantile functions of activations at knots (Abdelwahab2019, Eqs. 1-5).

Let `Q~` be the quantile function of one filter in a recording with N steps. The value of `Q~` at
`r = (n - 1) / N` is the n-th smallest activation. `Q-bar` is the linear interpolation of `Q~`
between the knots `0 = s_0 <= s_1 <= ... <= s_{M+1} = 1`. The values of `Q-bar` at the knots are the
embedding.
"""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry.numerics import at_least_float32, nan_unless
from keras_dml.geometry.quantile.order import positions


def initial_alpha(knots: int) -> np.ndarray:
    """Computes weights that give evenly spaced knots, so that `sigmoid(alpha_i) = i / (M + 1)`.

    Args:
        knots: Number M of learned knots.

    Returns:
        NumPy array of shape `(M,)`, float64.
    """
    i = np.arange(1, knots + 1)
    return np.log(i / (knots + 1 - i))


def knots(alpha: Tensor) -> Tensor:
    """Computes ascending knots in [0, 1] from unconstrained weights. Abdelwahab2019 calls the knots
    borders (after Eq. 2).

    The knots do not depend on the order of the weights.

    Args:
        alpha: Weights, shape `(M,)`.

    Returns:
        Ascending knots from 0 to 1, shape `(M + 2,)`.
    """
    inner = ops.sigmoid(ops.sort(alpha))
    return ops.concatenate([ops.zeros((1,), inner.dtype), inner, ops.ones((1,), inner.dtype)])


def quantiles(x: Tensor, r: Tensor, mask: Tensor | None = None, on_host: bool = False) -> Tensor:
    """Computes the empirical quantile function of each filter at the knots (Abdelwahab2019, Eq. 1).

    N is the number of valid steps in the recording. The activations `x_[j]` are in ascending order,
    followed by a copy of the largest activation. With `h = r N` and `j = min(floor(h), N - 1)`, the
    value is `x_[j] + (h - j)(x_[j+1] - x_[j])`. Gradients flow to `x` through the selected steps,
    and to `r` through `h`.

    Args:
        x: Activations, shape `(batch, time, filters)`, each filter in its own unit.
        r: Ascending probabilities in [0, 1], shape `(knots,)`.
        mask: Boolean mask of valid steps, shape `(batch, time)`. By default, all steps are valid.
        on_host: Whether to sort with NumPy on the host. Only TensorFlow supports sorting on the
            host. Sorting on the host is faster on a CPU, but it is not a graph operation, so do not
            use it for export, with XLA or on accelerators.

    Returns:
        Values, shape `(batch, filters, knots)`, float32 or wider. If a recording has no valid
        steps, all its values are NaN. If an activation of a filter is NaN or infinite, all values
        of the filter are NaN.
    """
    x = ops.transpose(at_least_float32(x), (0, 2, 1))  # (batch, filters, time)
    r = ops.cast(r, x.dtype)
    if mask is None:
        count = ops.cast(ops.shape(x)[2], x.dtype) * ops.ones_like(x[:, :1, :1])  # (batch, 1, 1)
    else:
        mask = ops.cast(mask, "bool")
        x = ops.where(ops.expand_dims(mask, 1), x, ops.full_like(x, _largest(x)))
        count = ops.sum(ops.cast(mask, x.dtype), axis=1)[:, None, None]  # (batch, 1, 1)
    position = r[None, None, :] * count  # (batch, 1, knots)
    last = ops.maximum(count - 1, 0)
    lower = ops.minimum(
        ops.cast(ops.cast(position, "int32"), x.dtype), last
    )  # floor, without a gradient
    ranks = ops.cast(ops.concatenate([lower, ops.minimum(lower + 1, last)], axis=-1), "int32")
    steps = positions(x, ranks, on_host)  # (batch, filters, 2 knots)
    low, high = ops.split(ops.take_along_axis(x, steps, axis=-1), 2, axis=-1)
    values = low + (position - lower) * (high - low)  # (batch, filters, knots)
    # If values include NaN, sorting them gives an arbitrary order, at least in TensorFlow.
    whole = ops.all(ops.abs(x) <= _largest(x), axis=-1, keepdims=True)  # (batch, filters, 1)
    if mask is not None:
        whole = ops.logical_and(whole, count > 0)
    return nan_unless(whole, values)


def evaluate(values: ArrayLike, knots: ArrayLike, r: ArrayLike) -> np.ndarray:
    """Evaluates the quantile function `Q-bar` at the probabilities `r` (Abdelwahab2019, Eq. 2).
    `Q-bar` is linear between the knots.

    Args:
        values: NumPy array of values at the knots, shape `(..., knots)`.
        knots: Knots, shape `(knots,)`.
        r: Probabilities in [0, 1], shape `(count,)`.

    Returns:
        NumPy array of shape `(..., count)`.
    """
    values, knots, r = np.asarray(values), np.asarray(knots), np.asarray(r)
    segment = np.clip(np.searchsorted(knots, r, side="right") - 1, 0, len(knots) - 2)
    width = knots[segment + 1] - knots[segment]
    fraction = np.divide(
        r - knots[segment], width, out=np.zeros(len(r), values.dtype), where=width > 0
    )
    return values[..., segment] + fraction * (values[..., segment + 1] - values[..., segment])


def _largest(x):
    return np.finfo(keras.backend.standardize_dtype(x.dtype)).max
