"""Parts of a distance of vectors by dimension."""

import numpy as np

from keras_dml.explanations._result import Explanation

MEANING = "A dimension has no meaning of its own: a rotation of all vectors changes the parts."


def euclidean(x, y):
    """Explanation of a Euclidean distance: squares of the differences, over the distance."""
    squares = (x - y) ** 2
    distance = np.sqrt(squares.sum())
    return _explanation(squares / (distance or 1.0))


def cosine(x, y):
    """Explanation of a negative cosine: products of the entries of the two unit vectors, negative
    where they agree."""
    lengths = np.linalg.norm(x) * np.linalg.norm(y)
    return _explanation(-x * y / (lengths or 1.0))


def _explanation(parts):
    names = tuple(f"dimension {i}" for i in range(len(parts)))
    return Explanation(float(parts.sum()), parts, (names,), MEANING)
