"""Functions of symmetric matrices, with the exact derivative of Daleckii and Krein.

`Y = U f(L) U'` has the derivative `U (D * (U' G U)) U'`, with D the difference quotients of f at
the eigenvalues. It is written by hand because autodiff through an eigensolver divides by
differences of eigenvalues: NaN where two coincide (JAX), wrong by 57 % there (TensorFlow), and
rectified matrices have coinciding ones by construction. The first derivative only.
"""

import numbers

from keras_dml._backend import ops
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


def symmetric(x):
    """`(x + x') / 2`, shape `(..., n, n)`.

    Raises:
        ValueError: If the matrices are not square.
    """
    return symmetric_part(square_matrices("x", x))


def log(x):
    """Matrix logarithm.

    Eigenvalues below rounding (machine epsilon times the largest) count as rounding, with
    derivative 0: a singular matrix has a finite logarithm. To choose the smallest eigenvalue, use
    `rectify_log`.

    Args:
        x: Symmetric positive definite matrices, shape `(..., n, n)`; the symmetric part is taken.

    Returns:
        Symmetric matrices, shape `(..., n, n)`, float32 or wider. NaN where `x` is not finite.

    Raises:
        ValueError: If the matrices are not square.
    """
    return of_eigenvalues(differences.LOG, x, rounding)


def exp(x):
    """Matrix exponential.

    Args:
        x: Symmetric matrices, shape `(..., n, n)`; the symmetric part is taken.

    Returns:
        Symmetric matrices, shape `(..., n, n)`, float32 or wider. NaN where `x` is not finite.

    Raises:
        ValueError: If the matrices are not square.
    """
    return of_eigenvalues(differences.EXP, x)


def sqrt(x):
    """Symmetric square root; arguments, result and errors as those of `log`."""
    return of_eigenvalues(differences.SQRT, x, rounding)


def inverse_sqrt(x):
    """Inverse of the symmetric square root; arguments, result and errors as those of `log`."""
    return of_eigenvalues(differences.INVERSE_SQRT, x, rounding)


def power(x, exponent):
    """Matrix power; arguments, result and errors as those of `log`.

    Args:
        x: Symmetric positive definite matrices, shape `(..., n, n)`.
        exponent: Number, or tensor that broadcasts with the leading axes of `x`; a constant of the
            gradient.
    """
    x = square_matrices("x", x)
    if not isinstance(exponent, (int, float)):
        exponent = ops.stop_gradient(ops.cast(exponent, x.dtype))[..., None, None]
        x = x + ops.zeros_like(exponent)  # a matrix for each exponent
    return of_eigenvalues(differences.power(exponent), x, rounding)


def rectify(x, epsilon):
    """Rectified eigenvalues, `U max(L, epsilon) U'` (ReEig; Huang2017).

    Singular and indefinite matrices become positive definite; stacks without an eigenvalue to lift
    come back as they are. An eigenvalue at epsilon has derivative 0.

    Args:
        x: Symmetric matrices, shape `(..., n, n)`; the symmetric part is taken.
        epsilon: Smallest eigenvalue of the result, positive, in the unit of `x`.

    Returns:
        Matrices, shape `(..., n, n)`, float32 or wider. NaN where `x` is not finite.

    Raises:
        ValueError: If the matrices are not square or epsilon is not positive.
    """
    epsilon = check_epsilon(epsilon)

    @ops.custom_gradient
    def of_matrix(x):
        x = symmetric_part(x)
        values, vectors = eigh(x)
        above = ops.all(values > epsilon)  # in the whole batch, where nothing is to be lifted

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return ops.cond(
                above,
                lambda: symmetric_part(upstream),
                lambda: derivative(differences.IDENTITY, values, vectors, upstream, epsilon),
            )

        def lifted():
            # At condition 1e5 the asymmetry of the product alone moves distances by 1e-4.
            return symmetric_part(composed(vectors, ops.maximum(values, epsilon)))

        return ops.cond(above, lambda: x, lifted), gradient

    return of_matrix(square_matrices("x", x))


def rectify_log(x, epsilon):
    """`log(rectify(x, epsilon))` in one eigendecomposition; arguments and errors as those of
    `rectify`."""
    return of_eigenvalues(differences.LOG, x, check_epsilon(epsilon))


def nuclear_norm(x):
    """Sum of the singular values; the gradient is the polar factor.

    In float32 up to 7e-5 of the sum too large where singular values span six powers of ten.

    Args:
        x: Matrices, shape `(..., n, n)`, symmetric or not.

    Returns:
        Norms, shape `(...)`, float32 or wider. NaN where `x` is not finite.

    Raises:
        ValueError: If the matrices are not square.
    """

    @ops.custom_gradient
    def of_matrix(x):
        scale = ops.max(ops.abs(x), axis=(-2, -1), keepdims=True, initial=0)
        x = divide(x, scale)  # its squares leave float32 where it does not
        # With x x' = U L U' they are the lengths of the rows of U'x, which keep the digits that
        # roots of L lose where x is singular; an SVD takes TensorFlow four times as long.
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


def check_epsilon(epsilon):
    """The smallest eigenvalue of `rectify` as a float.

    Raises:
        ValueError: If it is not a positive number.
    """
    if not (isinstance(epsilon, numbers.Real) and 0 < epsilon < float("inf")):
        raise ValueError(
            "`epsilon` is the least eigenvalue and must be a positive number, in the unit of the "
            f"matrices. Received {epsilon!r}."
        )
    return float(epsilon)


def of_eigenvalues(function, x, floor=None):
    """`U f(max(L, floor)) U'` with its derivative.

    Args:
        function: A `Function` of `divided_differences`.
        x: Matrices, shape `(..., n, n)`; the symmetric part is taken.
        floor: None, a number, or a function from eigenvalues `(..., n)` to floors `(..., 1)`.
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


def value(function, values, vectors, floor=None, product=ops.matmul):
    """`U f(max(L, floor)) U'`, shape `(..., n, n)`; arguments as those of `derivative`."""
    column = values[..., None]
    kept = column if floor is None else ops.maximum(column, _floors(floor, values))
    return composed(vectors, function.value(kept)[..., 0], product)


def derivative(function, values, vectors, upstream, floor=None, product=ops.matmul):
    """Gradient in x of `sum(upstream * U f(max(L, floor)) U')`, shape `(..., n, n)`.

    Args:
        function: A `Function` of `divided_differences`.
        values: Eigenvalues L of x, shape `(..., n)`.
        vectors: Eigenvectors U of x, shape `(..., n, n)`.
        upstream: Gradient in the result, shape `(..., n, n)`.
        floor: See `of_eigenvalues`.
        product: Product of two stacks of matrices.
    """
    column = values[..., None]
    quotients = differences.quotients(function, column, transposed(column), _floors(floor, values))
    inner = congruence(transposed(vectors), symmetric_part(upstream), product)
    return congruence(vectors, quotients * inner, product)


def _floors(floor, values):
    return floor(values)[..., None] if callable(floor) else floor
