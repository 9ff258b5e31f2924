"""Division of DEAP's continuous ratings, from 1 to 9, into classes."""

from __future__ import annotations

import numpy as np

LOWEST, HIGHEST = 1, 9


def equal_parts(ratings: np.ndarray, classes: int) -> np.ndarray:
    """Returns the part of equal width in which each rating lies.

    A border belongs to the lower part.

    Args:
        ratings: Ratings from 1 to 9.
        classes: Number of parts.

    Returns:
        Numbers from 0 to `classes` - 1, int64.

    >>> equal_parts(np.array([1, 3.6, 3.7, 5, 5.1, 9]), 3).tolist()
    [0, 0, 1, 1, 1, 2]
    """
    part = np.ceil((np.asarray(ratings) - LOWEST) * classes / (HIGHEST - LOWEST))
    return np.clip(part, 1, classes).astype(np.int64) - 1


def by_rounding(ratings: np.ndarray, classes: int) -> np.ndarray:
    """Returns the class of each rounded rating (Kim2020).

    Three classes are 1 to 3, 4 to 6 and 7 to 9.

    Args:
        ratings: Ratings from 1 to 9; a half is rounded to the even number.
        classes: Number of classes. If it divides 9, all classes have the same number of ratings.

    Returns:
        Numbers from 0 to `classes` - 1, int64.

    >>> by_rounding(np.array([1, 3.4, 3.6, 6.4, 6.6, 9]), 3).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    return classes * (np.rint(ratings).astype(np.int64) - LOWEST) // HIGHEST
