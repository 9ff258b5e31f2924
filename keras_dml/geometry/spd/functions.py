"""Computes functions of symmetric matrices, with the exact derivative of Daleckii and Krein.

For a matrix `X = U L U'`, the matrix function is `Y = U f(L) U'`. If X changes by G, Y changes by
`U (D * (U' G U)) U'` to first order, where D contains the difference quotients of f at the
eigenvalues L. The derivative is implemented as a custom gradient because automatic differentiation
of an eigensolver divides by differences of eigenvalues. If two eigenvalues are equal, the division
by their difference gives NaN in JAX. In TensorFlow, the division gives a gradient with an error of
57 %. Rectified matrices have equal eigenvalues by construction. Second derivatives are not
available.
"""

import numbers
from collections.abc import Callable
from typing import Any

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import divide
from keras_dml.geometry.spd import divided_differences as differences
from keras_dml.geometry.spd.matrices import (
    composed,
    congruence,
    eigh,
    rounding,
    square_matrices,
    symmetric_part,
    transposed,
)


def symmetric(x: Tensor) -> Tensor:
    """Computes `(x + x') / 2`, shape `(..., n, n)`.

    Raises:
        ValueError: If the matrices are not square.
    """
    return symmetric_part(square_matrices("x", x))


def log(x: Tensor) -> Tensor:
    """Computes the matrix logarithm.

    The rounding error is machine epsilon times the largest eigenvalue. An eigenvalue below the
    rounding error is replaced by the rounding error and has derivative 0. So the logarithm of a
    singular matrix is finite. `rectify_log` takes the lower limit of the eigenvalues as an
    argument.

    Args:
        x: Symmetric positive definite matrices, shape `(..., n, n)`. The symmetric part is used.

    Returns:
        Symmetric matrices, shape `(..., n, n)`, float32 or wider. The result is NaN if `x` is not
        finite.

    Raises:
        ValueError: If the matrices are not square.
    """
    return spectral_function(differences.LOG, x, rounding)


def exp(x: Tensor) -> Tensor:
    """Computes the matrix exponential.

    Args:
        x: Symmetric matrices, shape `(..., n, n)`. The symmetric part is used.

    Returns:
        Symmetric matrices, shape `(..., n, n)`, float32 or wider. The result is NaN if `x` is not
        finite.

    Raises:
        ValueError: If the matrices are not square.
    """
    return spectral_function(differences.EXP, x)


def sqrt(x: Tensor) -> Tensor:
    """Computes the symmetric square root. Arguments, result and errors are the same as in `log`."""
    return spectral_function(differences.SQRT, x, rounding)


def inverse_sqrt(x: Tensor) -> Tensor:
    """Computes the inverse of the symmetric square root. Arguments, result and errors are the same
    as in `log`."""
    return spectral_function(differences.INVERSE_SQRT, x, rounding)


def power(x: Tensor, exponent: Tensor | float) -> Tensor:
    """Computes the matrix power. Result and errors are the same as in `log`.

    Args:
        x: Symmetric positive definite matrices, shape `(..., n, n)`.
        exponent: Exponent, a number or a tensor that broadcasts with the leading axes of `x`. The
            exponent has no gradient.
    """
    x = square_matrices("x", x)
    if not isinstance(exponent, (int, float)):
        exponent = ops.stop_gradient(ops.cast(exponent, x.dtype))[..., None, None]
        x = x + ops.zeros_like(exponent)  # one matrix for each exponent
    return spectral_function(differences.power(exponent), x, rounding)


def rectify(x: Tensor, epsilon: float) -> Tensor:
    """Replaces eigenvalues L below epsilon by epsilon, and returns `U max(L, epsilon) U'` (ReEig
    layer of Huang2017).

    Singular and indefinite matrices become positive definite. If a stack of matrices has no
    eigenvalue below epsilon, it is returned unchanged. An eigenvalue equal to epsilon has
    derivative 0.

    Args:
        x: Symmetric matrices, shape `(..., n, n)`. The symmetric part is used.
        epsilon: Smallest eigenvalue of the result, a positive number in the unit of `x`.

    Returns:
        Matrices, shape `(..., n, n)`, float32 or wider. The result is NaN if `x` is not finite.

    Raises:
        ValueError: If the matrices are not square or epsilon is not positive.
    """
    epsilon = check_epsilon(epsilon)

    @ops.custom_gradient
    def of_matrix(x):
        x = symmetric_part(x)
        values, vectors = eigh(x)
        above = ops.all(values > epsilon)  # whether the whole batch stays unchanged

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return ops.cond(
                above,
                lambda: symmetric_part(upstream),
                lambda: derivative(differences.IDENTITY, values, vectors, upstream, epsilon),
            )

        def rectified():
            # At condition number 1e5, the asymmetry of the product alone changes distances by 1e-4.
            return symmetric_part(composed(vectors, ops.maximum(values, epsilon)))

        return ops.cond(above, lambda: x, rectified), gradient

    return of_matrix(square_matrices("x", x))


