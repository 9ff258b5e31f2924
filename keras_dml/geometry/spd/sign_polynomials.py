"""Coefficients of the polynomials that replace an eigendecomposition in `spd.polynomial`.

An odd polynomial of a symmetric matrix acts on its eigenvalues. Quintics applied one after the
other carry an interval `[low, 1]` to 1 and its mirror image to -1: the matrix sign. Each is the
best for the interval that its predecessor leaves, but for two allowances that float32 needs.
"""

import functools

import numpy as np

SAMPLES = 4001  # points at which the image of an interval is read
NARROW = 0.999  # above this fraction of its end an interval is a point for the exchange

# At the top of the interval a quintic has slope below -3, so a rounding error that leaves the
# interval grows at each step (a rare matrix came out 40 times off): fit one per cent beyond.
MARGIN = 1.01

# Without a lower bound on what a quintic fits, its image of the middle of the spectrum dips to
# nearly 0, where rounding flips signs (NaN at condition 1e3): fit from this fraction of the top on.
FOLD = 0.2
FOLD_OF_ROOTS = 0.1


@functools.cache
def steps(low, fold, tolerance=1e-6):
    """Quintics `(a, b, c)`, `a x + b x^3 + c x^5`, that carry `[low, 1]` to 1 within a tolerance.

    Args:
        low: Smallest value that must reach 1; smaller ones grow by the first slopes only.
        fold: Fraction of the top from which on a quintic is fitted.
        tolerance: Largest distance from 1 at the end.

    Returns:
        Tuple of tuples of floats.
    """
    high, found = 1.0, []
    while 1 - low > tolerance:
        high *= MARGIN
        start = max(low, fold * high)
        a, b, c = _best_quintic(start, high)
        x = np.append(np.linspace(start, high, SAMPLES), low)
        image = x * (a + x**2 * (b + x**2 * c))
        center = 2 / (image.max() + image.min())  # as far above 1 as below
        found.append(tuple(float(k * center) for k in (a, b, c)))
        low, high = float(image.min() * center), float(image.max() * center)
    return tuple(found)


@functools.cache
def logarithm(low, degree):
    """Coefficients of a polynomial of log on `[low, 1]`, ascending, in `t` from -1 to 1.

    Args:
        low: Lower end of the interval.
        degree: Degree of the polynomial.

    Returns:
        Coefficients, the middle and the half width of the interval: `log(middle + half t)`.
    """
    middle, half = (1 + low) / 2, (1 - low) / 2
    chebyshev = np.polynomial.chebyshev
    fitted = chebyshev.chebinterpolate(lambda t: np.log(middle + half * t), degree)
    return tuple(map(float, chebyshev.cheb2poly(fitted))), middle, half


def _best_quintic(low, high):
    """The odd quintic nearest to 1 on an interval, by Remez's exchange.

    Its error alternates at the ends and at the two zeros of the derivative, which are the roots of
    a quadratic in the square of x.
    """
    if low > NARROW * high:  # the limit: value 1, slopes 0 at a point
        return np.array([15, -10, 3]) / 8 / high ** np.array([1, 3, 5])
    inner = np.array([3 * low + high, low + 3 * high]) / 4
    for _ in range(40):
        x = np.concatenate([[low], inner, [high]])
        error = np.array([1, -1, 1, -1])
        a, b, c, _ = np.linalg.solve(np.stack([x, x**3, x**5, error], axis=1), np.ones(4))
        spread = np.sqrt(max(9 * b * b - 20 * a * c, 0.0))
        inner = np.sqrt(np.array([-3 * b - spread, -3 * b + spread]) / (10 * c))
    return np.array([a, b, c])
