"""Computes the affine-invariant (Kim2020, Eq. 5), log-Euclidean (Kim2020, Eq. 4), Stein (Sra2012)
and Bures-Wasserstein (Bhatia2019) distances between SPD matrices.

All distances are computed in float64, even if the matrices are float32. In float32, matrices with a
condition number of 1e5 would have a relative error of 1e-4 in the log-Euclidean and Stein
distances, and of up to 20 % in the affine-invariant distance. In the Bures-Wasserstein distance,
float32 would let squares overflow or underflow.

The distance between equal matrices is 0. The gradient does not exist for equal matrices and is set
to 0.
"""

import functools

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._backend.linalg import cholesky, inverse_lower
from keras_dml._backend.precision import in_float64
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import divide, root
from keras_dml.geometry.spd import polynomial
from keras_dml.geometry.spd.divided_differences import LOG
from keras_dml.geometry.spd.functions import nuclear_norm, spectral_function, sqrt
from keras_dml.geometry.spd.matrices import (
    composed,
    condition_limit,
    congruence,
    definite_or_identity,
    eigh,
    rounding,
    transposed,
)
from keras_dml.geometry.spd.pairs import (
    BLOCK_BYTES,
    broadcast_together,
    in_blocks,
    match_sizes,
    two_sets,
)
from keras_dml.geometry.spd.vectors import vectorize

__all__ = [
    "affine_invariant",
    "affine_invariant_pairwise",
    "bures_wasserstein",
    "bures_wasserstein_by_polynomials",
    "bures_wasserstein_pairwise",
    "log_euclidean",
    "log_euclidean_pairwise",
    "stein",
    "stein_pairwise",
]

BURES_ROUNDINGS = 16  # in machine epsilons of the traces; equal 2 x 2 matrices had at most 6


def affine_invariant(x: Tensor, y: Tensor) -> Tensor:
    """Computes the affine-invariant distance `sqrt(sum(log(l)^2))`, where l are the eigenvalues of
    `x^-1 y` (Kim2020, Eq. 5).

    The distance is also known as the affine-invariant Riemannian metric (AIRM) or the geodesic
    distance. The distance does not change if `x` and `y` are replaced by `P x P'` and `P y P'`, or
    by their inverses.

    Args:
        x: Positive definite matrices, shape `(..., n, n)`.
        y: Positive definite matrices, broadcastable to `x`.

    Returns:
        Distances, shape `(...)`. Distances are logarithms of ratios and have no unit. A distance is
        NaN if a matrix is not positive definite, or if the condition number of a matrix exceeds 2e6
        in float32 or 1e13 in float64.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """
    return _single_pairs(_affine_distances, x, y)


def affine_invariant_pairwise(
    x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES
) -> Tensor:
    """Computes all affine-invariant distances between two sets (Kim2020, Eq. 5). Each pair needs
    one eigendecomposition.

    Args:
        x: Positive definite matrices, shape `(n, size, size)`.
        y: Positive definite matrices, shape `(m, size, size)`.
        max_bytes: Largest size of one block of pairs, in bytes. The backward pass repeats the
            eigendecompositions of each block. If `max_bytes` is None, all pairs are computed in one
            block, which is faster in training.

    Returns:
        Distances, shape `(n, m)`. A distance is NaN in the same cases as in `affine_invariant`.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """
    return in_blocks(_affine_distances, *two_sets(x, y), max_bytes)


def log_euclidean(x: Tensor, y: Tensor) -> Tensor:
    """Computes the log-Euclidean distance, `|log(x) - log(y)|` (Kim2020, Eq. 4).

    The distance does not change if both matrices are rotated in the same way, multiplied by the
    same number, or inverted. The log-Euclidean distance is at most the affine-invariant distance.

    Args:
        x: Positive definite matrices, shape `(..., n, n)`.
        y: Positive definite matrices, broadcastable to `x`.

    Returns:
        Distances without a unit, shape `(...)`. A distance is NaN if a matrix is not finite.
        Singular matrices are treated as in `spd.log`.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """
    x, y = match_sizes(x, y)
    return _norm(vectorize(_precise_log(x)) - vectorize(_precise_log(y)))


def log_euclidean_pairwise(x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES) -> Tensor:
    """Computes all log-Euclidean distances between two sets (Kim2020, Eq. 4). Each matrix needs one
    logarithm.

    Args:
        x: Positive definite matrices, shape `(n, size, size)`.
        y: Positive definite matrices, shape `(m, size, size)`.
        max_bytes: Largest size of one block of differences, in bytes. If `max_bytes` is None, all
            pairs are computed at once.

    Returns:
        Distances, shape `(n, m)`.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """
    x, y = (vectorize(_precise_log(side)) for side in two_sets(x, y))
    return in_blocks(lambda block, y: _norm(block[:, None] - y[None]), x, y, max_bytes)


