"""The potato on values: calibration and the online step of its statistics, NumPy in float64."""

import typing

import numpy as np

from keras_dml.geometry.spd.mean import karcher_mean

# The noise of a float32 distance at condition 1e4; a nearer matrix counts as this near.
# Kim2020 has no floors; both are ours.
DISTANCE_FLOOR = 1e-4
# Least deviation that a score is divided by. Covariances of noise have 0.05 at n = 20 and 0.02 at
# n = 50, so in a float32 network this acts on degenerate classes only.
LOG_SIGMA_FLOOR = 0.01
# Share of the greatest eigenvalue that is rounding, seen from a center of condition 1e3.
SINGULAR = 1e-13
LEAST_SAMPLES = 2  # one matrix has no spread


class Statistics(typing.NamedTuple):
    """What a potato knows of its class: where it lies, and how far from there its members are.

    `mean` and `stddev` are of logarithms of distances: log mu and log sigma of Kim2020, whose
    exponentials are never taken.

    Attributes:
        center: Mean matrices, shape `(..., n, n)`.
        mean: Shape `(...)`, log mu of Kim2020.
        stddev: Shape `(...)`, log sigma of Kim2020.
        count: Number of matrices seen, shape `(...)`.
    """

    center: typing.Any
    mean: typing.Any
    stddev: typing.Any
    count: typing.Any


def log_distance(distance):
    """Logarithm of distances of any shape, floored at 1e-4."""
    return np.log(np.maximum(distance, DISTANCE_FLOOR))


def calibrate(x, measure=log_distance):
    """Statistics of a class from some of its matrices (Kim2020, Eqs. 7-9).

    The center is the Karcher mean of all of them, and all distances are to that final center; the
    divisor of the deviation is their number.

    Erratum: Kim2020 Eqs. 8 and 9 take the i-th distance to the mean of the first i - 1 matrices,
    which is the online step and not a calibration.

    Args:
        x: Positive definite matrices, shape `(count, n, n)`, at least two.
        measure: From distances to what is averaged.

    Returns:
        `Statistics` of NumPy values in float64, center `(n, n)`.

    Raises:
        ValueError: If there are fewer than two matrices, or one is not finite or not positive
            definite.
    """
    if len(x) < LEAST_SAMPLES:
        raise ValueError(
            f"A potato needs at least {LEAST_SAMPLES} matrices to know a spread. Received "
            f"{len(x)}. Give more, shape (count, n, n)."
        )
    center = karcher_mean(x)
    values = measure(distances(center, x))
    return Statistics(center, float(values.mean()), float(values.std()), len(x))


def distances(center, x):
    """Affine-invariant distances of matrices to one center (Kim2020, Eq. 5).

    Args:
        center: Positive definite matrix, shape `(n, n)`.
        x: Matrices, shape `(..., n, n)`; the symmetric part is taken.

    Returns:
        Shape `(...)`; infinite where a matrix is not positive definite or not finite.
    """
    return distance_of(whitened(center, x)[1])


def whitened(center, x):
    """The Cholesky factor F of the center, eigenvalues `(..., n)` and eigenvectors `(..., n, n)` of
    `F^-1 x F^-T`; NaN where x is not finite."""
    factor = np.linalg.cholesky(center)
    inverse = np.linalg.inv(factor)
    x = np.asarray(x, np.float64)
    finite = np.isfinite(x).all(axis=(-2, -1))
    white = inverse @ np.where(finite[..., None, None], x, 0) @ inverse.T
    values, vectors = np.linalg.eigh((white + np.swapaxes(white, -1, -2)) / 2)
    return factor, np.where(finite[..., None], values, np.nan), vectors


def distance_of(values):
    """Distance from ascending eigenvalues `(..., n)` of whitened matrices, shape `(...)`."""
    definite = values[..., :1] > SINGULAR * values[..., -1:]
    logs = np.log(np.where(definite, values, 1))
    return np.where(definite[..., 0], np.sqrt((logs**2).sum(axis=-1)), np.inf)


def step(statistics, x, update_rate=None, measure=log_distance):
    """The statistics after one more matrix (Kim2020, Eqs. 19-21).

    In this order: the distance to the center before it moves, the mean, the deviation around the
    new mean, the center along the geodesic.

    Erratum: Kim2020 Eq. 20 misses a bracket; this is
    `deviation^2 = (1 - rate) deviation^2 + rate (log d - mean)^2`, the recursion of Eq. 9.

    Args:
        statistics: `Statistics` of one class.
        x: Positive definite matrix, shape `(n, n)`.
        update_rate: beta_delta in Kim2020, from 0 to 1; None: one over the number of matrices seen,
            those of the calibration counted.
        measure: As in `calibrate`.

    Returns:
        New `Statistics`.
    """
    return moved(statistics, whitened(statistics.center, x), update_rate, measure)


def moved(statistics, white, update_rate, measure):
    """As `step`, from what `whitened` gives for the matrix."""
    factor, values, vectors = white
    value = float(measure(distance_of(values)))
    share = rate(statistics.count, 1, update_rate)
    mean = (1 - share) * statistics.mean + share * value
    variance = (1 - share) * statistics.stddev**2 + share * (value - mean) ** 2
    center = factor @ (vectors * values**share) @ vectors.T @ factor.T
    return Statistics((center + center.T) / 2, mean, variance**0.5, statistics.count + 1)


def rate(count, samples, update_rate):
    """Share of new samples in statistics after them (beta_delta in Kim2020, Eqs. 19-21, for
    several).

    Args:
        count: Matrices seen before, a number or a tensor.
        samples: New ones, a number or a tensor.
        update_rate: Share of a single one, or None for one over the number seen.
    """
    if update_rate is None:
        return samples / (count + samples)
    return 1 - (1 - update_rate) ** samples


def check_update_rate(update_rate):
    """The rate as a float, or None.

    Raises:
        ValueError: If it is not between 0 and 1.
    """
    if update_rate is None:
        return None
    if not 0 <= update_rate <= 1:
        raise ValueError(
            "`update_rate` must be between 0 (never moves) and 1, or None for one over the number "
            f"of matrices seen. Received update_rate={update_rate!r}."
        )
    return float(update_rate)
