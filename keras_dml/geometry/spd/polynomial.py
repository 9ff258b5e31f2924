"""Computes matrix functions for inference on devices, with only builtin TFLite operators and
without an eigendecomposition.

Rectification is `((X + e I) + |X - e I|) / 2` with `|Y| = Y sign(Y)`. The matrix sign and the
square root are computed by Newton-Schulz iterations with minimax quintics (`sign_polynomials`). The
logarithm is computed by inverse scaling and squaring, as eight times the logarithm of the matrix's
eighth root. The eighth root has eigenvalues in a narrow interval. In this interval, one Chebyshev
interpolant of the logarithm is accurate enough. All functions consist of products, sums and
scalings of matrices. On a device, a product of two 80 x 80 matrices takes 6 us, and an
eigendecomposition takes almost a millisecond. In training on batches, however, the eigensolver is
seven times as fast as the polynomials.

The backward pass computes the same exact gradients as `spd`, with the eigensolver. For eigenvalues
near epsilon, automatic differentiation of the products has an error of up to 2 %, and the
eigensolver's gradient has an error of 0.4 %.

`tests/geometry/spd/test_polynomial.py` compares results in float32 with results in float64, for
matrices with norm 1 and epsilon 1e-4. For these matrices, the error of an entry is 2e-7 after
rectification. The error of the logarithm is 1e-5 for condition numbers up to 1e3, and 1e-4 for
condition numbers up to 1e6. If matrices are singular or indefinite, the error of the logarithm is
4e-4, because float32 cannot represent the rectified eigenvalues more accurately. The errors of
rectification and logarithm grow with the norm. The figures above hold only for norms below 1e5
epsilon. Under `jax.jit`, simplifications by XLA increase the error of the logarithm from 1e-5 to
5e-4 at condition number 10. TensorFlow writes the model files for devices, and does not change the
order of operations.
"""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import divide
from keras_dml.geometry.spd import sign_polynomials as polynomials
from keras_dml.geometry.spd.divided_differences import IDENTITY, LOG, SQRT
from keras_dml.geometry.spd.functions import check_epsilon, derivative
from keras_dml.geometry.spd.matrices import eigh, square_matrices, symmetric_part, transposed

LOWEST = 1e-6  # fraction of the norm; for smaller eigenvalues sign and logarithm saturate
SQUARE_ROOTS = 3
LOG_DEGREE = 15  # must be 4 j - 1, for blocks of four coefficients
TINY = 1e-30  # added to norms, so that the zero matrix has a positive norm
SMALLEST = 1e-37  # smallest norm whose inverse float32 can represent


def rectify(x: Tensor, epsilon: float) -> Tensor:
    """Replaces eigenvalues below epsilon by epsilon. The function is the same as `spd.rectify`.

    Args:
        x: Symmetric matrices, shape `(..., n, n)`. The symmetric part is used.
        epsilon: Smallest eigenvalue of the result, a positive number in the unit of `x`.

    Returns:
        Positive definite matrices, same shape, float32 or wider. A matrix is NaN if `x` is not
        finite.

    Raises:
        ValueError: If the matrices are not square or epsilon is not positive.
    """
    epsilon = check_epsilon(epsilon)
    return _with_exact_gradient(lambda x: _rectified(x, epsilon), IDENTITY, x, epsilon)


def log(x: Tensor) -> Tensor:
    """Computes the same matrix logarithm as `spd.log`, except that an eigenvalue below 1e-6 times
    the norm is set to 1e-6 times the norm.

    Args:
        x: SPD matrices, shape `(..., n, n)`. The symmetric part is used.

    Returns:
        Symmetric matrices, shape `(..., n, n)`, float32 or wider. A matrix is NaN if `x` is not
        finite.

    Raises:
        ValueError: If the matrices are not square.
    """

    def forward(x):
        norm = _norm_of_any_unit(x)
        return _log_of_rectified(_rectified(x / norm, LOWEST)) + ops.log(norm) * _identity(x)

    return _with_exact_gradient(forward, LOG, x, _lowest)


def sqrt(x: Tensor) -> Tensor:
    """Computes the same symmetric square root as `spd.sqrt`, except that an eigenvalue below 1e-6
    times the norm is set to 1e-6 times the norm.

    Args:
        x: SPD matrices, shape `(..., n, n)`. The symmetric part is used.

    Returns:
        Square roots, same shape, float32 or wider. A matrix is NaN if `x` is not finite.

    Raises:
        ValueError: If the matrices are not square.
    """

    def forward(x):
        norm = _norm_of_any_unit(x)
        return ops.sqrt(norm) * _square_root(_rectified(x / norm, LOWEST), LOWEST**0.5)

    return _with_exact_gradient(forward, SQRT, x, _lowest)


def nuclear_norm(x: Tensor) -> Tensor:
    """Computes the sum of the singular values, as in `spd.nuclear_norm`, by the inner product of
    the matrix and its polar factor.

    A singular value below 1e-6 times the Frobenius norm is underestimated.

    Args:
        x: Matrices, shape `(..., n, n)`, symmetric or not.

    Returns:
        Norms, shape `(...)`, float32 or wider. The gradient of a norm is the polar factor. A norm
        is NaN if `x` is not finite.

    Raises:
        ValueError: If the matrices are not square.
    """

    @ops.custom_gradient
    def of_matrix(x):
        polar = _sign(x / _norm_of_any_unit(x), transposed)

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return upstream[..., None, None] * polar

        return ops.sum(x * polar, axis=(-2, -1)), gradient

    return of_matrix(square_matrices("x", x))


