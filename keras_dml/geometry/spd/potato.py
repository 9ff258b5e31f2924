"""Riemannian potatoes: how far a matrix is from a class, in units of the class's own spread
(Kim2020).

`calibrate` and `step` are on values, NumPy in float64; the rest is for networks, the same on
TensorFlow and JAX. Statistics are constants of every gradient: they are a running state over
embeddings of earlier weights.
"""

from keras_dml._backend import ops
from keras_dml._backend.linalg import cholesky, inverse_lower
from keras_dml.geometry import spd
from keras_dml.geometry.spd.matrices import congruence, symmetric_part
from keras_dml.geometry.spd.potato_float64 import (
    DISTANCE_FLOOR,
    LOG_SIGMA_FLOOR,
    Statistics,
    calibrate,
    check_update_rate,
    rate,
    step,
)

__all__ = [
    "DISTANCE_FLOOR",
    "LOG_SIGMA_FLOOR",
    "Statistics",
    "calibrate",
    "check_update_rate",
    "log_distance",
    "log_distances",
    "step",
    "update",
    "z_score",
]


def log_distance(distance):
    """Logarithm of distances of any shape; below 1e-4 its value there, with gradient 0, since the
    direction of so small a difference is rounding."""
    near = distance <= DISTANCE_FLOOR
    return ops.log(ops.where(near, DISTANCE_FLOOR, distance))


def log_distances(centers, x):
    """Logarithms of the affine-invariant distances of matrices to centers.

    Args:
        centers: Positive definite matrices, shape `(classes, n, n)`; constants of the gradient.
        x: Positive definite matrices, shape `(batch, n, n)`.

    Returns:
        Shape `(classes, batch)`; NaN where a matrix is not finite.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    return log_distance(spd.affine_invariant_pairwise(ops.stop_gradient(centers), x))


def z_score(values, mean, stddev, min_stddev=LOG_SIGMA_FLOOR):
    """`(log d - log mu) / log sigma` (Kim2020, Eq. 6): how many deviations a matrix is farther than
    is usual in the class.

    Right-tailed: of a class's own matrices 0.6 % are above 2.5, were logarithms of distances
    normal.

    Args:
        values: Logarithms of distances.
        mean: log mu of Kim2020, broadcastable; a constant of the gradient.
        stddev: log sigma of Kim2020, broadcastable; a constant of the gradient.
        min_stddev: A smaller deviation counts as this one.

    Returns:
        Scores, without unit, of the shape of `values`.
    """
    values = ops.convert_to_tensor(values)
    mean, stddev = (
        ops.stop_gradient(ops.convert_to_tensor(x, values.dtype)) for x in (mean, stddev)
    )
    return (values - mean) / ops.maximum(stddev, min_stddev)


def update(statistics, x, labels, values, update_rate=None):
    """The statistics after a batch, each class moved once by its own matrices (Kim2020,
    Eqs. 19-21).

    Algorithm 1 of Kim2020 updates inside its loop over the batch, so later matrices see other
    statistics; here the order of the rows does not matter, and with one matrix of a class this is
    the online step exactly. The center moves by the mean tangent of the class's matrices.

    Args:
        statistics: `Statistics` of all classes, center `(classes, n, n)`, the others `(classes,)`.
        x: Positive definite matrices, shape `(batch, n, n)`.
        labels: Class of each matrix, int32, shape `(batch,)`, below `classes`; -1: none, which
            changes nothing whatever the matrix holds; so does a row that is not finite.
        values: Logarithm of each matrix's distance to its own center, shape `(batch,)`.
        update_rate: Share of one matrix, from 0 to 1 (beta_delta in Kim2020): b matrices of a class
            have the share `1 - (1 - update_rate)^b`. None: `b / (count + b)`.

    Returns:
        New `Statistics`, without gradient.
    """
    center, mean, stddev, count = (ops.stop_gradient(part) for part in statistics)
    finite = ops.logical_and(ops.all(ops.isfinite(x), axis=(1, 2)), ops.isfinite(values))
    labels = ops.where(finite, labels, -1)
    known = labels >= 0
    rows = ops.maximum(labels, 0)
    own = ops.one_hot(labels, center.shape[0], dtype=center.dtype)  # (batch, classes)
    samples = ops.sum(own, axis=0)  # (classes,)
    some = ops.maximum(samples, 1)
    share = ops.where(samples > 0, rate(count, ops.where(samples > 0, samples, 1), update_rate), 0)

    factor = cholesky(center)
    whitener = ops.take(inverse_lower(factor), rows, axis=0)  # (batch, n, n)
    tangents = spd.log(congruence(whitener, ops.stop_gradient(x)))
    tangents = ops.where(known[:, None, None], tangents, 0)
    tangent = ops.einsum("bc,bij->cij", own, tangents) / some[:, None, None]
    new_center = congruence(factor, spd.exp(share[:, None, None] * tangent))

    values = ops.where(known, ops.stop_gradient(values), 0)
    new_mean = (1 - share) * mean + share * ops.sum(own * values[:, None], axis=0) / some
    gap = values[:, None] - new_mean[None, :]  # (batch, classes)
    variance = ops.sum(own * gap * gap, axis=0) / some
    new_stddev = ops.sqrt((1 - share) * stddev * stddev + share * variance)

    seen = samples > 0
    return Statistics(
        ops.where(seen[:, None, None], symmetric_part(new_center), center),
        ops.where(seen, new_mean, mean),
        ops.where(seen, new_stddev, stddev),
        count + samples,
    )
