"""Checks the weights of weighted means, and scales them so that their sum is 1."""

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import ops
from keras_dml._backend.values import concrete
from keras_dml._typing import ArrayLike, Tensor


def normalized(weights: ArrayLike | None, count: int, what: str) -> np.ndarray:
    """Scales weights so that their sum is 1, with NumPy in float64.

    Args:
        weights: Non-negative weights, shape `(count,)`. None means equal weights.
        count: Number of weights.
        what: Plural noun for the weighted objects, for the error message.

    Raises:
        TypeError: If the weights are not real numbers.
        ValueError: If the number of weights is not `count`, if a weight is negative or NaN, or if
            the sum of the weights is 0 or infinite.
    """
    if weights is None:
        return np.full(count, 1 / count)
    weights = real("`weights`", weights, np.float64)
    total = weights.sum()
    if weights.shape != (count,) or not (weights >= 0).all() or not 0 < total < np.inf:
        raise ValueError(_message(count, what, f"{weights.tolist()}"))
    return weights / total


def normalized_tensor(weights: ArrayLike | None, like: Tensor, what: str) -> Tensor:
    """Scales weights so that they sum to 1 along the last axis.

    Args:
        weights: Non-negative weights, shape `(..., count)`. None means equal weights. A compiled
            step cannot check the values of weights, so the result is NaN if weights are invalid.
        like: Tensor with shape `(..., count)`. The result has the dtype of `like`.
        what: Plural noun for the weighted objects, for the error message.

    Raises:
        TypeError, ValueError: If `normalized` does not accept the weights, or if the leading axes
            do not broadcast.
    """
    if weights is None:
        weights = ops.ones_like(like)
    elif not ops.is_tensor(weights):
        weights = real("`weights`", weights, np.float64)
    shape, expected = tuple(weights.shape), tuple(like.shape)
    count = expected[-1]
    pairs = list(zip(shape[::-1], expected[::-1], strict=False))
    fits = 0 < len(shape) <= len(expected) and all(
        None in pair or pair[0] == pair[1] or (pair[0] == 1 and i) for i, pair in enumerate(pairs)
    )
    if not fits:
        raise ValueError(
            _message(count, what, (f"weights of shape {shape} for {what} of shape {expected}"))
        )
    values = concrete(weights)
    if values is not None:
        totals = values.sum(axis=-1)
        if not ((values >= 0).all() and (0 < totals).all() and (totals < np.inf).all()):
            raise ValueError(_message(count, what, f"{values.tolist()}"))
    if not ops.is_tensor(weights):  # in float64, because the sum may overflow in float32
        weights = weights / weights.sum(axis=-1, keepdims=True)
    weights = ops.cast(weights, like.dtype)
    total = ops.sum(weights, axis=-1, keepdims=True)
    valid = ops.all(weights >= 0, axis=-1, keepdims=True)
    valid = ops.logical_and(valid, ops.logical_and(total > 0, total < float("inf")))
    return ops.where(valid, weights / total, float("nan"))


def _message(count, what, received):
    return (
        f"`weights` must hold one non-negative number for each of the {count} {what}. At least one "
        f"weight must be above 0. Received {received}."
    )
