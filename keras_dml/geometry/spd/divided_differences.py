"""Divided differences of functions of one variable, exact where the arguments coincide.

The derivative of a matrix function (Daleckii1965) needs `(f(a) - f(b)) / (a - b)` for
all pairs of eigenvalues. The plain quotient cancels for close ones, so each function here gives its
rise `f(high) - f(low)` in a form that does not: with `gap = high - low`, which is exact for close
numbers, and the logarithm of a ratio from its rise over one.
"""

from collections.abc import Callable
from typing import NamedTuple

from keras_dml._backend import ops


class Function(NamedTuple):
    """A function of eigenvalues.

    Attributes:
        value: `f(a)`.
        rise: `f(high) - f(low)` from `(high, low)`, exact to rounding for `high >= low`; for
            functions of positive numbers where `high / low` is one of their type too.
        slope: `f'(a)`.
    """

    value: Callable
    rise: Callable
    slope: Callable


def quotients(function, a, b, floor=None):
    """Divided differences `(f(a) - f(b)) / (a - b)`, and `f'(a)` where `a = b`.

    With a floor, those of `f(max(., floor))`.

    At the floor itself the derivative is 0: an eigenvalue passes where it is above.

    Args:
        function: A `Function`.
        a: Arguments, any shape.
        b: Arguments, broadcastable to `a`.
        floor: Number or broadcastable tensor below which `f` is constant.
    """
    kept_a, kept_b = (a, b) if floor is None else (ops.maximum(a, floor), ops.maximum(b, floor))
    rise = function.rise(ops.maximum(kept_a, kept_b), ops.minimum(kept_a, kept_b))
    slope = function.slope(kept_a)
    if floor is not None:
        slope = ops.where(a > floor, slope, ops.zeros_like(slope))
    gap = ops.abs(a - b)
    apart = gap > 0
    return ops.where(apart, rise / ops.where(apart, gap, ops.ones_like(gap)), slope)


IDENTITY = Function(lambda a: a, lambda high, low: high - low, ops.ones_like)


def _rise_of_log(high, low):
    # log1p by Kahan's correction of log: the one of XLA takes six times as long as its log.
    rise = (high - low) / low
    ratio = high / low
    over_one = ratio - 1  # what is left of the rise after rounding
    seen = over_one > 0
    slope = ops.log(ratio) / ops.where(seen, over_one, ops.ones_like(over_one))
    return rise * ops.where(seen, slope, ops.ones_like(slope))


LOG = Function(ops.log, _rise_of_log, lambda a: 1 / a)

EXP = Function(ops.exp, lambda high, low: -ops.exp(high) * ops.expm1(low - high), ops.exp)


def _rise_of_sqrt(high, low):
    return (high - low) / (ops.sqrt(high) + ops.sqrt(low))


SQRT = Function(ops.sqrt, _rise_of_sqrt, lambda a: 0.5 / ops.sqrt(a))


def _rise_of_inverse_sqrt(high, low):
    # Divided one by one: the product of the roots underflows first.
    return -_rise_of_sqrt(high, low) / ops.sqrt(high) / ops.sqrt(low)


INVERSE_SQRT = Function(ops.rsqrt, _rise_of_inverse_sqrt, lambda a: -0.5 * ops.rsqrt(a) / a)


def power(exponent):
    """The function `a ** exponent` of positive numbers.

    Args:
        exponent: Number, or tensor broadcastable to the arguments.
    """

    def rise(high, low):
        return -(high**exponent) * ops.expm1(-exponent * LOG.rise(high, low))

    return Function(lambda a: a**exponent, rise, lambda a: exponent * a ** (exponent - 1))
