"""Riemannian potatoes: distance of a matrix from a class, in units of the class's own spread
(Kim2020).

One score and one recursion, for networks on tensors and for detectors on NumPy arrays in float64.
Statistics are constants of every gradient: they are a running state over embeddings of earlier
weights.
"""

import numbers
import typing

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.linalg import cholesky, inverse_lower
from keras_dml._backend.precision import in_float64
from keras_dml.geometry import spd
from keras_dml.geometry.spd.matrices import congruence
from keras_dml.geometry.spd.mean import karcher_mean
from keras_dml.geometry.spd.namespaces import namespace

# The noise of a float32 distance at condition 1e4; a closer matrix counts as this close.
# Kim2020 has no floors; these are ours.
MIN_DISTANCE = 1e-4
MIN_DISTANCE_FLOAT64 = 1e-12  # the same noise in float64, for a detector
# Minimum standard deviation that a score is divided by. Covariances of noise have 0.05 at n = 20
# and 0.02 at n = 50, so in a float32 network this acts on degenerate classes only.
MIN_STDDEV = 0.01
# The same for a detector in float64, by what is averaged: logarithms of distances, or distances.
MIN_STDDEV_FLOAT64 = {"geometric": 1e-6, "arithmetic": MIN_DISTANCE_FLOAT64}
# Fraction of the largest eigenvalue that is rounding, seen from a center of condition 1e3.
SINGULAR = 1e-13
MIN_SAMPLES = 2  # one matrix has no spread


class Statistics(typing.NamedTuple):
    """Center of a class of matrices, and the usual distance of its members from it.

    `mean` and `stddev` are of logarithms of distances: log mu and log sigma of Kim2020, whose
    exponentials are never taken.

    Attributes:
        center: Mean matrices, shape `(..., n, n)`.
        mean: Mean of the logarithms, shape `(...)`.
        stddev: Standard deviation of the logarithms, shape `(...)`.
        count: Number of matrices seen, shape `(...)`.
    """

    center: typing.Any
    mean: typing.Any
    stddev: typing.Any
    count: typing.Any


def log_distance(distance, min_distance=MIN_DISTANCE):
    """Returns the logarithm of distances of any shape.

    A distance below `min_distance` counts as that, with gradient 0: the direction of so small a
    difference is rounding.
    """
    xp = namespace(distance)
    return xp.log(xp.where(distance <= min_distance, min_distance, distance))


# What is averaged: logarithms of distances, or distances.
SCALES = {"geometric": log_distance, "arithmetic": lambda distance, min_distance: distance}


def log_distances(centers, x):
    """Logarithms of the affine-invariant distances of matrices to centers, with a gradient.

    Args:
        centers: Positive definite matrices, shape `(classes, n, n)`; constants of the gradient.
        x: Positive definite matrices, shape `(batch, n, n)`.

    Returns:
        Tensor, shape `(classes, batch)`; NaN where a matrix is not finite.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    return log_distance(spd.affine_invariant_pairwise(ops.stop_gradient(centers), x))


def distances(center, x):
    """Affine-invariant distances of matrices to one center (Kim2020, Eq. 5), without a gradient.

    Args:
        center: Positive definite matrix, shape `(n, n)`.
        x: Matrices, shape `(..., n, n)`; the symmetric part is taken.

    Returns:
        Distances, shape `(...)`; infinite where a matrix is not positive definite or not finite.
    """
    xp = namespace(center, x)
    return _distance(xp, _whitened(xp, xp.cholesky(center), x)[0])


def z_score(values, mean, stddev, min_stddev=MIN_STDDEV):
    """`(log d - log mu) / log sigma` (Kim2020, Eq. 6): number of standard deviations by which a
    matrix is farther than is usual in the class.

    Right-tailed: of a class's own matrices 0.6 % are above 2.5, were logarithms of distances
    normal.

    Args:
        values: Logarithms of distances.
        mean: log mu of Kim2020, broadcastable; a constant of the gradient.
        stddev: log sigma of Kim2020, broadcastable; a constant of the gradient.
        min_stddev: Standard deviation that a smaller one is replaced by.

    Returns:
        Scores, without unit, of the shape of `values`.
    """
    xp = namespace(values, mean, stddev)
    mean, stddev = (xp.constant(part, values.dtype) for part in (mean, stddev))
    return (values - mean) / xp.maximum(stddev, min_stddev)


def update(statistics, x, labels, values, update_rate=None):
    """The statistics after a batch, each class moved once by its own matrices (Kim2020,
    Eqs. 19-21).

    In this order: the mean, the standard deviation around the new mean, the center along a
    geodesic, in the direction of the mean tangent of the class's matrices. Algorithm 1 of Kim2020
    updates inside its loop over the batch, so later matrices see other statistics; here the order
    of the rows does not matter. With one matrix of a class this is the online step exactly.

    Erratum: Kim2020 Eq. 20 misses a bracket; this is
    `stddev^2 = (1 - rate) stddev^2 + rate (log d - mean)^2`, the recursion of Eq. 9.

    Args:
        statistics: `Statistics` of all classes, center `(classes, n, n)`, the others `(classes,)`.
        x: Positive definite matrices, shape `(batch, n, n)`.
        labels: Class of each matrix, int32, shape `(batch,)`, below `classes`. A row of label -1,
            or one that is not finite, changes nothing.
        values: Logarithm of each matrix's distance to its own center before the update, shape
            `(batch,)`.
        update_rate: Fraction of one matrix, from 0 to 1 (beta_delta in Kim2020): b matrices of a
            class have the fraction `1 - (1 - update_rate)^b`. None: `b / (count + b)`.

    Returns:
        New `Statistics`, without gradient.
    """
    center, mean, stddev, count = (ops.stop_gradient(part) for part in statistics)
    finite = ops.logical_and(ops.all(ops.isfinite(x), axis=(1, 2)), ops.isfinite(values))
    labels = ops.where(finite, labels, -1)
    known = labels >= 0
    own = ops.one_hot(labels, center.shape[0], dtype=center.dtype)  # (batch, classes)
    samples = ops.sum(own, axis=0)  # (classes,)
    seen, some = samples > 0, ops.maximum(samples, 1)
    fraction = ops.where(seen, _fraction(count, some, update_rate), 0)

    centers = in_float64(_moved_centers)(center, ops.stop_gradient(x), own, fraction)
    values = ops.where(known, ops.stop_gradient(values), 0)[:, None]
    means = ops.sum(own * values, axis=0) / some
    variances = ops.sum(own * ops.square(values - means), axis=0) / some
    before = Statistics(center, mean, stddev, count)
    return _moved(before, seen, samples, fraction, centers, means, variances)


def online_step(statistics, x, threshold, update_rate=None, scale="geometric"):
    """Scores one matrix and, where its score is below the threshold, moves the statistics by it:
    `update` for a detector, with one eigendecomposition.

    Args:
        statistics: `Statistics` of one class, in float64.
        x: Matrix, shape `(n, n)`, in float64; it may hold NaN or infinity.
        threshold: Score from which on a matrix moves nothing.
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
    spectrum = xp.where(accepted, spectrum, 1)  # may be negative elsewhere
    center = (root * spectrum**fraction) @ xp.swapaxes(root, -1, -2)
    value = xp.where(accepted, value, statistics.mean)
    return z, _moved(statistics, accepted, 1, fraction, center, value, 0)


