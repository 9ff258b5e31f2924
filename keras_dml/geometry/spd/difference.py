"""Computes symmetric matrices whose norm is the distance between two SPD matrices, with NumPy in
float64.

The sum of the squared entries of the symmetric matrix is the squared distance. Each squared entry
shows how much a pair of channels contributes to the squared distance. If the two SPD matrices are
exchanged, the sign of the result changes. If the two SPD matrices are rotated, the result is
rotated in the same way. Therefore, the contributions do not depend on the basis in which a network
represents its channels.
"""

import numpy as np

from keras_dml.geometry.spd.mean import spectral


def log_euclidean_difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Computes `log(y) - log(x)`, whose norm is the log-Euclidean distance (Kim2020, Eq. 4).

    Args:
        x: Positive definite matrix, shape `(n, n)`.
        y: Positive definite matrix, same shape.

    Returns:
        Symmetric matrix without a unit, shape `(n, n)`.

    Example:
        >>> log_euclidean_difference(np.eye(2), np.diag([np.e, 1.0])).round(4)
        array([[1., 0.],
               [0., 0.]])
    """
    return logarithm(y) - logarithm(x)


def affine_invariant_difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Computes `2 log(m^(-1/2) y m^(-1/2))` at the midpoint m of the geodesic from x to y. The norm
    of the result is the affine-invariant distance (Kim2020, Eq. 5).

    Args:
        x: Positive definite matrix, shape `(n, n)`.
        y: Positive definite matrix, same shape.

    Returns:
        Symmetric matrix without a unit, shape `(n, n)`.

    Example:
        >>> affine_invariant_difference(np.eye(2), np.diag([np.e, 1.0])).round(4)
        array([[1., 0.],
               [0., 0.]])
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    root, inverse = spectral(np.sqrt, x), spectral(_inverse_sqrt, x)
    middle = root @ spectral(np.sqrt, inverse @ y @ inverse) @ root
    inverse = spectral(_inverse_sqrt, middle)
    return 2 * spectral(np.log, inverse @ y @ inverse)


def _inverse_sqrt(values):
    return values**-0.5


def logarithm(x: np.ndarray) -> np.ndarray:
    """Computes matrix logarithms in float64.

    Args:
        x: Symmetric matrices, shape `(..., n, n)`. As in `spd.log`, an eigenvalue below the
            rounding error of the dtype is replaced by the rounding error.

    Returns:
        Symmetric matrices, shape `(..., n, n)`.
    """
    epsilon = np.finfo(np.asarray(x).dtype).eps
    return spectral(
        lambda values: np.log(np.maximum(values, epsilon * values[..., -1:])),
        np.asarray(x, np.float64),
    )
