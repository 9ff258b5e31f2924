"""Implements Riemannian potatoes (Kim2020), which detect outliers among SPD matrices. The module
`keras_dml.geometry.potato_scores` computes the scores. This module computes and updates statistics.

Networks call the functions with tensors, and detectors call the same functions with NumPy arrays in
float64. Statistics have no gradient, because they were computed from embeddings that the network
returned before its latest updates.
"""

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.linalg import cholesky, inverse_lower
from keras_dml._backend.precision import in_float64
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry import spd
from keras_dml.geometry.namespaces import namespace
from keras_dml.geometry.potato_scores import (
    MIN_DISTANCE,
    MIN_DISTANCE_FLOAT64,
    MIN_SAMPLES,
    MIN_STDDEV_FLOAT64,
    SCALES,
    Statistics,
    distances,
    log_distance,
    spectrum_distance,
    whitened,
    z_score,
)
from keras_dml.geometry.spd.matrices import congruence
from keras_dml.geometry.spd.mean import karcher_mean


def log_distances(centers: Tensor, x: Tensor) -> Tensor:
    """Computes logarithms of the affine-invariant distances between matrices and centers. The
    function has a gradient only with respect to the matrices.

    Args:
        centers: Positive definite matrices, shape `(classes, n, n)`, without a gradient.
        x: Positive definite matrices, shape `(batch, n, n)`.

    Returns:
        Logarithms, shape `(classes, batch)`. A logarithm is NaN if its matrix is not finite.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """
    return log_distance(spd.affine_invariant_pairwise(ops.stop_gradient(centers), x))


def update(
    statistics: Statistics,
    x: Tensor,
    labels: Tensor,
    values: Tensor,
    update_rate: float | None = None,
) -> Statistics:
    """Updates the statistics of all classes from one batch. The statistics of a class change only
    through the matrices of this class (Kim2020, Eqs. 19-21).

    The function first updates the mean, and then the standard deviation around the new mean.
    Finally, it moves the center along a geodesic, in the direction of the mean tangent vector of
    the class's matrices. Algorithm 1 of Kim2020 updates the statistics after each matrix, so its
    result depends on the order of the matrices in the batch. In contrast, the result of this
    function does not depend on the order of the matrices. If the batch has one matrix per class,
    the update is exactly the online step of Kim2020.

    Erratum: A bracket is missing in Eq. 20 of Kim2020. The function therefore uses the recursion of
    Eq. 9, `stddev^2 = (1 - rate) stddev^2 + rate (log d - mean)^2`.

    Args:
        statistics: `Statistics` of all classes. `center` has shape `(classes, n, n)`, and `mean`,
            `stddev` and `count` have shape `(classes,)`.
        x: Positive definite matrices, shape `(batch, n, n)`.
        labels: Class id of each matrix, int32, shape `(batch,)`. The ids are below `classes`. A
            matrix is ignored if its label is -1 or if it is not finite.
        values: Logarithms of the distances between the matrices and the centers of their classes,
            shape `(batch,)`. The distances are computed before the update.
        update_rate: Weight of one new matrix, from 0 to 1 (beta_delta in Kim2020). If a class has b
            new matrices, their total weight is `1 - (1 - update_rate)^b`. By default, the b
            matrices have the total weight `b / (count + b)`.

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
        x: Matrix, shape `(n, n)`, in float64. The matrix may hold NaN or infinity.
        threshold: Upper limit of the score. If the score is at or above the limit, the matrix does
            not change the statistics.
        update_rate: Weight of one new matrix, as in `update`.
        scale: Scale of the statistics, `"geometric"` or `"arithmetic"`, the same scale as in
            `calibrate`.

    Returns:
        Score of the matrix before the update. The score is infinite if the matrix is not positive
        definite. Updated `Statistics`.
    """
    xp = namespace(*statistics, x)
    factor = xp.cholesky(statistics.center)
    spectrum, vectors = whitened(xp, factor, x)
    value = SCALES[scale](spectrum_distance(xp, spectrum), MIN_DISTANCE_FLOAT64)
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

    The center is the Karcher mean of the matrices. The mean and the standard deviation are computed
    from the distances of all matrices from the center. The variance is the sum of squared
    deviations divided by the number of matrices.

    Erratum: In Eqs. 8 and 9 of Kim2020, the i-th distance is the distance from the mean of the
    first i - 1 matrices. Eqs. 8 and 9 describe the online step and not a calibration.

    Args:
        x: At least two positive definite matrices, shape `(count, n, n)`.
        scale: Scale of the statistics. `"geometric"` computes statistics of the logarithms of
            distances, and `"arithmetic"` computes statistics of the distances.
        weights: Non-negative weights with which the matrices contribute to the center, shape
            `(count,)`. Default: equal weights. As in pyRiemann, the mean and the standard deviation
            give all distances the same weight.
        min_distance: Lower limit of distances (see `log_distance`). Use the same limit in the
            functions that compute scores.

    Returns:
        `Statistics` of NumPy values in float64. `center` has shape `(n, n)`.

    Raises:
        ValueError: If there are fewer than two matrices, if a matrix is not finite or not positive
            definite, or if the weights do not fit the other arguments.
    """
    if len(x) < MIN_SAMPLES:
        raise ValueError(
            f"A Riemannian potato needs at least {MIN_SAMPLES} matrices to compute a standard "
            f"deviation. Received {len(x)}. Pass more matrices, shape (count, n, n)."
        )
    center = karcher_mean(x, weights)
    values = SCALES[scale](distances(center, np.asarray(x, np.float64)), min_distance)
    return Statistics(center, values.mean(), values.std(), np.float64(len(x)))


def _move_centers(center, x, members, fraction):
    """Moves the center of each class along a geodesic, by a fraction of the mean tangent vector of
    the class's matrices.

    Args:
        center: Positive definite matrices, shape `(classes, n, n)`.
        x: Positive definite matrices, shape `(batch, n, n)`.
        members: Membership of matrices in classes, shape `(batch, classes)`. An entry is 1 if the
            matrix belongs to the class, and 0 if it does not.
        fraction: Fraction of the mean tangent vector by which each class's center moves, shape
            `(classes,)`.
    """
    factor = cholesky(center)
    whitener = ops.einsum("bc,cij->bij", members, inverse_lower(factor))
    tangents = spd.log(congruence(whitener, x))
    counted = ops.sum(members, axis=1) > 0
    tangents = ops.where(counted[:, None, None], tangents, 0)
    samples = ops.maximum(ops.sum(members, axis=0), 1)
    tangent = ops.einsum("bc,bij->cij", members, tangents) / samples[:, None, None]
    return congruence(factor, spd.exp(fraction[:, None, None] * tangent))


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
    """Computes the weight of new samples in the updated statistics. If there is one new sample, the
    weight is the same as in Eqs. 19-21 of Kim2020."""
    if update_rate is None:
        return samples / (count + samples)
    return 1 - (1 - update_rate) ** samples
