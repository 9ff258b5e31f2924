"""The square attack, a random search that needs scores but no gradients."""

from __future__ import annotations

import math

import numpy as np

FIRST_FRACTION = 0.8  # of the entries that the first square covers (Andriushchenko2020, L-inf)
HALVED_AT = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)  # of 10,000 queries


def search(margins, x, epsilon, queries, rng):
    """The square attack (Andriushchenko2020): random squares on the boundary of the ball.

    Starts from stripes, then tries ever smaller squares and keeps those that raise the margin. The
    search for an example ends once its margin is above 0.

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
    stripes = rng.choice([-epsilon, epsilon], size=(count, 1, width, channels))
    if width == 1:
        stripes = rng.choice([-epsilon, epsilon], size=x.shape)
    best = _clipped(x + stripes)
    rows = np.arange(count)
    values = margins(best.reshape(shape), rows)
    asked = count
    for query in range(1, queries):
        rows = rows[values[rows] <= 0]
        if not len(rows):
            break
        side = _side(query / queries, height * width)
        tall, wide = min(side, height), min(side, width)
        tops = rng.integers(height - tall + 1, size=count)[rows]
        lefts = rng.integers(width - wide + 1, size=count)[rows]
        signs = rng.choice([-epsilon, epsilon], size=(count, 1, 1, channels))[rows]
        inside = _window(tops, tall, height)[:, :, None] & _window(lefts, wide, width)[:, None]
        tried = np.where(inside[..., None], _clipped(x[rows] + signs), best[rows])
        found = margins(tried.reshape(-1, *shape[1:]), rows)
        asked += len(rows)
        better = found > values[rows]
        best[rows[better]], values[rows[better]] = tried[better], found[better]
    return best.reshape(shape), asked


def _side(done, pixels):
    """Side of the square after a fraction of the queries."""
    halvings = sum(done * 10_000 >= at for at in HALVED_AT)
    return max(1, round(math.sqrt(FIRST_FRACTION / 2**halvings * pixels)))


def _window(starts, length, size):
    positions = np.arange(size)[None]
    return (positions >= starts[:, None]) & (positions < starts[:, None] + length)


def _clipped(x):
    return np.clip(x, 0.0, 1.0).astype(np.float32)
