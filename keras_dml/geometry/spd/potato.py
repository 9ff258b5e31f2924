"""Riemannian potatoes: outlier detectors for SPD matrices, which compute z-scores of the distance
of a matrix from the center of a class (Kim2020).

Networks call the same functions with tensors as detectors do with NumPy arrays in float64.
Statistics have no gradient, because they were computed from embeddings of earlier weights.
"""

import numbers
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.linalg import cholesky, inverse_lower
from keras_dml._backend.precision import in_float64
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry import spd
from keras_dml.geometry.spd.matrices import congruence
from keras_dml.geometry.spd.mean import karcher_mean
from keras_dml.geometry.spd.namespaces import namespace

# Smallest distance: the rounding error of a float32 distance at condition number 1e4. Kim2020 has
# no lower limits.
MIN_DISTANCE = 1e-4
MIN_DISTANCE_FLOAT64 = 1e-12  # the rounding error in float64, for a detector
# Smallest standard deviation by which a score is divided. Covariance matrices of noise have a
# standard deviation of 0.05 with 20 channels and 0.02 with 50 channels, so in a float32 network
# this limit affects degenerate classes only.
MIN_STDDEV = 0.01
# Smallest standard deviation for a detector in float64, for each scale of the statistics.
MIN_STDDEV_FLOAT64 = {"geometric": 1e-6, "arithmetic": MIN_DISTANCE_FLOAT64}
# Rounding error as a fraction of the largest eigenvalue, for a center with condition number 1e3.
SINGULAR = 1e-13
MIN_SAMPLES = 2  # the standard deviation of one matrix is undefined


class Statistics(typing.NamedTuple):
    """Center of a class of matrices, and mean and standard deviation of the matrices' distances
    from this center.

    `mean` and `stddev` are the mean and the standard deviation of logarithms of distances, which
    are log mu and log sigma in Kim2020.

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

    Distances below `min_distance` are raised to `min_distance` and have gradient 0, because the
    direction of differences this small is a rounding error.
    """
    xp = namespace(distance)
    return xp.log(xp.where(distance <= min_distance, min_distance, distance))


# Functions of a distance. The statistics hold the mean and the standard deviation of a function's
# values.
SCALES: dict[str, Callable[..., Any]] = {
    "geometric": log_distance,
    "arithmetic": lambda distance, min_distance: distance,
}