def rectify_log(x: Tensor, epsilon: float) -> Tensor:
    """Computes `log(rectify(x, epsilon))` with one eigendecomposition. Arguments and errors are the
    same as in `rectify`."""
    return spectral_function(differences.LOG, x, check_epsilon(epsilon))


def nuclear_norm(x: Tensor) -> Tensor:
    """Computes the nuclear norm, the sum of the singular values. The gradient is the polar factor.

    In float32, the relative error of the sum is up to 7e-5 if the singular values span six powers
    of ten.

    Args:
        x: Matrices, shape `(..., n, n)`, symmetric or not.

    Returns:
        Norms, shape `(...)`, float32 or wider. The result is NaN if `x` is not finite.

    Raises:
        ValueError: If the matrices are not square.
    """

    @ops.custom_gradient
    def of_matrix(x):
        scale = ops.max(ops.abs(x), axis=(-2, -1), keepdims=True, initial=0)
        x = divide(x, scale)  # squares of x could overflow or underflow in float32
        # With x x' = U L U', the singular values are the lengths of the rows of U'x. The singular
        # values are also the square roots of L, but the square roots lose digits if x is singular.
        # An SVD in TensorFlow takes four times as long.
        _, vectors = eigh(symmetric_part(ops.matmul(x, transposed(x))))
        rows = ops.matmul(transposed(vectors), x)
        lengths = ops.sqrt(ops.sum(rows * rows, axis=-1))

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            polar = ops.matmul(vectors, divide(rows, lengths[..., None]))
            return upstream[..., None, None] * polar

        return scale[..., 0, 0] * ops.sum(lengths, axis=-1), gradient

    return of_matrix(square_matrices("x", x))


def check_epsilon(epsilon: float) -> float:
    """Checks the argument `epsilon` of `rectify`, and returns a float.

    Raises:
        ValueError: If `epsilon` is not a positive number.
    """
    if not (isinstance(epsilon, numbers.Real) and 0 < epsilon < float("inf")):
        raise ValueError(
            "`epsilon` is the smallest allowed eigenvalue and must be a positive number, in the "
            f"unit of the matrices. Received {epsilon!r}."
        )
    return float(epsilon)


def spectral_function(
    function: differences.Function, x: Tensor, floor: Callable[..., Any] | float | None = None
) -> Tensor:
    """Computes `U f(max(L, floor)) U'` for matrices `U L U'`, with the exact derivative as a custom
    gradient.

    Args:
        function: A `Function` of `divided_differences`.
        x: Matrices, shape `(..., n, n)`. The symmetric part is used.
        floor: Number, or function that maps eigenvalues `(..., n)` to floors `(..., 1)`. Default:
            no floor.
    """

    @ops.custom_gradient
    def of_matrix(x):
        values, vectors = eigh(symmetric_part(x))

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return derivative(function, values, vectors, upstream, floor)

        return value(function, values, vectors, floor), gradient

    return of_matrix(square_matrices("x", x))


def value(
    function: differences.Function,
    values: Tensor,
    vectors: Tensor,
    floor: Callable[..., Any] | float | None = None,
    product: Callable[..., Any] = ops.matmul,
) -> Tensor:
    """Computes `U f(max(L, floor)) U'`, shape `(..., n, n)`, from eigenvalues L and eigenvectors U.
    Arguments are the same as in `derivative`."""
    column = values[..., None]
    if floor is not None:
        column = ops.maximum(column, _floors(floor, values))
    return composed(vectors, function.value(column)[..., 0], product)


def derivative(
    function: differences.Function,
    values: Tensor,
    vectors: Tensor,
    upstream: Tensor,
    floor: Callable[..., Any] | float | None = None,
    product: Callable[..., Any] = ops.matmul,
) -> Tensor:
    """Computes the gradient of `sum(upstream * U f(max(L, floor)) U')` with respect to x, shape
    `(..., n, n)`.

    Args:
        function: A `Function` of `divided_differences`.
        values: Eigenvalues L of x, shape `(..., n)`.
        vectors: Eigenvectors U of x, shape `(..., n, n)`.
        upstream: Gradient with respect to the result, shape `(..., n, n)`.
        floor: Lower limit of the eigenvalues, as in `spectral_function`.
        product: Function that multiplies two stacks of matrices.
    """
    column = values[..., None]
    quotients = differences.quotients(function, column, transposed(column), _floors(floor, values))
    inner = congruence(transposed(vectors), symmetric_part(upstream), product)
    return congruence(vectors, quotients * inner, product)


def _floors(floor, values):
    return floor(values)[..., None] if callable(floor) else floor
