"""Riemannian potatoes: z-scores of the distance of a matrix from the center of a class (Kim2020).

The same score and recursion serve networks on tensors and detectors on NumPy arrays in float64.
Statistics are constants of every gradient, because they come from embeddings under earlier weights.
"""

import numbers
import typing

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.linalg import cholesky, inverse_lower
from keras_dml._backend.precision import in_float64
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry import spd
from keras_dml.geometry.spd.matrices import congruence
from keras_dml.geometry.spd.mean import karcher_mean
from keras_dml.geometry.spd.namespaces import namespace

# Smallest distance, the noise of a float32 distance at condition 1e4. These lower limits are not in
# Kim2020.
MIN_DISTANCE = 1e-4
MIN_DISTANCE_FLOAT64 = 1e-12  # the noise in float64, for a detector
# Smallest standard deviation that a score is divided by. Covariances of noise have 0.05 at n = 20
# and 0.02 at n = 50, so in a float32 network this limit affects degenerate classes only.
MIN_STDDEV = 0.01
# Smallest standard deviation for a detector in float64, by the scale of its statistics.
MIN_STDDEV_FLOAT64 = {"geometric": 1e-6, "arithmetic": MIN_DISTANCE_FLOAT64}
# Fraction of the largest eigenvalue that is rounding error, for a center of condition 1e3.
SINGULAR = 1e-13
MIN_SAMPLES = 2  # one matrix has no standard deviation


class Statistics(typing.NamedTuple):
    """Center of a class of matrices, with mean and standard deviation of the distances from it.

    `mean` and `stddev` are computed from logarithms of distances. They are log mu and log sigma of
    Kim2020, whose exponentials are not needed.

    Attributes:
        center: Mean matrices, shape `(..., n, n)`.
        mean: Mean of the logarithms, shape `(...)`.
        stddev: Standard deviation of the logarithms, shape `(...)`.
        count: Number of matrices in the statistics, shape `(...)`.
    """

    center: typing.Any
    mean: typing.Any
    stddev: typing.Any
    count: typing.Any


def log_distance(distance: Tensor, min_distance: float = MIN_DISTANCE) -> Tensor:
    """Returns the logarithm of distances of any shape.

    Distances below `min_distance` are raised to it, with gradient 0, because the direction of such
    small differences is a rounding error.
    """
    xp = namespace(distance)
    return xp.log(xp.where(distance <= min_distance, min_distance, distance))


# Functions of a distance whose mean and standard deviation the statistics hold.
SCALES = {"geometric": log_distance, "arithmetic": lambda distance, min_distance: distance}


def log_distances(centers: Tensor, x: Tensor) -> Tensor:
    """Computes logarithms of the affine-invariant distances of matrices to centers, with a
    gradient.

    Args:
        centers: Positive definite matrices, shape `(classes, n, n)`; constants of the gradient.
        x: Positive definite matrices, shape `(batch, n, n)`.

    Returns:
        Tensor, shape `(classes, batch)`; NaN where a matrix is not finite.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    return log_distance(spd.affine_invariant_pairwise(ops.stop_gradient(centers), x))


def distances(center: Tensor, x: Tensor) -> Tensor:
    """Computes affine-invariant distances of matrices to one center (Kim2020, Eq. 5), without a
    gradient.

    Args:
        center: Positive definite matrix, shape `(n, n)`.
        x: Matrices, shape `(..., n, n)`; the symmetric part is taken.

    Returns:
        Distances, shape `(...)`; infinite where a matrix is not positive definite or not finite.
    """
    xp = namespace(center, x)
    return _distance(xp, _whitened(xp, xp.cholesky(center), x)[0])


def z_score(values: Tensor, mean: Tensor, stddev: Tensor, min_stddev: float = MIN_STDDEV) -> Tensor:
    """Computes `(log d - log mu) / log sigma` (Kim2020, Eq. 6), the number of standard deviations
    by which a matrix is farther from the center than usual.

    The test is right-tailed. If logarithms of distances were normally distributed, 0.6 % of the
    matrices of a class would be above 2.5.

    Args:
        values: Logarithms of distances.
        mean: log mu of Kim2020, broadcastable; a constant of the gradient.
        stddev: log sigma of Kim2020, broadcastable; a constant of the gradient.
        min_stddev: Smallest standard deviation; smaller ones are replaced by it.

    Returns:
        Scores, without unit, of the shape of `values`.
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
    """Updates the statistics after a batch, each class once by its own matrices (Kim2020, Eqs.
    19-21).

    It updates first the mean, then the standard deviation around the new mean, then the center
    along a geodesic in the direction of the mean tangent of the matrices of the class. Algorithm 1
    of Kim2020 updates within its loop over the batch, so that the order of the matrices matters.
    Here it does not. For one matrix per class this is exactly the online step.

    Erratum: Kim2020 Eq. 20 misses a bracket; this is
    `stddev^2 = (1 - rate) stddev^2 + rate (log d - mean)^2`, the recursion of Eq. 9.

    Args:
        statistics: `Statistics` of all classes: center `(classes, n, n)`, and mean, standard
            deviation and count, each `(classes,)`.
        x: Positive definite matrices, shape `(batch, n, n)`.
        labels: Class of each matrix, int32, shape `(batch,)`, below `classes`. Rows with label -1,
            and rows that are not finite, change nothing.
        values: Logarithm of the distance of each matrix to the center of its class before the
            update, shape `(batch,)`.
        update_rate: Weight of one matrix, from 0 to 1 (beta_delta in Kim2020). The weight of b
            matrices of a class is `1 - (1 - update_rate)^b`. None: `b / (count + b)`.

    Returns:
        New `Statistics`, without gradient.
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
    """Scores one matrix, and updates the statistics by it if the score is below the threshold.

    Args:
        statistics: `Statistics` of one class, in float64.
        x: Matrix, shape `(n, n)`, in float64, which may hold NaN or infinity.
        threshold: Score from which on a matrix changes nothing.
        update_rate: See `update`.
        scale: `"geometric"` or `"arithmetic"`, as the statistics were measured.

    Returns:
        The score before the update, infinite for a matrix that is not positive definite, and the
        new `Statistics`.
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
    """Computes the statistics of a class from some of its matrices (Kim2020, Eqs. 7-9).

    The center is the Karcher mean of the matrices, and all distances are to that center. The
    divisor of the variance is the number of matrices.

    Erratum: Kim2020 Eqs. 8 and 9 take the i-th distance to the mean of the first i - 1 matrices,
    which is the online step and not a calibration.

    Args:
        x: Positive definite matrices, shape `(count, n, n)`, at least two.
        scale: `"geometric"`, statistics of logarithms of distances, or `"arithmetic"`, of
            distances.
        weights: Non-negative weights of the matrices in the center, shape `(count,)`; None: equal.
            Distances count equally, as in pyRiemann.
        min_distance: See `log_distance`. Use the same value as for scores.

    Returns:
        `Statistics` of NumPy values in float64, center `(n, n)`.

    Raises:
        ValueError: If there are fewer than two matrices, a matrix is not finite or not positive
            definite, or the weights do not fit.
    """
    if len(x) < MIN_SAMPLES:
        raise ValueError(
            f"A potato needs at least {MIN_SAMPLES} matrices for a standard deviation. Received "
            f"{len(x)}. Give more, shape (count, n, n)."
        )
    center = karcher_mean(x, weights)
    values = SCALES[scale](distances(center, np.asarray(x, np.float64)), min_distance)
    return Statistics(center, values.mean(), values.std(), np.float64(len(x)))


