"""Functions that compute and check covariance matrices in double precision."""

from __future__ import annotations

import numpy as np

from tfds_builders.common.errors import FormatError

JITTER = 1e-6
ASYMMETRY = 1e-6  # fraction of the largest entry; rounding errors are smaller
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


def covariance(sequence: np.ndarray, jitter: float, *, name: str) -> np.ndarray:
    """Returns the sample covariance of the channels, with `jitter` added to make it positive
    definite.

    Args:
        sequence: Signal of shape (T, C).
        jitter: Amount added to the diagonal, as a fraction of the mean variance. Without jitter,
            the matrix is singular if the signal has fewer than C + 1 time steps or linearly
            dependent channels.
        name: Name of the recording, for error messages.

    Returns:
        Symmetric float64 matrix of shape (C, C), in squared units of the signal.

    Raises:
        FormatError: If the signal has only one time step, or if all its channels are constant.
    """
    centered = sequence - np.mean(sequence, axis=0, dtype=np.float64)  # (T, C)
    matrix = centered.T @ centered / max(1, len(sequence) - 1)
    variance = np.trace(matrix) / len(matrix)
    if not variance > 0:
        raise FormatError(
            name, "", f"all channels are constant over {len(sequence)} steps",
            "a signal with a variance", "Leave the recording out.",
        )  # fmt: skip
    return (matrix + matrix.T) / 2 + jitter * variance * np.eye(len(matrix))


def symmetric(matrix: np.ndarray, *, name: str) -> np.ndarray:
    """Converts a matrix from a file to a real symmetric float64 matrix. The function does not check
    the eigenvalues.

    Args:
        matrix: Square matrix of real or complex numbers. The imaginary parts may differ from 0 only
            by rounding errors.
        name: Name of the file, for error messages.

    Raises:
        FormatError: If the matrix is not square, if it is not finite, if it is not real, or if it
            is not symmetric. The matrix and its transpose may differ by up to 1e-6 of the largest
            entry.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        received = f"the matrix has the shape {matrix.shape}"
        raise FormatError(name, "", received, "a square matrix", _FIX)
    if not np.isfinite(matrix).all():
        received = "the matrix contains NaN or an infinity"
        raise FormatError(name, "", received, "finite numbers", _FIX)
    real = matrix.real.astype(np.float64)
    rounding = ASYMMETRY * np.abs(real).max()
    if np.abs(matrix.imag).max() > rounding:
        raise FormatError(name, "", "the matrix is complex", "real numbers", _FIX)
    with np.errstate(over="ignore"):
        gap = np.abs(real - real.T).max()
    if gap > rounding:
        received = f"the matrix differs from its transpose by up to {gap:g}"
        raise FormatError(name, "", received, "a symmetric matrix", _FIX)
    return real / 2 + real.T / 2
