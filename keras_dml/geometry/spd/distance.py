"""Distances between SPD matrices: affine-invariant (Kim2020, Eq. 5), log-Euclidean (Kim2020, Eq.
4), Stein (Sra2012), Bures-Wasserstein (Bhatia2019).

All are computed in float64 also for float32 matrices. At condition 1e5, float32 loses 1e-4 of a
distance (log-Euclidean, Stein) or up to a fifth of it (affine-invariant), and the squares in the
Bures-Wasserstein distance overflow or underflow.

The distance of equal matrices is 0. Its gradient does not exist there and is set to 0.
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

BURES_ROUNDINGS = 16  # machine epsilons of the traces; at most 6 between equal 2 x 2 matrices


def affine_invariant(x: Tensor, y: Tensor) -> Tensor:
    """Computes the affine-invariant distance, the root of `sum(log(l)^2)` over the eigenvalues l of
    `x^-1 y` (Kim2020, Eq. 5).

    The distance is also known as the affine-invariant Riemannian metric (AIRM) or the geodesic
    distance. It is invariant under `x, y -> P x P', P y P'` and under inversion of both matrices.

    Args:
        x: Positive definite matrices, shape `(..., n, n)`.
        y: Positive definite matrices, broadcastable to `x`.

    Returns:
        Distances, shape `(...)`, without unit (logarithms of ratios). NaN if a matrix is not
        positive definite, or if its condition number exceeds 2e6 in float32 or 1e13 in float64.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    return _single_pairs(_affine_distances, x, y)


def affine_invariant_pairwise(
    x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES
) -> Tensor:
    """Computes all affine-invariant distances between two sets (Kim2020, Eq. 5).

    Takes an eigendecomposition for each pair.

    Args:
        x: Positive definite matrices, shape `(n, size, size)`.
        y: Positive definite matrices, shape `(m, size, size)`.
        max_bytes: Largest size of one block of pairs. The backward pass decomposes the matrices of
            each block again. None: one block for all pairs, which trains faster.

    Returns:
        Distances, shape `(n, m)`; NaN as in `affine_invariant`.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    return in_blocks(_affine_distances, *two_sets(x, y), max_bytes)


def log_euclidean(x: Tensor, y: Tensor) -> Tensor:
    """Computes the log-Euclidean distance, `|log(x) - log(y)|` (Kim2020, Eq. 4).

    It is invariant under rotation, common scale and inversion of both matrices, and at most the
    affine-invariant distance.

    Args:
        x: Positive definite matrices, shape `(..., n, n)`.
        y: Positive definite matrices, broadcastable to `x`.

    Returns:
        Distances, shape `(...)`, without unit. NaN if a matrix is not finite. Singular matrices are
        treated as in `log`.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    x, y = match_sizes(x, y)
    return _norm(vectorize(_precise_log(x)) - vectorize(_precise_log(y)))


def log_euclidean_pairwise(x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES) -> Tensor:
    """Computes all log-Euclidean distances between two sets (Kim2020, Eq. 4), with one logarithm
    per matrix.

    Args:
        x: Positive definite matrices, shape `(n, size, size)`.
        y: Positive definite matrices, shape `(m, size, size)`.
        max_bytes: Largest size of one block of differences; None: all pairs at once.

    Returns:
        Distances, shape `(n, m)`.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    x, y = (vectorize(_precise_log(side)) for side in two_sets(x, y))
    return in_blocks(lambda block, y: _norm(block[:, None] - y[None]), x, y, max_bytes)


def stein(x: Tensor, y: Tensor) -> Tensor:
    """Computes the Stein distance, the root of `log det((x + y) / 2) - log det(x y) / 2` (Sra2012).

    It is a metric with the invariances of the affine-invariant distance. It is computed from
    determinants; eigenvalues serve only to find singular matrices. Determinants cancel, so a
    distance below about 1e-7 is rounding error.

    Args:
        x: Positive definite matrices, shape `(..., n, n)`.
        y: Positive definite matrices, broadcastable to `x`.

    Returns:
        Distances, shape `(...)`, without unit; NaN as in `affine_invariant`.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    return _single_pairs(_stein_distances, x, y)


def stein_pairwise(x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES) -> Tensor:
    """Computes all Stein distances between two sets (Sra2012), with one Cholesky factor per matrix
    and one per pair.

    Args:
        x: Positive definite matrices, shape `(n, size, size)`.
        y: Positive definite matrices, shape `(m, size, size)`.
        max_bytes: Largest size of one block of sums; None: all pairs at once.

    Returns:
        Distances, shape `(n, m)`; NaN as in `stein`.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """
    return in_blocks(_stein_distances, *two_sets(x, y), max_bytes)


