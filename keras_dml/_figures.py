"""Formats counts, and confidence intervals of rates, for commands and reports."""

import math


def counted(count: int, word: str, plural: str | None = None) -> str:
    """Formats a count with its noun, for example as `1 channel` or `6 channels`.

    Args:
        count: Number of things.
        word: Noun in the singular.
        plural: Noun in the plural. Default: `word` with an s.
    """
    return f"{count} {word}" if count == 1 else f"{count} {plural or word + 's'}"


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


def _number(fraction):
    """Formats a fraction in percent with two significant digits, or as 100 if it rounds to 100
    %."""
    percent = 100 * fraction
    return f"{percent:.2g}" if percent < 99.5 else f"{percent:.0f}"
