"""Matrix functions without an eigensolver: builtin operators of TFLite only, for inference.

Rectification is `((X + e I) + |X - e I|) / 2` with `|Y| = Y sign(Y)`. Matrix sign and square root
are Newton-Schulz-type iterations with minimax quintics (`sign_polynomials`). The logarithm is by
inverse scaling and squaring: eight times that of the eighth root, whose eigenvalues lie in a narrow
interval where one Chebyshev interpolant is enough. All of it is products, sums and scalings of
matrices. A product of 80 x 80 matrices takes 6 us on a device, an
eigendecomposition most of a millisecond; in a training batch the eigensolver is seven times faster.

The gradient is the exact one of `spd`, by the eigensolver, in the backward pass alone: autodiff of
the products is off by up to 2 % where eigenvalues stand near epsilon (the eigensolver: 0.4 %).

Errors of float32 entries against float64, for matrices of norm 1 and epsilon 1e-4
(`tests/geometry/spd/test_polynomial.py`): rectified 2e-7; the logarithm 1e-5 up to condition 1e3,
1e-4 up to 1e6, 4e-4 for singular and indefinite matrices, where float32 cannot represent the
rectified eigenvalues more accurately. They grow with the norm, and hold while it is below 1e5
epsilon. Under `jax.jit` the simplifications of XLA cost the logarithm more, 5e-4 in place of 1e-5
at condition 10; files for devices are written by TensorFlow, which keeps the order of operations.
"""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml.geometry.numerics import divide
from keras_dml.geometry.spd import sign_polynomials as polynomials
from keras_dml.geometry.spd.divided_differences import IDENTITY, LOG, SQRT
from keras_dml.geometry.spd.functions import check_epsilon, derivative
from keras_dml.geometry.spd.matrices import eigh, square_matrices, symmetric_part, transposed

LOWEST = 1e-6  # of the norm: what float32 resolves, and where sign and logarithm saturate
SQUARE_ROOTS = 3
LOG_DEGREE = 15  # one of 4 j - 1: blocks of four coefficients
TINY = 1e-30  # norm of the zero matrix
SMALLEST = 1e-37  # the same in any unit: float32 holds its inverse


def rectify(x, epsilon):
    """Rectified eigenvalues, as `spd.rectify`.

    Args:
        x: Symmetric matrices, shape `(..., n, n)`; the symmetric part is taken.
        epsilon: Minimum eigenvalue, positive, in the unit of `x`.

    Returns:
        Positive definite matrices, same shape, float32 or wider. NaN where `x` is not finite.

    Raises:
        ValueError: If the matrices are not square or epsilon is not positive.
    """
    epsilon = check_epsilon(epsilon)
    return _with_exact_gradient(lambda x: _rectified(x, epsilon), IDENTITY, x, epsilon)


def log(x):
    """Matrix logarithm, as `spd.log`; eigenvalues below 1e-6 of the norm count as that.

    Args:
        x: SPD matrices, shape `(..., n, n)`; the symmetric part is taken.

    Returns:
        Symmetric matrices, shape `(..., n, n)`, float32 or wider. NaN where `x` is not finite.

    Raises:
        ValueError: If the matrices are not square.
    """

    def forward(x):
        norm = _norm_of_any_unit(x)
        return _log_of_rectified(_rectified(x / norm, LOWEST)) + ops.log(norm) * _identity(x)

    return _with_exact_gradient(forward, LOG, x, _lowest)


def sqrt(x):
    """Symmetric square root, as `spd.sqrt`; eigenvalues below 1e-6 of the norm count as that.

    Args:
        x: SPD matrices, shape `(..., n, n)`; the symmetric part is taken.

    Returns:
        Square roots, same shape, float32 or wider. NaN where `x` is not finite.

    Raises:
        ValueError: If the matrices are not square.
    """

    def forward(x):
        norm = _norm_of_any_unit(x)
        return ops.sqrt(norm) * _square_root(_rectified(x / norm, LOWEST), LOWEST**0.5)

    return _with_exact_gradient(forward, SQRT, x, _lowest)