def stein(x: Tensor, y: Tensor) -> Tensor:
    """Computes the Stein distance, the square root of `log det((x + y) / 2) - log det(x y) / 2`
    (Sra2012).

    The Stein distance is a metric. If a transformation does not change the affine-invariant
    distance, it does not change the Stein distance. The distance is computed from determinants. The
    function computes eigenvalues only to detect singular matrices. Differences between logarithms
    of determinants lose digits by cancellation, so a distance below about 1e-7 is a rounding error.

    Args:
        x: Positive definite matrices, shape `(..., n, n)`.
        y: Positive definite matrices, broadcastable to `x`.

    Returns:
        Distances without a unit, shape `(...)`. A distance is NaN in the same cases as in
        `affine_invariant`.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """
    return _single_pairs(_stein_distances, x, y)


def stein_pairwise(x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES) -> Tensor:
    """Computes all Stein distances between two sets (Sra2012). Each matrix and each pair needs one
    Cholesky decomposition.

    Args:
        x: Positive definite matrices, shape `(n, size, size)`.
        y: Positive definite matrices, shape `(m, size, size)`.
        max_bytes: Largest size of one block of sums `x + y`, in bytes. If `max_bytes` is None, all
            pairs are computed at once.

    Returns:
        Distances, shape `(n, m)`. A distance is NaN in the same cases as in `stein`.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """
    return in_blocks(_stein_distances, *two_sets(x, y), max_bytes)


def bures_wasserstein(x: Tensor, y: Tensor) -> Tensor:
    """Computes the Bures-Wasserstein distance, the square root of
    `tr x + tr y - 2 tr((x^(1/2) y x^(1/2))^(1/2))` (Bhatia2019, Eq. 1).

    The Bures-Wasserstein distance is the 2-Wasserstein distance between two centered normal
    distributions with covariances `x` and `y`. The distance does not change if both matrices are
    rotated in the same way. The distance to a singular matrix is finite. The formula subtracts
    traces that may be almost equal, so a small squared distance is only a rounding error. If the
    squared distance is below `(16 + n) eps (tr x + tr y)`, where eps is the machine epsilon of
    float64, the function returns 0. The distance between `c x` and `c y` is `sqrt(c)` times the
    distance between `x` and `y`, if all entries fit the dtype. In float32, entries must lie between
    about 1e-30 and 1e30.

    Args:
        x: Positive semidefinite matrices, shape `(..., n, n)`. Negative eigenvalues are replaced as
            in `spd.sqrt`, so only the positive part of a matrix counts.
        y: Positive semidefinite matrices, broadcastable to `x`.

    Returns:
        Distances, shape `(...)`. The unit of a distance is the square root of the unit of `x`. If
        `x` holds covariances, the distance has the unit of the signals. A distance is NaN if a
        matrix is not finite.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """

    @in_float64
    def of_pairs(x, y):
        x, y = sqrt(x), sqrt(y)
        return _bures(_square_sum(x), _square_sum(y), nuclear_norm(ops.matmul(x, y)), x.shape[-1])

    return of_pairs(*match_sizes(x, y))


def bures_wasserstein_pairwise(
    x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES
) -> Tensor:
    """Computes all Bures-Wasserstein distances between two sets (Bhatia2019, Eq. 1). Each pair
    needs one eigendecomposition.

    Args:
        x: Positive semidefinite matrices, shape `(n, size, size)`.
        y: Positive semidefinite matrices, shape `(m, size, size)`.
        max_bytes: Largest size of one block of products, in bytes. If `max_bytes` is None, all
            pairs are computed at once.

    Returns:
        Distances, shape `(n, m)`. The docstring of `bures_wasserstein` explains the unit and the
        treatment of indefinite matrices.

    Raises:
        ValueError: If the matrices are not square or have different sizes.
    """

    @in_float64
    def of_sets(x, y):
        return _bures_distances(x, y, sqrt, nuclear_norm, max_bytes)

    return of_sets(*two_sets(x, y))


def bures_wasserstein_by_polynomials(
    x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES
) -> Tensor:
    """Computes the same distances as `bures_wasserstein_pairwise`, with matrix products instead of
    eigendecompositions, because devices cannot compute eigendecompositions. Arguments and errors
    are the same as in `bures_wasserstein_pairwise`.

    As in `polynomial.sqrt`, an eigenvalue below 1e-6 times the norm is set to 1e-6 times the norm.
    """
    x, y = two_sets(x, y)
    return _bures_distances(x, y, polynomial.sqrt, polynomial.nuclear_norm, max_bytes)


def _single_pairs(distances, x, y):
    """Applies a function of two sets to single pairs. The matrices `(..., n, n)` are broadcast, and
    the distances have shape `(...)`."""
    x, y = broadcast_together(x, y)
    return distances(x[..., None, :, :], y[..., None, :, :])[..., 0, 0]