def log_distances(centers: Tensor, x: Tensor) -> Tensor:
    """Computes logarithms of the affine-invariant distances between matrices and centers, with a
    gradient in the matrices.

    Args:
        centers: Positive definite matrices, shape `(classes, n, n)`, without a gradient.
        x: Positive definite matrices, shape `(batch, n, n)`.

    Returns:
        Logarithms, shape `(classes, batch)`, which are NaN for a matrix that is not finite.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    return log_distance(spd.affine_invariant_pairwise(ops.stop_gradient(centers), x))


def distances(center: Tensor, x: Tensor) -> Tensor:
    """Computes affine-invariant distances between matrices and one center (Kim2020, Eq. 5), without
    a gradient.

    Args:
        center: Positive definite matrix, shape `(n, n)`.
        x: Matrices, shape `(..., n, n)`. The symmetric part is used.

    Returns:
        Distances, shape `(...)`, which are infinite for a matrix that is not positive definite or
        not finite.
    """
    xp = namespace(center, x)
    return _distance(xp, _whitened(xp, xp.cholesky(center), x)[0])


def z_score(values: Tensor, mean: Tensor, stddev: Tensor, min_stddev: float = MIN_STDDEV) -> Tensor:
    """Computes `(log d - log mu) / log sigma` (Kim2020, Eq. 6): by how many standard deviations the
    log distance d of a matrix from the center exceeds the mean.

    A high score means an outlier. If logarithms of distances were normally distributed, 0.6 % of
    the matrices of a class would have a score above 2.5.

    Args:
        values: Logarithms of distances.
        mean: Mean of logarithms of distances (log mu in Kim2020), broadcastable to `values`,
            without a gradient.
        stddev: Standard deviation of logarithms of distances (log sigma in Kim2020), broadcastable
            to `values`, without a gradient.
        min_stddev: Lower limit that replaces smaller standard deviations.

    Returns:
        Scores, without unit, with the shape of `values`.
    """
    xp = namespace(values, mean, stddev)
    mean, stddev = (xp.constant(part, values.dtype) for part in (mean, stddev))
    return (values - mean) / xp.maximum(stddev, min_stddev)


def update(
    statistics: Statistics,
    x: Tensor,
    labels: Tensor,
    values: Tensor,
    update_rate: float | None = None,
) -> Statistics:
    """Updates the statistics of each class with all matrices of this class in a batch (Kim2020,
    Eqs. 19-21).

    The function first updates the mean, then the standard deviation around the new mean. Finally
    the function moves the center along a geodesic in the direction of the mean tangent of the
    class's matrices. Algorithm 1 of Kim2020 updates the statistics after each matrix of the batch,
    so the order of the matrices matters there. In this function the order does not matter. With one
    matrix per class the update is exactly the online step of Kim2020.

    Erratum: Kim2020 Eq. 20 lacks a bracket. The recursion of Eq. 9 is used instead:
    `stddev^2 = (1 - rate) stddev^2 + rate (log d - mean)^2`.

    Args:
        statistics: `Statistics` of all classes. `center` has shape `(classes, n, n)`, and `mean`,
            `stddev` and `count` have shape `(classes,)`.
        x: Positive definite matrices, shape `(batch, n, n)`.
        labels: Class id of each matrix, int32, shape `(batch,)`, below `classes`. Matrices with
            label -1 and matrices that are not finite are ignored.
        values: Logarithm of each matrix's distance from the center of its class before the update,
            shape `(batch,)`.
        update_rate: Weight of one new matrix, from 0 to 1 (beta_delta in Kim2020). The weight of b
            new matrices of a class is `1 - (1 - update_rate)^b`. Default: the weight is
            `b / (count + b)`.

    Returns:
        Updated `Statistics`, without a gradient.
    """
    center, mean, stddev, count = (ops.stop_gradient(part) for part in statistics)
    finite = ops.logical_and(ops.all(ops.isfinite(x), axis=(1, 2)), ops.isfinite(values))
    labels = ops.where(finite, labels, -1)
    valid = labels >= 0
    members = ops.one_hot(labels, center.shape[0], dtype=center.dtype)  # (batch, classes)
    samples = ops.sum(members, axis=0)  # (classes,)
    seen, divisor = samples > 0, ops.maximum(samples, 1)
    fraction = ops.where(seen, _fraction(count, divisor, update_rate), 0)

    centers = in_float64(_move_centers)(center, ops.stop_gradient(x), members, fraction)
    values = ops.where(valid, ops.stop_gradient(values), 0)[:, None]
    means = ops.sum(members * values, axis=0) / divisor
    variances = ops.sum(members * ops.square(values - means), axis=0) / divisor
    before = Statistics(center, mean, stddev, count)
    return _updated(before, seen, samples, fraction, centers, means, variances)


def online_step(
    statistics: Statistics,
    x: Tensor,
    threshold: float,
    update_rate: float | None = None,
    scale: str = "geometric",
) -> tuple[Tensor, Statistics]:
    """Computes the score of one matrix, and updates the statistics with the matrix if the score is
    below the threshold.

    Args:
        statistics: `Statistics` of one class, in float64.
        x: Matrix, shape `(n, n)`, in float64, which may hold NaN or infinity.
        threshold: Score at and above which a matrix does not change the statistics.
        update_rate: See `update`.
        scale: `"geometric"` or `"arithmetic"`, the same scale as in `calibrate`.

    Returns:
        Score of the matrix before the update, which is infinite if the matrix is not positive
        definite. Updated `Statistics`.
    """
    xp = namespace(*statistics, x)
    factor = xp.cholesky(statistics.center)
    spectrum, vectors = _whitened(xp, factor, x)
    value = SCALES[scale](_distance(xp, spectrum), MIN_DISTANCE_FLOAT64)
    z = z_score(value, statistics.mean, statistics.stddev, MIN_STDDEV_FLOAT64[scale])
    accepted = z < threshold
    fraction = _fraction(statistics.count, 1, update_rate)
    root = factor @ vectors
    spectrum = xp.where(accepted, spectrum, 1)  # a rejected matrix may have negative eigenvalues
    center = (root * spectrum**fraction) @ xp.swapaxes(root, -1, -2)
    value = xp.where(accepted, value, statistics.mean)
    return z, _updated(statistics, accepted, 1, fraction, center, value, 0)


def calibrate(
    x: ArrayLike,
    scale: str = "geometric",
    weights: ArrayLike | None = None,
    min_distance: float = MIN_DISTANCE,
) -> Statistics:
    """Computes the statistics of a class from sample matrices (Kim2020, Eqs. 7-9).

    The center is the Karcher mean of the matrices, and the distances of all matrices are measured
    from this center. The divisor of the variance is the number of matrices.

    Erratum: Kim2020 Eqs. 8 and 9 measure the i-th distance from the mean of the first i - 1
    matrices, which is the online step and not a calibration.

    Args:
        x: Positive definite matrices, shape `(count, n, n)`, at least two.
        scale: `"geometric"` for statistics of logarithms of distances, `"arithmetic"` for
            statistics of distances.
        weights: Non-negative weights of the matrices in the computation of the center, shape
            `(count,)`. Default: equal weights. All distances have equal weight in mean and standard
            deviation, as in pyRiemann.
        min_distance: Lower limit of distances, see `log_distance`. Use the same value when
            computing scores.

    Returns:
        `Statistics` of NumPy values in float64. `center` has shape `(n, n)`.

    Raises:
        ValueError: If there are fewer than two matrices, a matrix is not finite or not positive
            definite, or the weights do not fit.
    """
    if len(x) < MIN_SAMPLES:
        raise ValueError(
            f"A Riemannian potato needs at least {MIN_SAMPLES} matrices to compute a standard "
            f"deviation. Received {len(x)}. Pass more matrices, shape (count, n, n)."
        )
    center = karcher_mean(x, weights)
    values = SCALES[scale](distances(center, np.asarray(x, np.float64)), min_distance)
    return Statistics(center, values.mean(), values.std(), np.float64(len(x)))


def check_update_rate(update_rate: float | None) -> float | None:
    """Checks the update rate, and returns a float or None.

    Raises:
        ValueError: If `update_rate` is outside [0, 1].
    """
    if update_rate is None:
        return None
    if not (isinstance(update_rate, numbers.Real) and 0 <= update_rate <= 1):
        raise ValueError(
            "`update_rate` must be from 0 (no update) to 1, or None for the inverse of the number "
            f"of matrices. Received update_rate={update_rate!r}."
        )
    return float(update_rate)


def _move_centers(center, x, members, fraction):
    """Moves the center of each class along a geodesic, by a fraction of the mean tangent of the
    class's matrices.

    Args:
        center: Positive definite matrices, shape `(classes, n, n)`.
        x: Positive definite matrices, shape `(batch, n, n)`.
        members: Matrix with 1 if a sample belongs to a class and 0 otherwise, shape
            `(batch, classes)`.
        fraction: Fraction of the mean tangent for each class, shape `(classes,)`.
    """
    factor = cholesky(center)
    whitener = ops.einsum("bc,cij->bij", members, inverse_lower(factor))
    tangents = spd.log(congruence(whitener, x))
    counted = ops.sum(members, axis=1) > 0
    tangents = ops.where(counted[:, None, None], tangents, 0)
    samples = ops.maximum(ops.sum(members, axis=0), 1)
    tangent = ops.einsum("bc,bij->cij", members, tangents) / samples[:, None, None]
    return congruence(factor, spd.exp(fraction[:, None, None] * tangent))


def _whitened(xp, factor, x):
    """Computes eigenvalues `(..., n)` and eigenvectors of `F^-1 x F^-T`, where F is the Cholesky
    factor of a center. The eigenvalues are 0 if x is not finite."""
    inverse = xp.inverse_lower(factor)
    finite = xp.all(xp.isfinite(x), axis=(-2, -1))
    white = inverse @ xp.where(finite[..., None, None], x, 0) @ xp.swapaxes(inverse, -1, -2)
    return xp.eigh((white + xp.swapaxes(white, -1, -2)) / 2)


def _distance(xp, spectrum):
    """Computes distances, shape `(...)`, from ascending eigenvalues `(..., n)` of whitened
    matrices."""
    definite = spectrum[..., :1] > SINGULAR * spectrum[..., -1:]
    logs = xp.log(xp.where(definite, spectrum, 1))
    return xp.where(definite[..., 0], xp.sqrt(xp.sum(logs * logs, axis=-1)), np.inf)


def _updated(statistics, seen, samples, fraction, center, mean, variance):
    """Updates the statistics of the classes for which `seen` is True (Kim2020, Eqs. 19-21).

    Args:
        statistics: `Statistics` before the update.
        seen: Boolean mask of the classes with new samples, shape `(...)`.
        samples: Number of new samples, shape `(...)`.
        fraction: Weight of the new samples in the updated statistics, shape `(...)`.
        center: New centers, shape `(..., n, n)`.
        mean: Mean of the log distances of the new samples, shape `(...)`.
        variance: Variance of the log distances of the new samples, shape `(...)`.
    """
    xp = namespace(*statistics, center)
    new_mean = (1 - fraction) * statistics.mean + fraction * mean
    around = variance + (mean - new_mean) ** 2  # of new samples around the new mean
    new_variance = (1 - fraction) * statistics.stddev**2 + fraction * around
    center = (center + xp.swapaxes(center, -1, -2)) / 2
    return Statistics(
        xp.where(seen[..., None, None], center, statistics.center),
        xp.where(seen, new_mean, statistics.mean),
        xp.where(seen, xp.sqrt(new_variance), statistics.stddev),
        xp.where(seen, statistics.count + samples, statistics.count),
    )


def _fraction(count, samples, update_rate):
    """Computes the weight of new samples in the updated statistics. With one sample it is the
    weight in Kim2020, Eqs. 19-21."""
    if update_rate is None:
        return samples / (count + samples)
    return 1 - (1 - update_rate) ** samples