def nuclear_norm(x):
    """Sum of the singular values, as `spd.nuclear_norm`: the inner product with the polar factor.

    Singular values below 1e-6 of the Frobenius norm count for less than they are.

    Args:
        x: Matrices, shape `(..., n, n)`, symmetric or not.

    Returns:
        Norms, shape `(...)`, float32 or wider. NaN where `x` is not finite. The gradient is the
        polar factor.

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


def rectify_log(x, epsilon):
    """`log(rectify(x, epsilon))`, as `spd.rectify_log`; arguments and errors as those of
    `rectify`."""
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
    """`LOWEST` of the Frobenius norm: `(..., n)` to `(..., 1)`."""
    largest = ops.max(ops.abs(values), axis=-1, keepdims=True, initial=0)
    shares = divide(values, largest)
    norm = largest * ops.sqrt(ops.sum(shares * shares, axis=-1, keepdims=True))
    return ops.where(largest > 0, LOWEST * norm, 1)


def _rectified(x, epsilon):
    floor = epsilon * _identity(x)
    gap = x - floor
    return (x + floor + symmetric_part(gap @ _sign(gap / _norm(gap)))) / 2


def _sign(x, adjoint=lambda x: x):
    """Signs of eigenvalues in [-1, 1] of symmetric matrices; with the transpose as adjoint, the
    polar factor of any matrices. Three products a step."""
    for a, b, c in polynomials.steps(LOWEST, polynomials.FOLD):
        square = adjoint(x) @ x
        x = a * x + x @ (b * square + c * (square @ square))
    return x


def _log_of_rectified(x):
    """The logarithm where eigenvalues are above `LOWEST` of the norm; below, it saturates."""
    norm = _norm(x)
    root = x / norm
    for i in range(1, SQUARE_ROOTS + 1):
        root = _square_root(root, LOWEST**0.5**i)
    return 2**SQUARE_ROOTS * _log_near_one(root) + ops.log(norm) * _identity(x)


def _square_root(x, low):
    """The root y, with its inverse z, from `y = x, z = I`; four products a step.

    The eigenvalues of the root are from `low` to 1.

    The eigenvalues of `z y` are the squares of numbers s on their way to 1, and `p(s) / s` of a
    sign step p, a polynomial of `z y`, moves both y and z. Each carries a condition of its root
    only; one iteration on x alone carries all of it and loses 10 to 100 times as much.
    """
    y, z = x, None
    steps = polynomials.steps(low, polynomials.FOLD_OF_ROOTS)
    for i, (a, b, c) in enumerate(steps):
        product = y if z is None else z @ y
        # `a (I + m b / a)`, not `a I + b m`: a file then keeps one identity. And one product, not
        # `a (y + y m)`: XLA pulls those factors through all steps, and the sum cancels.
        factor = a * (_identity(x) + (b / a) * product + (c / a) * (product @ product))
        if i + 1 < len(steps):
            z = factor if z is None else factor @ z
        y = y @ factor
    return symmetric_part(y)


def _log_near_one(x):
    """A polynomial in powers up to the fourth, in blocks of four coefficients (Paterson1973): six
    products for degree 15."""
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
    """Frobenius norm, `(..., 1, 1)`: no eigenvalue is larger."""
    return ops.sqrt(ops.sum(x * x, axis=(-2, -1), keepdims=True)) + TINY


def _norm_of_any_unit(x):
    """Frobenius norm, `(..., 1, 1)`, whose squares do not leave float32; `SMALLEST` at least."""
    largest = ops.max(ops.abs(x), axis=(-2, -1), keepdims=True, initial=SMALLEST)
    shares = x / largest
    squares = ops.sum(shares * shares, axis=(-2, -1), keepdims=True)
    return largest * ops.sqrt(ops.maximum(squares, 1))  # 1 for the largest entry


def _identity(x):
    """Identity as a constant of the graph; an operator would compute it again on each call."""
    return np.eye(x.shape[-1], dtype=keras.backend.standardize_dtype(x.dtype))