def _affine_distances(x, y):
    """Computes distances `(..., n, m)` between matrices `(..., n, size, size)` and
    `(..., m, size, size)`.

    With Cholesky factors `x = A A'` and `y = B B'`, the eigenvalues l of `x^-1 y` are the squares
    of the singular values of `A^-1 B`. The singular values are computed as the lengths of the rows
    of `U' A^-1 B`, where the columns of U are the eigenvectors of `A^-1 y A^-T`. In float64, the
    singular values are accurate to 1e-8 if l spans 16 powers of ten. Computing in float32 would be
    less accurate: at condition number 1e5, rounding the Cholesky factors to float32 would cause an
    error of 1e-4.

    The squared distance depends only on the eigenvalues, so its gradient needs no difference
    quotients and no derivative of the Cholesky factors. With the singular value decomposition
    `A^-1 B = U S V'`, the gradient is `2 B^-T V diag(log l) V' B^-1` in y and
    `-2 A^-T U diag(log l) U' A^-1` in x.
    """
    limit = condition_limit(x.dtype)

    @in_float64
    @ops.custom_gradient
    def of_sets(x, y):
        (x, regular_x), (y, regular_y) = (definite_or_identity(side, limit) for side in (x, y))
        factor = cholesky(y)
        inverse = inverse_lower(cholesky(x))
        quotient = ops.matmul(inverse[..., None, :, :], factor[..., None, :, :, :])  # each pair
        _, left = eigh(ops.matmul(quotient, transposed(quotient)))
        right = ops.matmul(transposed(left), quotient)  # S V', the rows of U' A^-1 B
        values = ops.sum(right * right, axis=-1)  # (..., n, m, size)
        logs = ops.log(values)
        distances = ops.sqrt(ops.sum(logs * logs, axis=-1))  # (..., n, m)
        distances = ops.where(_in_pairs(regular_x, regular_y), distances, np.nan)

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            # Blocks are padded with zero matrices. For the distances of zero matrices, the upstream
            # gradient is 0.
            slope = ops.where(ops.equal(upstream, 0), 0, divide(upstream, distances))
            slope = logs * slope[..., None]
            in_x = ops.sum(composed(left, slope), axis=-3)
            in_y = ops.sum(composed(transposed(right), slope / values), axis=-4)
            return (
                -congruence(transposed(inverse), in_x),
                congruence(transposed(inverse_lower(factor)), in_y),
            )

        return distances, gradient

    return of_sets(x, y)


def _stein_distances(x, y):
    """Computes Stein distances between two sets. Shapes are the same as in `_affine_distances`."""
    limit = condition_limit(x.dtype)

    @in_float64
    def of_sets(x, y):
        (x, regular_x), (y, regular_y) = (definite_or_identity(side, limit) for side in (x, y))
        middle = _log_determinant((x[..., None, :, :] + y[..., None, :, :, :]) / 2)
        total = _log_determinant(x)[..., None] + _log_determinant(y)[..., None, :]
        squared = ops.maximum(middle - total / 2, 0)
        return ops.where(_in_pairs(regular_x, regular_y), root(squared, 2), np.nan)

    return of_sets(x, y)


def _precise_log(x):
    """Computes `log(x)` in float64, shape `(..., n, n)`."""
    floor = functools.partial(rounding, dtype=x.dtype)
    return in_float64(lambda x: spectral_function(LOG, x, floor))(x)


def _in_pairs(x, y):
    """Combines every boolean of `x`, shape `(..., n)`, with every boolean of `y`, shape `(..., m)`,
    by `and`. Returns booleans `(..., n, m)`."""
    return ops.logical_and(x[..., None], y[..., None, :])


@ops.custom_gradient
def _log_determinant(x):
    """Computes `log det x`, shape `(...)`, of matrices `(..., n, n)`. The gradient is the inverse
    of x."""
    factor = cholesky(x)

    def gradient(*args, upstream=None):
        if upstream is None:
            (upstream,) = args
        inverse_factor = inverse_lower(factor)
        inverse = ops.matmul(transposed(inverse_factor), inverse_factor)
        return upstream[..., None, None] * inverse

    return 2 * ops.sum(ops.log(ops.diagonal(factor, axis1=-2, axis2=-1)), axis=-1), gradient


def _bures_distances(x, y, root_of, norm_of, max_bytes):
    x, y = root_of(x), root_of(y)
    norms = in_blocks(
        lambda block, y: norm_of(ops.matmul(block[:, None], y[None])), x, y, max_bytes
    )
    return _bures(_square_sum(x)[:, None], _square_sum(y)[None], norms, x.shape[-1])


def _bures(in_x, in_y, norm, size):
    """Computes Bures-Wasserstein distances from the squared norms of `x^(1/2)` and `y^(1/2)`, and
    from the nuclear norm of `x^(1/2) y^(1/2)`. The nuclear norm equals
    `tr((x^(1/2) y x^(1/2))^(1/2))`."""
    traces = in_x + in_y
    square = traces - 2 * norm
    epsilon = float(np.finfo(keras.backend.standardize_dtype(traces.dtype)).eps)
    # `sqrt` may replace all `size` eigenvalues by the rounding error.
    lost = square <= (BURES_ROUNDINGS + size) * epsilon * traces
    return root(ops.where(lost, 0, square), 2)


def _square_sum(x):
    return ops.sum(x * x, axis=(-2, -1))


def _norm(gap):
    return root(ops.sum(gap * gap, axis=-1), 2)
