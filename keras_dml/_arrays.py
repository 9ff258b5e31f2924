"""Checks that arguments are real numbers. The checks run before NumPy converts the arguments.

`numpy.asarray` drops the mask of a masked array and the imaginary part of complex numbers (with at
most a warning), and converts text and dates to numbers. Without the checks, the library would
compute embeddings and error rates from changed values.
"""

import math
import numbers
import operator

import numpy as np

_ADVICE = {
    "c": "Give the magnitudes, or the real and the imaginary parts as two channels.",
    "M": "Count seconds from a start: `(times - times[0]) / np.timedelta64(1, 's')`.",
    "m": "Divide by a unit: `spans / np.timedelta64(1, 's')`.",
    "O": "Give arrays of one shape; `[len(row) for row in rows]` shows which row differs.",
    "S": 'Convert the text to numbers first: `np.char.decode(values).astype("float32")`.',
    "U": 'Convert the text to numbers first: `values.astype("float32")`.',
    "V": "Take the fields as columns: `numpy.lib.recfunctions.structured_to_unstructured(values)`.",
}


def real(name, values, dtype=None):
    """Converts values to an array of real numbers, and copies them only if necessary.

    Args:
        name: Name that error messages use for the values, such as ``"`scores`"`` or `"Recording
            3"`.
        values: An array, a tensor, or nested lists of numbers.
        dtype: Dtype of the result. The default is the dtype of `values`.

    Returns:
        NumPy array of booleans, integers or floats.

    Raises:
        TypeError: If the values are masked, complex, text, dates, time spans, structured, or rows
            of different lengths. The error message contains the index of the first masked value.
    """
    refuse_masked(name, values)
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise TypeError(
            f"{name} must hold real numbers in one array. Received rows of different shapes. "
            f"{_ADVICE['O']}"
        ) from error
    if not _is_real(array.dtype):
        if values is None:
            raise TypeError(f"{name} must hold real numbers. Received None.")
        raise TypeError(
            f"{name} must hold real numbers. Received dtype {array.dtype}. "
            f"{_ADVICE.get(array.dtype.kind, '')}".rstrip()
        )
    if dtype is None:
        return array
    with np.errstate(over="ignore"):  # overflow gives infinity, which callers check
        return array.astype(dtype, copy=False)


def finite(name, values):
    """Converts values to an array of real numbers that are finite in float32.

    Args:
        name: Name of the values in error messages.
        values: An array, a tensor, or nested lists of numbers.

    Returns:
        NumPy array of booleans, integers or floats.

    Raises:
        TypeError: If the values are not real numbers, for example because they are masked or
            complex.
        ValueError: If a value is NaN, or infinite in float32. The error message contains the first
            row with an invalid value.
    """
    array = real(name, values)
    if array.size and not _in_float32(array.min(), array.max()):
        rows = array.reshape(len(array), -1) if array.ndim else array[None]
        bad = [i for i, row in enumerate(rows) if not _in_float32(row.min(), row.max())]
        raise ValueError(
            f"{name} holds NaN or infinity, first in row {bad[0]}. In total, {len(bad)} of "
            f"{len(rows)} rows hold such values. Leave these rows out."
        )
    return array


def whole(name, value, minimum):
    """Converts an integer of any type to `int`.

    Args:
        name: Name of the argument in error messages.
        value: Integer to convert.
        minimum: Smallest allowed integer.

    Raises:
        TypeError: If `value` is not an integer. Booleans and 2.0 are not integers here.
        ValueError: If `value` is below `minimum`.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"`{name}` must be an integer. Received: {value!r}.")
    if number < minimum:
        raise ValueError(f"`{name}` must be at least {minimum}. Received: {value}.")
    return number


def number(name, value, least=-math.inf):
    """Converts a finite real number of any type to `float`.

    Args:
        name: Name of the argument in error messages.
        value: Number to convert.
        least: Smallest allowed number.

    Raises:
        TypeError: If `value` is a boolean or is not a number.
        ValueError: If `value` is NaN, infinite or below `least`.
    """
    _check_real(name, value)
    if not (math.isfinite(value) and value >= least):
        expected = "finite" if least == -math.inf else f"a number of at least {least:g}"
        raise ValueError(f"`{name}` must be {expected}. Received {name}={value!r}.")
    return float(value)


def positive(name, value):
    """Converts a finite positive number of any type to `float`.

    Args:
        name: Name of the argument in error messages.
        value: Number to convert.

    Raises:
        TypeError: If `value` is a boolean or is not a number.
        ValueError: If `value` is NaN, infinite or not above 0.
    """
    _check_real(name, value)
    if not 0 < value < math.inf:
        raise ValueError(f"`{name}` must be a positive number. Received {name}={value!r}.")
    return float(value)


def _check_real(name, value):
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"`{name}` must be a number. Received {name}={value!r}.")


def _in_float32(*values):
    with np.errstate(over="ignore"):
        # The minimum of an array that contains NaN is NaN, so it is enough to check minimum and
        # maximum.
        return np.isfinite(np.array(values, np.float32)).all()


def _is_real(dtype):
    # NumPy reports kind V for bfloat16 and float8, as for structured arrays. Only structured arrays
    # have field names.
    return dtype.kind in "biuf" or (dtype.names is None and np.can_cast(dtype, np.float32))


def refuse_masked(name, values):
    """Raises `TypeError` if an array, or an array in a list, has a masked value."""
    if type(values) is np.ndarray:  # most values
        return
    masked = np.ma.getmask(values) if isinstance(values, np.ma.MaskedArray) else np.ma.nomask
    if np.any(masked):
        index = tuple(int(i) for i in np.argwhere(masked)[0])
        raise TypeError(
            f"{name} must hold a number at every index. Received a masked array with "
            f"{int(np.sum(masked))} of {masked.size} masked, the first at {index}. Interpolate "
            "masked values, leave their rows out, or replace them by `values.filled(...)`."
        )
    if isinstance(values, (list, tuple)):
        for i, row in enumerate(values):
            if isinstance(row, (list, tuple, np.ma.MaskedArray)):
                refuse_masked(f"{name}, row {i}," if name else f"Row {i}", row)
