"""Computes means of SPD matrices, and geodesics between SPD matrices (Kim2020, Eqs. 7 and 21)."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import ops
from keras_dml._backend.precision import in_float64
from keras_dml._backend.values import concrete
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry.spd.functions import exp, inverse_sqrt, log, power, sqrt
from keras_dml.geometry.spd.matrices import congruence, square_matrices
from keras_dml.geometry.spd.pairs import check_leading, match_sizes
from keras_dml.geometry.weights import normalized, normalized_tensor

TINY = 1e-8  # smallest logarithm x; x / tanh(x) then rounds to 1


def geodesic(x: Tensor, y: Tensor, t: Tensor | float) -> Tensor:
    """Computes the point at fraction `t` of the affine-invariant geodesic from `x` to `y` (Kim2020,
    Eq. 21).

    The point is `x^(1/2) (x^(-1/2) y x^(-1/2))^t x^(1/2)`. The distance from `x` to the point at
    fraction t is `|t|` times the distance from `x` to `y`.

    Args:
        x: Positive definite matrices, shape `(..., n, n)`.
        y: Positive definite matrices, broadcastable to `x`.
        t: Fraction of the geodesic, a number or a tensor that broadcasts with the leading axes. The
            fraction has no gradient. For 0 the result is `x`, and for 1 the result is `y`. Numbers
            outside [0, 1] extend the geodesic.

    Returns:
        Matrices, shape `(..., n, n)`, float32 or wider.

    Raises:
        TypeError: If `t` is not a number.
        ValueError: If the matrices are not square or have different sizes, or if the leading axes
            of `x`, `y` and `t` do not broadcast.
    """
    x, y = match_sizes(x, y)
    t = t if ops.is_tensor(t) else real("`t`", t, np.float64)
    check_leading(x=x.shape[:-2], y=y.shape[:-2], t=t.shape)
    return in_float64(_geodesic)(x, y, ops.convert_to_tensor(t, x.dtype))


def _geodesic(x, y, t):
    return congruence(sqrt(x), power(congruence(inverse_sqrt(x), y), t))


def log_euclidean_mean(x: Tensor, weights: ArrayLike | None = None) -> Tensor:
    """Computes the log-Euclidean mean, `exp(sum(w log(x)))`.

    Args:
        x: Positive definite matrices, shape `(..., count, n, n)`.
        weights: Non-negative weights, shape `(..., count)`. The weights are scaled so that their
            sum is 1. Default: equal weights.

    Returns:
        Matrices, shape `(..., n, n)`, float32 or wider. If the weights are invalid, an eager call
        raises an error, and a compiled step returns NaN.

    Raises:
        TypeError: If the weights are not real numbers.
        ValueError: If the matrices are not square, if `x` is empty, or if the weights do not fit
            the other arguments.
    """
    x = square_matrices("x", x)
    if len(x.shape) < 3 or x.shape[-3] == 0:
        raise ValueError(
            "`x` must hold at least one matrix, shape (..., count, n, n). Received shape "
            f"{tuple(x.shape)}."
        )
    logs = log(x)
    weights = normalized_tensor(weights, logs[..., 0, 0], "matrices")
    return exp(ops.sum(weights[..., None, None] * logs, axis=-3))


def karcher_mean(
    x: ArrayLike, weights: ArrayLike | None = None, tolerance: float = 1e-9, max_steps: int = 50
) -> np.ndarray:
    """Computes the Karcher mean (Fréchet or Frechet mean) of SPD matrices. The mean minimizes the
    weighted sum of squared affine-invariant distances to the matrices (Kim2020, Eq. 7).

    The iteration starts at the log-Euclidean mean. Each step is `M <- M^(1/2) exp(s J) M^(1/2)`,
    where J is the weighted mean of `log(M^(-1/2) x M^(-1/2))`. The distance between M and the true
    mean is at most the norm of J, because half the weighted sum of squared distances is 1-strongly
    convex. The iteration stops if the norm of J is at most the tolerance, so the tolerance bounds
    the error. The function uses NumPy in float64 on every backend. The mean has no gradient and
    cannot be computed in a compiled step.

    Erratum: Below Eq. 7, Kim2020 calls `N_I` the number of iterations, but `N_I` is the number of
    matrices.

    Args:
        x: Positive definite matrices, shape `(count, n, n)`.
        weights: Non-negative weights, shape `(count,)`. The weights are scaled so that their sum is
            1. Default: equal weights.
        tolerance: Largest allowed affine-invariant distance between the result and the true mean.
        max_steps: Largest number of steps. If the iteration does not reach the tolerance, a warning
            states the remaining error.

    Returns:
        NumPy array of shape `(n, n)`, float64.

    Raises:
        TypeError: If the weights are not real numbers.
        ValueError: If `x` is empty, if a matrix is not positive definite, or if the weights do not
            fit the other arguments.
    """
    x = _definite(x)
    weights = normalized(weights, len(x), "matrices")
    mean = spectral(np.exp, np.einsum("i,ijk->jk", weights, spectral(_log, x)))
    step = last = None
    for count in range(max_steps + 1):
        # The code uses a Cholesky factor instead of the square root of the mean. The iteration is
        # then the same, but in another orthogonal basis.
        factor = np.linalg.cholesky(mean)
        inverse = np.linalg.inv(factor)
        tangent, steepest = _tangent(inverse @ x @ inverse.T, weights)
        norm = np.linalg.norm(tangent)
        if norm > tolerance and count == max_steps:
            break
        slope = (1 + steepest) / 2
        if last is not None:  # step size of Barzilai1988
            slope = np.clip(np.vdot(step, last - tangent) / np.vdot(step, step), 1, steepest)
        step, last = tangent / slope, tangent
        mean = factor @ spectral(np.exp, step) @ factor.T
        mean = (mean + mean.T) / 2
        if norm <= tolerance:  # after this step the error is a fraction of the tolerance
            return mean
    warnings.warn(
        f"karcher_mean stopped after {max_steps} steps. Its result is within {norm:.3e} of the "
        f"mean, but the tolerance is {tolerance:.0e}. Rectify badly conditioned matrices, or allow "
        "more steps.",
        RuntimeWarning,
        stacklevel=2,
    )
    return mean


def spectral(function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    """Applies a function to the eigenvalues of symmetric matrices, shape `(..., n, n)`, with
    NumPy."""
    values, vectors = np.linalg.eigh((x + np.swapaxes(x, -1, -2)) / 2)
    return (vectors * function(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _tangent(white, weights):
    """Computes the mean of the logarithms, and an upper bound of the curvature. Let f be half the
    weighted sum of squared distances. The curvature is the largest second derivative of f along a
    geodesic. The smallest second derivative of f along a geodesic is 1 (Bini2013)."""
    values, vectors = np.linalg.eigh((white + np.swapaxes(white, 1, 2)) / 2)
    logs = _log(values)
    mean = np.einsum("i,ijm,im,ikm->jk", weights, vectors, logs, vectors, optimize=True)
    half = np.maximum((logs[:, -1] - logs[:, 0]) / 2, TINY)
    return mean, weights @ (half / np.tanh(half))


def _log(values):
    """Computes logarithms of ascending eigenvalues. Eigenvalues below the rounding error are
    replaced by the rounding error."""
    return np.log(np.maximum(values, np.finfo(np.float64).eps * values[..., -1:]))


def _definite(x):
    x = concrete(x) if ops.is_tensor(x) else x
    if x is None:
        raise ValueError(
            "`karcher_mean` cannot run in a compiled step, because it needs concrete values. "
            "Call it outside of compiled steps, or use `log_euclidean_mean`."
        )
    x = np.asarray(x, np.float64)
    if x.ndim != 3 or x.shape[1] != x.shape[2] or not len(x):
        raise ValueError(
            f"`x` must hold at least one matrix, shape (count, n, n). Received shape {x.shape}."
        )
    x = (x + np.swapaxes(x, 1, 2)) / 2
    if not np.isfinite(x).all():
        raise ValueError("`x` holds matrices that are not finite. Remove these matrices first.")
    values = np.linalg.eigvalsh(x)
    singular = np.flatnonzero(values[:, 0] <= np.finfo(np.float64).eps * values[:, -1])
    if len(singular):
        raise ValueError(
            f"`x` must hold positive definite matrices. Received {len(singular)} matrices with an "
            f"eigenvalue that is not positive, the first at index {singular[0]}. Apply "
            "`spd.rectify(x, epsilon)` first."
        )
    return x
