"""Computes divided differences of functions of one variable. The results are exact even if the
arguments are equal.

The derivative of a matrix function (Daleckii1965) needs `(f(a) - f(b)) / (a - b)` for all pairs of
eigenvalues. If two eigenvalues are close, the plain quotient loses digits by cancellation.
Therefore, this module computes the rise `f(high) - f(low)` of each function by a formula without
cancellation. The formulas use `gap = high - low`, because this difference is exact if the two
numbers are close. The logarithm of a ratio is computed from the difference between the ratio and 1.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras_dml._backend import ops
from keras_dml._typing import Tensor


class Function(NamedTuple):
    """A function of eigenvalues.

    Attributes:
        value: `f(a)`.
        rise: Function that takes `(high, low)` with `high >= low`, and computes `f(high) - f(low)`
            up to a rounding error. For functions of positive numbers, `high / low` must not
            overflow.
        slope: `f'(a)`.
    """

    value: Callable[..., Any]
    rise: Callable[..., Any]
    slope: Callable[..., Any]


def quotients(
    function: Function, a: Tensor, b: Tensor, floor: Tensor | float | None = None
) -> Tensor:
    """Computes divided differences `(f(a) - f(b)) / (a - b)`, or `f'(a)` if `a = b`.

    If `floor` is given, the function computes the divided differences of `f(max(a, floor))`, and
    sets the derivative at the floor to 0.

    Args:
        function: A `Function`.
        a: Values of `a` in the formula, any shape.
        b: Values of `b` in the formula, broadcastable to `a`.
        floor: Lower limit below which `f` is constant, a number or a tensor that broadcasts to `a`.
    """
    high_a, high_b = (a, b) if floor is None else (ops.maximum(a, floor), ops.maximum(b, floor))
    rise = function.rise(ops.maximum(high_a, high_b), ops.minimum(high_a, high_b))
    slope = function.slope(high_a)
    if floor is not None:
        slope = ops.where(a > floor, slope, ops.zeros_like(slope))
    gap = ops.abs(a - b)
    distinct = gap > 0
    return ops.where(distinct, rise / ops.where(distinct, gap, ops.ones_like(gap)), slope)


IDENTITY = Function(lambda a: a, lambda high, low: high - low, ops.ones_like)


def _rise_of_log(high, low):
    # Computes log1p from log, with Kahan's correction. XLA's log1p takes six times as long as XLA's
    # log.
    rise = (high - low) / low
    ratio = high / low
    over_one = ratio - 1  # relative rise after rounding
    positive = over_one > 0
    slope = ops.log(ratio) / ops.where(positive, over_one, ops.ones_like(over_one))
    return rise * ops.where(positive, slope, ops.ones_like(slope))


LOG = Function(ops.log, _rise_of_log, lambda a: 1 / a)

EXP = Function(ops.exp, lambda high, low: -ops.exp(high) * ops.expm1(low - high), ops.exp)


def _rise_of_sqrt(high, low):
    return (high - low) / (ops.sqrt(high) + ops.sqrt(low))


SQRT = Function(ops.sqrt, _rise_of_sqrt, lambda a: 0.5 / ops.sqrt(a))


def _rise_of_inverse_sqrt(high, low):
    # The formula has two divisions because the product of the roots may underflow.
    return -_rise_of_sqrt(high, low) / ops.sqrt(high) / ops.sqrt(low)


INVERSE_SQRT = Function(ops.rsqrt, _rise_of_inverse_sqrt, lambda a: -0.5 * ops.rsqrt(a) / a)


def power(exponent: Tensor | float) -> Function:
    """Returns the function `a ** exponent` of positive numbers.

    Args:
        exponent: Number, or tensor that is broadcastable to `a`.
    """

    def rise(high, low):
        return -(high**exponent) * ops.expm1(-exponent * LOG.rise(high, low))

    return Function(lambda a: a**exponent, rise, lambda a: exponent * a ** (exponent - 1))
