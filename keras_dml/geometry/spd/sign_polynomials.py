"""Computes the coefficients of the polynomials that replace an eigendecomposition in
`spd.polynomial`.

An odd polynomial of a symmetric matrix changes the eigenvalues and keeps the eigenvectors. A
sequence of quintics (polynomials of degree 5) maps the interval `[low, 1]` to 1 and `[-1, -low]` to
-1, so it computes the matrix sign. Each quintic is fitted to the interval to which the previous
quintics map `[low, 1]`. The fits are optimal except for two changes (`MARGIN` and `FOLD`) that
limit rounding errors in float32.
"""

import functools

import numpy as np

SAMPLES = 4001  # points at which the image of an interval is computed
NARROW = 0.999  # an interval whose ends have a larger ratio counts as a point

# At the upper end of the interval, the slope of a quintic is below -3. If rounding moves a value
# above the interval, the error grows in each step (rarely by a factor of 40). Therefore, the upper
# end is raised by one per cent before a quintic is fitted.
MARGIN = 1.01

# The interval for the fit starts at this fraction of its upper end. If quintics were fitted to the
# whole interval, they would map the middle of the spectrum to almost 0. In this part of the
# spectrum, rounding flips signs, and the result was NaN at condition number 1e3.
FOLD = 0.2
FOLD_OF_ROOTS = 0.1


@functools.cache
def steps(
    low: float, fold: float, tolerance: float = 1e-6
) -> tuple[tuple[float, float, float], ...]:
    """Computes quintics `a x + b x^3 + c x^5` that together map `[low, 1]` to 1, up to a tolerance.

    Args:
        low: Smallest value that the quintics must map to 1. For smaller values, the result does not
            reach 1.
        fold: Lower end of the interval for the fit, as a fraction of the upper end.
        tolerance: Largest distance from 1 after the last quintic.

    Returns:
        Tuple of quintics. Each quintic is a tuple `(a, b, c)` of floats.
    """
    high, quintics = 1.0, []
    while 1 - low > tolerance:
        high *= MARGIN
        start = max(low, fold * high)
        a, b, c = _best_quintic(start, high)
        x = np.append(np.linspace(start, high, SAMPLES), low)
        image = x * (a + x**2 * (b + x**2 * c))
        center = 2 / (image.max() + image.min())  # centers the image around 1
        quintics.append(tuple(float(k * center) for k in (a, b, c)))
        low, high = float(image.min() * center), float(image.max() * center)
    return tuple(quintics)


@functools.cache
def logarithm(low: float, degree: int) -> tuple[tuple[float, ...], float, float]:
    """Computes a polynomial in `t` that approximates `log(middle + half t)` for t from -1 to 1. For
    t from -1 to 1, the argument of the logarithm covers the interval `[low, 1]`.

    Args:
        low: Lower end of the interval.
        degree: Degree of the polynomial.

    Returns:
        Coefficients in ascending order, the middle of the interval, and half the width of the
        interval.
    """
    middle, half = (1 + low) / 2, (1 - low) / 2
    chebyshev = np.polynomial.chebyshev
    fitted = chebyshev.chebinterpolate(lambda t: np.log(middle + half * t), degree)
    return tuple(map(float, chebyshev.cheb2poly(fitted))), middle, half


def _best_quintic(low, high):
    """Computes the odd quintic whose values on an interval are nearest to 1, with the Remez
    exchange algorithm.

    The error of the quintic has alternating signs at four points: the two ends of the interval and
    the two zeros of the derivative. The squares of the two zeros are the roots of a quadratic
    polynomial.
    """
    if low > NARROW * high:  # limit for a point: value 1, derivatives 0
        return np.array([15, -10, 3]) / 8 / high ** np.array([1, 3, 5])
    inner = np.array([3 * low + high, low + 3 * high]) / 4
    for _ in range(40):
        x = np.concatenate([[low], inner, [high]])
        error = np.array([1, -1, 1, -1])
        a, b, c, _ = np.linalg.solve(np.stack([x, x**3, x**5, error], axis=1), np.ones(4))
        spread = np.sqrt(max(9 * b * b - 20 * a * c, 0.0))
        inner = np.sqrt(np.array([-3 * b - spread, -3 * b + spread]) / (10 * c))
    return np.array([a, b, c])