def bures_wasserstein(x: Tensor, y: Tensor) -> Tensor:
    """Computes the Bures-Wasserstein distance, the root of `tr x + tr y - 2 tr((x^(1/2) y
    x^(1/2))^(1/2))` (Bhatia2019, Eq. 1).

    It is the 2-Wasserstein distance between centered normal distributions with these covariances,
    and invariant under rotation of both. The distance to a singular matrix is finite. The traces
    cancel, so a squared distance below `16 + n` machine epsilons (of float64) of their sum counts
    as 0. The distance of `c x` and `c y` is the root of c times the distance of x and y, for
    matrices in any unit whose entries fit their dtype, in float32 between about 1e-30 and 1e30.

    Args:
        x: Positive semidefinite matrices, shape `(..., n, n)`. Negative eigenvalues are treated as
            in `sqrt`, so the distance is computed from the positive part.
        y: Positive semidefinite matrices, broadcastable to `x`.

    Returns:
        Distances, shape `(...)`, in the root of the unit of `x`. For covariances that is the unit
        of the signals. NaN if a matrix is not finite.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """

    @in_float64
    def of_pairs(x, y):
        x, y = sqrt(x), sqrt(y)
        return _bures(_square_sum(x), _square_sum(y), nuclear_norm(ops.matmul(x, y)), x.shape[-1])

    return of_pairs(*match_sizes(x, y))


def bures_wasserstein_pairwise(
    x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES
) -> Tensor:
    """Computes all Bures-Wasserstein distances between two sets (Bhatia2019, Eq. 1).

    Takes an eigendecomposition for each pair.

    Args:
        x: Positive semidefinite matrices, shape `(n, size, size)`.
        y: Positive semidefinite matrices, shape `(m, size, size)`.
        max_bytes: Largest size of one block of products; None: all pairs at once.

    Returns:
        Distances, shape `(n, m)`. See `bures_wasserstein` for the unit and indefinite matrices.

    Raises:
        ValueError: If the matrices are not square or of different sizes.
    """

    @in_float64
    def of_sets(x, y):
        return _bures_distances(x, y, sqrt, nuclear_norm, max_bytes)

    return of_sets(*two_sets(x, y))


def bures_wasserstein_by_polynomials(
    x: Tensor, y: Tensor, max_bytes: float | None = BLOCK_BYTES
) -> Tensor:
    """Computes `bures_wasserstein_pairwise` from matrix products, as a device computes it, without
    an eigendecomposition. Arguments and errors are the same.

    The lower limit of eigenvalues is 1e-6 of the norm, as in `polynomial.sqrt`.
    """
    x, y = two_sets(x, y)
    return _bures_distances(x, y, polynomial.sqrt, polynomial.nuclear_norm, max_bytes)


def _single_pairs(distances, x, y):
    """Applies a function of two sets to broadcast pairs, `(..., n, n)` to `(...)`."""
    x, y = broadcast_together(x, y)
    return distances(x[..., None, :, :], y[..., None, :, :])[..., 0, 0]


def _affine_distances(x, y):
    """Computes distances `(..., n, m)` between `(..., n, size, size)` and `(..., m, size, size)`.

    With Cholesky factors `x = A A'` and `y = B B'`, the eigenvalues l of `x^-1 y` are the squares
    of the singular values of `A^-1 B`. These are computed as the lengths of the rows of
    `U' A^-1 B`, where U are the eigenvectors of `A^-1 y A^-T`. In float64 they are exact to 1e-8 if
    l spans 16 powers of ten. In float32 the factors alone lose 1e-4 at condition 1e5.

    The squared distance is a function of the eigenvalues alone, so its gradient needs no difference
    quotients and no derivative of the factors. With the singular vectors `A^-1 B = U S V'` the
    gradient is `2 B^-T V diag(log l) V' B^-1` in y and `-2 A^-T U diag(log l) U' A^-1` in x.
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
            # Blocks are padded with zero matrices, whose upstream gradient is 0.
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
    """Computes distances between two sets, with shapes as in `_affine_distances`."""
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
    """Computes `x and y` for all pairs of `(..., n)` and `(..., m)`, shape `(..., n, m)`."""
    return ops.logical_and(x[..., None], y[..., None, :])


@ops.custom_gradient
def _log_determinant(x):
    """Computes `log det x`, `(..., n, n)` to `(...)`, with the inverse as gradient."""
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
    """Computes distances from squared norms of square roots, because `tr((x^(1/2) y
    x^(1/2))^(1/2))` is the nuclear norm of `x^(1/2) y^(1/2)`."""
    traces = in_x + in_y
    square = traces - 2 * norm
    epsilon = float(np.finfo(keras.backend.standardize_dtype(traces.dtype)).eps)
    # `sqrt` may raise `size` eigenvalues.
    lost = square <= (BURES_ROUNDINGS + size) * epsilon * traces
    return root(ops.where(lost, 0, square), 2)


def _square_sum(x):
    return ops.sum(x * x, axis=(-2, -1))


def _norm(gap):
    return root(ops.sum(gap * gap, axis=-1), 2)
