"""Formats counts, and confidence intervals of rates, for commands and reports."""

import bisect
import decimal
import math
from collections.abc import Sequence

LEAST_DIGITS, MOST_DIGITS = 4, 17  # 17 digits identify a float64


def counted(count: int, word: str, plural: str | None = None) -> str:
    """Formats a count with its noun, for example as `1 channel` or `6 channels`.

    Args:
        count: Number of things.
        word: Noun in the singular.
        plural: Noun in the plural. Default: `word` with an s.
    """
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def interval(bounds):
    """Formats the confidence interval of a rate in percent, such as `0.62 to 3.1 %`.

    If the lower end is less than a thousandth of the upper end, the lower end is printed as 0.

    Args:
        bounds: Lower and upper end of the interval, as fractions from 0 to 1.
    """
    low, high = bounds
    return f"{_number(0 if low < high / 1000 else low)} to {_number(high)} %"


def percent_rounded_up(rate):
    """Formats a rate in percent with two significant digits, rounded up."""
    digits = 1 - math.floor(math.log10(100 * rate))
    return f"{math.ceil(100 * rate * 10**digits - 1e-9) / 10**digits:g} %"


def shortest(value: float) -> str:
    """Formats a number with the fewest digits that identify it, such as `0.25`, `3` or `0`."""
    return repr(float(value) + 0.0).removesuffix(".0")


def threshold(value: float, distances: Sequence[float], higher_is_closer: bool = False) -> str:
    """Formats a threshold with at least four digits, and with as many digits as are needed to
    accept the same trials.

    The number is rounded to the strict side if this does not change a decision. An observed score
    is the strictest threshold that accepts this score, so it is rounded to the other side, to a
    number before the next observed score.

    Args:
        value: Threshold, in units of the scores.
        distances: Distances of all trials, ascending. Similarities are multiplied by -1.
        higher_is_closer: Whether the scores are similarities.
    """
    sign = -1 if higher_is_closer else 1
    accepted = bisect.bisect_right(distances, sign * value)
    exact = decimal.Decimal(repr(float(value)))
    strict, loose = decimal.ROUND_FLOOR, decimal.ROUND_CEILING
    if higher_is_closer:
        strict, loose = loose, strict
    for digits in range(LEAST_DIGITS, MOST_DIGITS + 1 if exact.is_finite() else 0):
        for rounding in (strict, loose):
            context = decimal.Context(prec=digits, rounding=rounding)
            rounded = float(context.create_decimal(exact))
            if bisect.bisect_right(distances, sign * rounded) == accepted:
                return shortest(rounded)
    return shortest(value)


def _number(fraction):
    """Formats a fraction in percent with two significant digits, or as 100 if it rounds to 100
    %."""
    percent = 100 * fraction
    return f"{percent:.2g}" if percent < 99.5 else f"{percent:.0f}"
