"""Computes orthonormal frames. A frame is a matrix W `(rows, columns)` with `W'W = I`, and all
frames of one shape form the Stiefel manifold."""

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import at_least_float32
from keras_dml.geometry.spd.functions import inverse_sqrt
from keras_dml.geometry.spd.matrices import transposed


def polar(w: Tensor) -> Tensor:
    """Computes the polar factor `W (W'W)^(-1/2)`, the orthonormal frame closest to a matrix.

    After a gradient step from a frame, the polar factor turns the result into a frame again. To
    first order, these two operations equal a Riemannian gradient step.

    Args:
        w: Matrices with full column rank, shape `(..., rows, columns)` with `columns <= rows`.

    Returns:
        Frames, same shape, float32 or wider.

    Raises:
        ValueError: If there are more columns than rows.
    """
    w = _tall("w", at_least_float32(w))
    return ops.matmul(w, inverse_sqrt(ops.matmul(transposed(w), w)))


def qr(w: Tensor) -> Tensor:
    """Computes the orthonormal frame Q of a QR decomposition in which R has a positive diagonal.

    Args:
        w: Matrices with full column rank, shape `(..., rows, columns)` with `columns <= rows`.

    Returns:
        Frames Q with the same column space and shape as `w`, float32 or wider.

    Raises:
        ValueError: If there are more columns than rows.
    """
    frame, triangle = ops.linalg.qr(_tall("w", at_least_float32(w)))
    signs = ops.sign(ops.diagonal(triangle, axis1=-2, axis2=-1))
    return frame * signs[..., None, :]


def random(shape: tuple[int, int], seed: int | keras.random.SeedGenerator | None = None) -> Tensor:
    """Draws a random orthonormal frame from the uniform distribution (Haar measure).

    Args:
        shape: `(rows, columns)` with `columns <= rows`.
        seed: Integer or `keras.random.SeedGenerator`.

    Returns:
        Frame, shape `(rows, columns)`, float32.

    Raises:
        ValueError: If there are more columns than rows.
    """
    return qr(keras.random.normal(shape, dtype="float32", seed=seed))


def _tall(name, w):
    if len(w.shape) < 2 or w.shape[-1] > w.shape[-2]:
        raise ValueError(
            f"`{name}` must have shape (..., rows, columns), with at most as many columns as rows, "
            f"because its columns are orthonormal. Received shape {tuple(w.shape)}."
        )
    return w
