"""Rates and their intervals in percent, as commands and reports print them."""


def interval(bounds):
    """Returns the interval of a rate in percent, such as `0.62 to 3.1 %`.

    A lower end of less than a thousandth of the upper end is written as 0.

    Args:
        bounds: `(low, high)`, fractions from 0 to 1.
    """
    low, high = bounds
    return f"{_number(0 if low < high / 1000 else low)} to {_number(high)} %"


def _number(fraction):
    """Returns a fraction in percent with two digits, or three if they are 100."""
    percent = 100 * fraction
    return f"{percent:.2g}" if percent < 99.5 else f"{percent:.0f}"
