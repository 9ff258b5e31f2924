"""Computes scores of the Riemannian potato (Kim2020). A score is the z-score of the distance
between an SPD matrix and the center of its class.

The functions accept tensors, and NumPy arrays in float64. With NumPy arrays, they do not import
Keras, so that devices can compute scores.
"""

import numbers
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml._typing import Tensor
from keras_dml.geometry.namespaces import namespace

# Smallest distance. The value is the rounding error of a float32 distance at condition number 1e4.
# Kim2020 uses no lower limits.
MIN_DISTANCE = 1e-4
MIN_DISTANCE_FLOAT64 = 1e-12  # the rounding error in float64, for a detector
# Smallest standard deviation by which a score is divided. For covariance matrices of noise, the
# standard deviation is 0.05 with 20 channels and 0.02 with 50 channels. In a float32 network, the
# limit therefore affects only degenerate classes.
MIN_STDDEV = 0.01
# Smallest standard deviation for a detector in float64, for each scale of the statistics.
MIN_STDDEV_FLOAT64 = {"geometric": 1e-6, "arithmetic": MIN_DISTANCE_FLOAT64}
# If the center has condition number 1e3, the rounding error is this fraction of the largest
# eigenvalue.
SINGULAR = 1e-13
MIN_SAMPLES = 2  # the standard deviation of one matrix is undefined


class Statistics(typing.NamedTuple):
    """Statistics of the matrices of a class: the center of the matrices, and the mean and the
    standard deviation of the distances from the center.

    `mean` and `stddev` are computed from logarithms of distances. Kim2020 calls `mean` log mu, and
    calls `stddev` log sigma.

    Attributes:
        center: Mean matrix of each class, shape `(..., n, n)`.
        mean: Mean of the logarithms of distances, shape `(...)`.
        stddev: Standard deviation of the logarithms of distances, shape `(...)`.
        count: Number of matrices in the statistics, shape `(...)`.
    """

    center: typing.Any
    mean: typing.Any
    stddev: typing.Any
    count: typing.Any


def log_distance(distance: Tensor, min_distance: float = MIN_DISTANCE) -> Tensor:
    """Returns the logarithm of distances of any shape.

    Distances below `min_distance` are replaced by `min_distance` and have gradient 0. If two
    matrices are closer than `min_distance`, the direction of their difference is only a rounding
    error.
    """
    xp = namespace(distance)
    return xp.log(xp.where(distance <= min_distance, min_distance, distance))


# Functions that are applied to distances. The statistics hold the mean and the standard deviation
# of the results.
SCALES: dict[str, Callable[..., Any]] = {
    "geometric": log_distance,
    "arithmetic": lambda distance, min_distance: distance,
}


def distances(center: Tensor, x: Tensor) -> Tensor:
    """Computes affine-invariant distances between matrices and one center (Kim2020, Eq. 5), without
    a gradient.

    Args:
        center: Positive definite matrix, shape `(n, n)`.
        x: Matrices, shape `(..., n, n)`. The symmetric part is used.

    Returns:
        Distances, shape `(...)`. A distance is infinite if its matrix is not positive definite or
        not finite.
    """
    xp = namespace(center, x)
    return spectrum_distance(xp, whitened(xp, xp.cholesky(center), x)[0])


def z_score(values: Tensor, mean: Tensor, stddev: Tensor, min_stddev: float = MIN_STDDEV) -> Tensor:
    """Computes `(log d - log mu) / log sigma` (Kim2020, Eq. 6). In this formula, d is the distance
    between a matrix and the center. The z-score states by how many standard deviations log d
    exceeds the mean log mu.

    A matrix with a high score is an outlier. If logarithms of distances were normally distributed,
    0.6 % of the matrices of a class would have a score above 2.5.

    Args:
        values: Logarithms of distances.
        mean: Mean of logarithms of distances (log mu in Kim2020). `mean` must broadcast to
            `values`, and has no gradient.
        stddev: Standard deviation of logarithms of distances (log sigma in Kim2020). `stddev` must
            broadcast to `values`, and has no gradient.
        min_stddev: Lower limit of the standard deviation. A smaller standard deviation is replaced
            by the limit.

    Returns:
        Scores without a unit, same shape as `values`.
    """
    xp = namespace(values, mean, stddev)
    mean, stddev = (xp.constant(part, values.dtype) for part in (mean, stddev))
    return (values - mean) / xp.maximum(stddev, min_stddev)


def whitened(xp: Any, factor: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Computes eigenvalues `(..., n)` and eigenvectors of `F^-1 x F^-T`, where F is the Cholesky
    factor of a center. The eigenvalues are 0 if x is not finite. `xp` is a namespace (see
    `keras_dml.geometry.namespaces`)."""
    inverse = xp.inverse_lower(factor)
    finite = xp.all(xp.isfinite(x), axis=(-2, -1))
    white = inverse @ xp.where(finite[..., None, None], x, 0) @ xp.swapaxes(inverse, -1, -2)
    return xp.eigh((white + xp.swapaxes(white, -1, -2)) / 2)


def spectrum_distance(xp: Any, spectrum: Tensor) -> Tensor:
    """Computes distances, shape `(...)`, from ascending eigenvalues `(..., n)` of whitened
    matrices. `xp` is a namespace (see `keras_dml.geometry.namespaces`)."""
    definite = spectrum[..., :1] > SINGULAR * spectrum[..., -1:]
    logs = xp.log(xp.where(definite, spectrum, 1))
    return xp.where(definite[..., 0], xp.sqrt(xp.sum(logs * logs, axis=-1)), np.inf)


def check_update_rate(update_rate: float | None) -> float | None:
    """Checks the update rate, and returns a float or None.

    Raises:
        ValueError: If `update_rate` is outside [0, 1].
    """
    if update_rate is None:
        return None
    if not (isinstance(update_rate, numbers.Real) and 0 <= update_rate <= 1):
        raise ValueError(
            "`update_rate` must be a number from 0 (no update) to 1, or None for the inverse of "
            f"the number of matrices. Received update_rate={update_rate!r}."
        )
    return float(update_rate)
