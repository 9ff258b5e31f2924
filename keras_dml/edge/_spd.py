"""Converts tangent vectors to symmetric positive definite (SPD) matrices with NumPy.

A .tflite file has no operator for eigenvalues. Therefore, the file of a model whose embeddings are
SPD matrices returns logarithms of matrices as tangent vectors.
"""

import numpy as np


def matrices(tangents: np.ndarray, n: int) -> np.ndarray:
    """Computes the SPD matrices whose logarithms are given by tangent vectors.

    Args:
        tangents: Upper triangles of the logarithms, shape `(count, n (n + 1) / 2)`. Entries off the
            diagonal are multiplied by the square root of 2.
        n: Number of rows of a matrix.

    Returns:
        Matrices, float64, shape `(count, n, n)`.
    """
    rows, columns = np.triu_indices(n)
    logs = np.zeros((len(tangents), n, n))
    logs[:, rows, columns] = tangents / np.where(rows == columns, 1, np.sqrt(2))
    logs[:, columns, rows] = logs[:, rows, columns]
    values, vectors = np.linalg.eigh(logs)
    return (vectors * np.exp(values)[:, None]) @ vectors.swapaxes(1, 2)