def calibrate(x, scale="geometric", weights=None, min_distance=MIN_DISTANCE):
    """Statistics of a class from some of its matrices (Kim2020, Eqs. 7-9).

    The center is the Karcher mean of all of them, and all distances are to that final center; the
    divisor of the variance is their number.

    Erratum: Kim2020 Eqs. 8 and 9 take the i-th distance to the mean of the first i - 1 matrices,
    which is the online step and not a calibration.

    Args:
        x: Positive definite matrices, shape `(count, n, n)`, at least two.
        scale: `"geometric"`, statistics of logarithms of distances, or `"arithmetic"`, of
            distances.
        weights: Non-negative weights of the matrices in the center, shape `(count,)`; None: equal.
            Distances count equally, as in pyRiemann.
        min_distance: See `log_distance`; as the matrices will be scored.

    Returns:
        `Statistics` of NumPy values in float64, center `(n, n)`.

    Raises:
        ValueError: If there are fewer than two matrices, one is not finite or not positive
            definite, or the weights do not fit.
    """
    if len(x) < MIN_SAMPLES:
        raise ValueError(
            f"A potato needs at least {MIN_SAMPLES} matrices to know a spread. Received "
            f"{len(x)}. Give more, shape (count, n, n)."
        )
    center = karcher_mean(x, weights)
    values = SCALES[scale](distances(center, np.asarray(x, np.float64)), min_distance)
    return Statistics(center, values.mean(), values.std(), np.float64(len(x)))


def check_update_rate(update_rate):
    """The rate as a float, or None.

    Raises:
        ValueError: If it is not between 0 and 1.
    """
    if update_rate is None:
        return None
    if not (isinstance(update_rate, numbers.Real) and 0 <= update_rate <= 1):
        raise ValueError(
            "`update_rate` must be between 0 (never moves) and 1, or None for one over the number "
            f"of matrices seen. Received update_rate={update_rate!r}."
        )
    return float(update_rate)


def _moved_centers(center, x, members, fraction):
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
    """Eigenvalues `(..., n)` and eigenvectors of `F^-1 x F^-T`, F the Cholesky factor of a center;
    eigenvalues 0 where x is not finite."""
    inverse = xp.inverse_lower(factor)
    finite = xp.all(xp.isfinite(x), axis=(-2, -1))
    white = inverse @ xp.where(finite[..., None, None], x, 0) @ xp.swapaxes(inverse, -1, -2)
    return xp.eigh((white + xp.swapaxes(white, -1, -2)) / 2)


def _distance(xp, spectrum):
    """Distance from ascending eigenvalues `(..., n)` of whitened matrices, shape `(...)`."""
    definite = spectrum[..., :1] > SINGULAR * spectrum[..., -1:]
    logs = xp.log(xp.where(definite, spectrum, 1))
    return xp.where(definite[..., 0], xp.sqrt(xp.sum(logs * logs, axis=-1)), np.inf)


def _moved(statistics, seen, samples, fraction, center, mean, variance):
    """Statistics after new samples, those where `seen` (Kim2020, Eqs. 19-21).

    Args:
        statistics: `Statistics` before.
        seen: Classes that have samples, boolean, shape `(...)`.
        samples: Their number, shape `(...)`.
        fraction: Their fraction, shape `(...)`.
        center: New centers, shape `(..., n, n)`.
        mean: Mean of the samples' logarithms, shape `(...)`.
        variance: Variance of these around their own mean, shape `(...)`.
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
    """Fraction of new samples in the statistics after them (Kim2020, Eqs. 19-21, for several)."""
    if update_rate is None:
        return samples / (count + samples)
    return 1 - (1 - update_rate) ** samples
