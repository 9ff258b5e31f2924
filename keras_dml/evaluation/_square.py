"""The square attack, a random search that needs scores but no gradients."""

from __future__ import annotations

import math

import numpy as np

FIRST_FRACTION = 0.8  # of the entries that the first square covers (Andriushchenko2020, L-inf)
HALVED_AFTER = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)  # of 10,000 squares
SAME = 1e-7  # a square with no larger change changes nothing (Andriushchenko2020's code)


def search(margins, x, epsilon, queries, rng):
    """The square attack (Andriushchenko2020, Algorithms 1 and 2): random squares on the boundary of
    the ball.

    Starts from vertical stripes, then tries ever smaller squares and keeps those that raise the
    margin. A square that would change nothing is drawn anew. The search for an example ends once
    its margin is above 0.

    Args:
        margins: Function of inputs `(count, ...)` and their rows in `x`, shape `(count,)`; gives
            one number each, above 0 where the example is misclassified.
        x: Inputs, shape `(count, height, width, channels)` or `(count, features)`, in [0, 1].
        epsilon: Largest change of an entry.
        queries: Largest number of queries per example.
        rng: NumPy generator.

    Returns:
        Inputs of the shape of `x`, and the number of queries.
    """
    shape = x.shape
    x = x.reshape(shape if x.ndim == 4 else (len(x), -1, 1, 1))
    count, height, width, channels = x.shape
    stripes = (count, 1 if width > 1 else height, width, channels)
    best = _clipped(x + rng.choice([-epsilon, epsilon], size=stripes))
    rows = np.arange(count)
    values = margins(best.reshape(shape), rows)
    asked = count
    for square in range(queries - 1):
        rows = rows[values[rows] <= 0]
        if not len(rows):
            break
        tried = _with_square(x[rows], best[rows], epsilon, side(square / queries, x[0]), rng)
        found = margins(tried.reshape(-1, *shape[1:]), rows)
        asked += len(rows)
        better = found > values[rows]
        best[rows[better]], values[rows[better]] = tried[better], found[better]
    return best.reshape(shape), asked


def side(done, image):
    """Side of the square after a fraction of the queries, in an image `(height, width, channels)`.

    The fraction of entries that it covers is halved as published, in 10,000 queries after 10, 50,
    200, 500, ... squares, and in fewer queries at the same fractions of them.
    """
    halvings = sum(int(10_000 * done) > after for after in HALVED_AFTER)
    height, width, _ = image.shape
    return max(1, round(math.sqrt(FIRST_FRACTION / 2**halvings * height * width)))


def _with_square(x, best, epsilon, side, rng):
    """The best points with one square each, at a random place, that changes an entry at least."""
    count, height, width, channels = x.shape
    tall, wide = min(side, height), min(side, width)
    tops = rng.integers(height - tall + 1, size=count)
    lefts = rng.integers(width - wide + 1, size=count)
    inside = _window(tops, tall, height)[:, :, None] & _window(lefts, wide, width)[:, None]
    tried, rows = best.copy(), np.arange(count)
    while len(rows):
        signs = rng.choice([-epsilon, epsilon], size=(len(rows), 1, 1, channels))
        tried[rows] = np.where(inside[rows, ..., None], _clipped(x[rows] + signs), best[rows])
        change = np.abs(tried[rows] - best[rows]).max(axis=(1, 2, 3))
        rows = rows[change <= SAME]
    return tried


def _window(starts, length, size):
    positions = np.arange(size)[None]
    return (positions >= starts[:, None]) & (positions < starts[:, None] + length)


def _clipped(x):
    return np.clip(x, 0.0, 1.0).astype(np.float32)
