"""Functions that divide the continuous ratings of DEAP, from 1 to 9, into classes."""

from __future__ import annotations

import numpy as np

LOWEST, HIGHEST = 1, 9


def equal_parts(ratings: np.ndarray, classes: int) -> np.ndarray:
    """Divides the range from 1 to 9 into parts of equal width, and returns the part of each rating.

    A rating on the border between two parts belongs to the lower part.

    Args:
        ratings: Ratings from 1 to 9.
        classes: Number of parts.

    Returns:
        For each rating, the number of its part, from 0 to `classes` - 1, int64.

    >>> equal_parts(np.array([1, 3.6, 3.7, 5, 5.1, 9]), 3).tolist()
    [0, 0, 1, 1, 1, 2]
    """
    part = np.ceil((np.asarray(ratings) - LOWEST) * classes / (HIGHEST - LOWEST))
    return np.clip(part, 1, classes).astype(np.int64) - 1


def by_rounding(ratings: np.ndarray, classes: int) -> np.ndarray:
    """Rounds each rating to a whole number, and returns the class of this number (Kim2020).

    If `classes` is 3, the classes are the numbers 1 to 3, 4 to 6 and 7 to 9.

    Args:
        ratings: Ratings from 1 to 9. A rating halfway between two whole numbers is rounded to the
            even number.
        classes: Number of classes. If 9 is divisible by `classes`, each class contains the same
            number of whole ratings.

    Returns:
        For each rating, the number of its class, from 0 to `classes` - 1, int64.

    >>> by_rounding(np.array([1, 3.4, 3.6, 6.4, 6.6, 9]), 3).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    return classes * (np.rint(ratings).astype(np.int64) - LOWEST) // HIGHEST
