"""Options by which the files of a gallery's first enrollment were read."""

import math
import numbers

NAME = "reading"  # row of `about`


def _is_positive(value):
    return isinstance(value, numbers.Real) and 0 < value < math.inf


def _is_text(value):
    return isinstance(value, str) and bool(value)


def _is_list(value):
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


VALID = {
    "channels": _is_list,
    "rate_hz": _is_positive,
    "resample": lambda value: isinstance(value, bool),
    "time": _is_text,
    "time_unit": _is_text,
    "max_gap": _is_positive,
    "units": _is_list,
}


def checked(options):
    """Returns the valid ones of the options by which files are read.

    Args:
        options: Options that a gallery holds, `{name: value}`; a stranger may have written them.
    """
    if not isinstance(options, dict):
        return {}
    return {name: options[name] for name in VALID if VALID[name](options.get(name))}