def rectify_log(x: Tensor, epsilon: float) -> Tensor:
    """Computes `log(rectify(x, epsilon))`. The function is the same as `spd.rectify_log`. Arguments
    and errors are the same as in `rectify`."""
    epsilon = check_epsilon(epsilon)
    return _with_exact_gradient(
        lambda x: _log_of_rectified(_rectified(x, epsilon)), LOG, x, epsilon
    )


def _with_exact_gradient(forward, function, x, floor):
    @ops.custom_gradient
    def of_matrix(x):
        x = symmetric_part(x)

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return derivative(function, *eigh(x), upstream, floor)

        return forward(x), gradient

    return of_matrix(square_matrices("x", x))


def _lowest(values):
    """Computes `LOWEST` times the Frobenius norm, shape `(..., 1)`, from eigenvalues `(..., n)`."""
    largest = ops.max(ops.abs(values), axis=-1, keepdims=True, initial=0)
    shares = divide(values, largest)
    norm = largest * ops.sqrt(ops.sum(shares * shares, axis=-1, keepdims=True))
    return ops.where(largest > 0, LOWEST * norm, 1)


def _rectified(x, epsilon):
    floor = epsilon * _identity(x)
    gap = x - floor
    return (x + floor + symmetric_part(gap @ _sign(gap / _norm(gap)))) / 2


def _sign(x, adjoint=lambda x: x):
    """Computes the matrix sign of symmetric matrices with eigenvalues in [-1, 1]. Each step takes
    three matrix products. To compute the polar factor of arbitrary matrices, pass a transposing
    function as `adjoint`."""
    for a, b, c in polynomials.steps(LOWEST, polynomials.FOLD):
        square = adjoint(x) @ x
        x = a * x + x @ (b * square + c * (square @ square))
    return x


def _log_of_rectified(x):
    """Computes the logarithm of matrices whose eigenvalues are above `LOWEST` times the norm. For
    eigenvalues below this limit, the result saturates."""
    norm = _norm(x)
    root = x / norm
    for i in range(1, SQUARE_ROOTS + 1):
        root = _square_root(root, LOWEST**0.5**i)
    return 2**SQUARE_ROOTS * _log_near_one(root) + ops.log(norm) * _identity(x)


def _square_root(x, low):
    """Computes the square root y and the inverse square root z of x. The iteration starts with
    `y = x` and `z = I`. Each step takes four matrix products.

    The eigenvalues of the square root must lie between `low` and 1.

    Let `s^2` be an eigenvalue of `z y`. Each step replaces s by `p(s)`, where p is a quintic of the
    sign iteration, so that s converges to 1. Because p is odd, `p(s) / s` is a polynomial of `s^2`.
    Each step multiplies y and z by this polynomial of `z y`. The condition number of y and z is the
    square root of the condition number of x. The iteration uses y and z, because the rounding
    errors of an iteration on x alone would be 10 to 100 times as large.
    """
    y, z = x, None
    steps = polynomials.steps(low, polynomials.FOLD_OF_ROOTS)
    for i, (a, b, c) in enumerate(steps):
        product = y if z is None else z @ y
        # The code computes `a (I + m b / a)` instead of `a I + b m`, so that a model file stores
        # only one identity matrix. The code multiplies y by one factor and does not compute
        # `a (y + y m)`. If the code computed this sum, XLA would move the factors a through all
        # steps, and the sum would lose digits by cancellation.
        factor = a * (_identity(x) + (b / a) * product + (c / a) * (product @ product))
        if i + 1 < len(steps):
            z = factor if z is None else factor @ z
        y = y @ factor
    return symmetric_part(y)


def _log_near_one(x):
    """Computes a polynomial of x from the first four powers of x, in blocks of four coefficients
    (Paterson1973). A polynomial of degree 15 takes six products."""
    lowest = LOWEST**0.5**SQUARE_ROOTS
    coefficients, middle, half = polynomials.logarithm(lowest, LOG_DEGREE)
    identity = _identity(x)
    t = (x - middle * identity) / half
    square = t @ t
    powers = (identity, t, square, square @ t)
    fourth = square @ square
    result = None
    for i in reversed(range(0, LOG_DEGREE + 1, 4)):
        block = sum(k * power for k, power in zip(coefficients[i : i + 4], powers, strict=True))
        result = block if result is None else result @ fourth + block
    return symmetric_part(result)


def _norm(x):
    """Computes the Frobenius norm, shape `(..., 1, 1)`. The norm is at least the largest
    eigenvalue."""
    return ops.sqrt(ops.sum(x * x, axis=(-2, -1), keepdims=True)) + TINY


def _norm_of_any_unit(x):
    """Computes the Frobenius norm, shape `(..., 1, 1)`, in a way that avoids overflow and underflow
    of squares in float32. The result is at least `SMALLEST`."""
    largest = ops.max(ops.abs(x), axis=(-2, -1), keepdims=True, initial=SMALLEST)
    shares = x / largest
    squares = ops.sum(shares * shares, axis=(-2, -1), keepdims=True)
    return largest * ops.sqrt(ops.maximum(squares, 1))  # at least 1, from the largest entry


def _identity(x):
    """Returns the identity matrix as a constant of the graph. An operator would compute the
    identity matrix again in each call."""
    return np.eye(x.shape[-1], dtype=keras.backend.standardize_dtype(x.dtype))
