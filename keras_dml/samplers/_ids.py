"""Replaces ids of any dtype by the numbers 0, 1, 2, and so on (int32).

Before Keras computes a loss, it casts labels to float32, in which 16777216 and 16777217 are equal.
Ids that are counted from 0 are small enough to be exact in float32.
"""

from typing import Any

import numpy as np

from keras_dml._arrays import refuse_masked
from keras_dml._typing import ArrayLike

FLOAT32_EXACT = 2**24  # float32 represents every integer below this


def dense_ids(name: str, values: ArrayLike, count: int) -> tuple[np.ndarray, list[Any]]:
    """Replaces each id by its position in the sorted list of distinct ids.

    Args:
        name: Name of the argument in error messages.
        values: Ids, shape `(count,)` or `(count, 1)`. Ids are integers of any size, strings, bytes,
            booleans, or floats that are exact integers.
        count: Required number of ids, which is the number of recordings.

    Returns:
        New ids, int32, all below 2**24, shape `(count,)`. Sorted list of the original ids. Entry i
        of the list is the original id of the new id i.

    Raises:
        ValueError: If the ids have another shape, if a float is not an exact integer, or if there
            are 2**24 distinct ids or more.
        TypeError: If the ids cannot be sorted, for example because they mix strings and integers.
    """
    flat = _flat_ids(name, values, count)
    try:
        names = sorted(set(flat))
    except TypeError:
        kinds = sorted({type(value).__name__ for value in flat})
        raise TypeError(
            f"`{name}` must hold ids of one kind: integers, strings or bytes. Received: "
            f"{', '.join(kinds)}. Convert all ids to strings first."
        ) from None
    if len(names) >= FLOAT32_EXACT:
        raise ValueError(
            f"`{name}` must hold fewer than {FLOAT32_EXACT} distinct ids, because larger ids are "
            f"not exact in float32. Received: {len(names)}. Train on fewer classes."
        )
    position = {value: index for index, value in enumerate(names)}
    return np.array([position[value] for value in flat], np.int32), names


def _flat_ids(name, values, count):
    """Checks that ids have a valid shape and are exact. Returns a list of plain Python objects."""
    # A list is converted with dtype object, because NumPy would convert [2**63, -1] to floats.
    refuse_masked(f"`{name}`", values)
    array = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if array.dtype.kind in "cmMV":
        raise TypeError(
            f"`{name}` must hold integers, strings or bytes. Received dtype {array.dtype}. "
            "Convert dates to strings by `values.astype(str)`."
        )
    shape = array.shape
    if array.ndim == 2 and shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"`{name}` must hold one id per recording, shape (recordings,) or (recordings, 1). "
            f"Received shape {shape}. For one-hot rows pass `{name}.argmax(axis=1)`."
        )
    if len(array) != count:
        raise ValueError(
            f"`{name}` must hold one id per recording. Received {len(array)} ids for the {count} "
            "recordings in `x`."
        )
    digits = np.finfo(array.dtype).nmant + 1 if array.dtype.kind == "f" else 53
    flat = [value.item() if isinstance(value, np.generic) else value for value in array.tolist()]
    for index, value in enumerate(flat):
        if isinstance(value, float) and not (value.is_integer() and abs(value) < 2**digits):
            raise ValueError(
                f"`{name}` must hold ids. Received {value!r} at index {index}. A float must be a "
                f"whole number below 2**{digits}, because larger floats of this dtype are not "
                "exact. Pass integers or strings."
            )
    return flat
