"""Lists the options for reading files that a gallery stores, and checks their values."""

import math
import numbers
from collections.abc import Callable
from typing import Any


def _is_positive(value):
    return isinstance(value, numbers.Real) and 0 < value < math.inf


def _is_text(value):
    return isinstance(value, str) and bool(value)


def _is_list(value):
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


# Maps each option for reading files to the function that checks its value
READING_OPTIONS: dict[str, Callable[..., bool]] = {
    "channels": _is_list,
    "rate_hz": _is_positive,
    "resample": lambda value: isinstance(value, bool),
    "time": _is_text,
    "time_unit": _is_text,
    "max_gap": _is_positive,
    "units": _is_list,
}


def valid_options(options: Any) -> dict[str, Any]:
    """Returns only the valid options for reading files.

    Args:
        options: Options from a gallery, `{name: value}`. An attacker may have changed the options
            in the gallery.
    """
    if not isinstance(options, dict):
        return {}
    return {
        name: options[name]
        for name, is_valid in READING_OPTIONS.items()
        if is_valid(options.get(name))
    }