def check_update_rate(update_rate: float | None) -> float | None:
    """Checks the update rate, and returns it as a float, or None.

    Raises:
        ValueError: If it is outside [0, 1].
    """
    if update_rate is None:
        return None
    if not (isinstance(update_rate, numbers.Real) and 0 <= update_rate <= 1):
        raise ValueError(
            "`update_rate` must be from 0 (no update) to 1, or None for one over the number of "
            f"matrices. Received update_rate={update_rate!r}."
        )
    return float(update_rate)


def _move_centers(center, x, members, fraction):
    """Moves centers along geodesics, by a fraction of the mean tangent of their matrices.

    Args:
        center: Positive definite matrices, shape `(classes, n, n)`.
        x: Positive definite matrices, shape `(batch, n, n)`.
        members: 1 where a matrix belongs to a class and 0 elsewhere, shape `(batch, classes)`.
        fraction: Fraction of the mean tangent, shape `(classes,)`.
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
    """Computes eigenvalues `(..., n)` and eigenvectors of `F^-1 x F^-T`, F the Cholesky factor of a
    center. Eigenvalues are 0 if x is not finite."""
    inverse = xp.inverse_lower(factor)
    finite = xp.all(xp.isfinite(x), axis=(-2, -1))
    white = inverse @ xp.where(finite[..., None, None], x, 0) @ xp.swapaxes(inverse, -1, -2)
    return xp.eigh((white + xp.swapaxes(white, -1, -2)) / 2)


def _distance(xp, spectrum):
    """Computes distances from ascending eigenvalues `(..., n)` of whitened matrices, shape
    `(...)`."""
    definite = spectrum[..., :1] > SINGULAR * spectrum[..., -1:]
    logs = xp.log(xp.where(definite, spectrum, 1))
    return xp.where(definite[..., 0], xp.sqrt(xp.sum(logs * logs, axis=-1)), np.inf)


def _updated(statistics, seen, samples, fraction, center, mean, variance):
    """Computes the statistics after new samples, for classes where `seen` is True (Kim2020, Eqs.
    19-21).

    Args:
        statistics: `Statistics` before.
        seen: Mask of the classes that have samples, boolean, shape `(...)`.
        samples: Number of samples, shape `(...)`.
        fraction: Weight of the samples in the updated statistics, shape `(...)`.
        center: New centers, shape `(..., n, n)`.
        mean: Mean of the logarithms of the samples, shape `(...)`.
        variance: Variance of these logarithms around their mean, shape `(...)`.
    """
    xp = namespace(*statistics, center)
    new_mean = (1 - fraction) * statistics.mean + fraction * mean
    around = variance + (mean - new_mean) ** 2  # of the samples, around the new mean
    new_variance = (1 - fraction) * statistics.stddev**2 + fraction * around
    center = (center + xp.swapaxes(center, -1, -2)) / 2
    return Statistics(
        xp.where(seen[..., None, None], center, statistics.center),
        xp.where(seen, new_mean, statistics.mean),
        xp.where(seen, xp.sqrt(new_variance), statistics.stddev),
        xp.where(seen, statistics.count + samples, statistics.count),
    )


def _fraction(count, samples, update_rate):
    """Computes the weight of new samples in the updated statistics (Kim2020, Eqs. 19-21, for
    several samples)."""
    if update_rate is None:
        return samples / (count + samples)
    return 1 - (1 - update_rate) ** samples
