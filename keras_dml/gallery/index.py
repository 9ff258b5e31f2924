"""Converts embeddings to vectors that a database compares to find similar embeddings."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from keras_dml.distances import Distance


class Index:
    """Conversion of embeddings to vectors. A database compares the vectors to find similar
    embeddings.

    Sorting neighbors by the norm of the difference between vectors gives almost the same order as
    sorting neighbors by the distance between embeddings.

    Args:
        distance: Distance of the embeddings.
        shape: Shape of an embedding.
        numbers: Number of elements of a vector.

    Attributes:
        metric: Norm for differences between two vectors, "l1" or "l2".
        numbers: Number of elements of a vector.
    """

    def __init__(self, distance: "Distance", shape: tuple[int, ...], numbers: int):
        self._distance, self._shape = distance, shape
        self.metric: str = distance.index_metric
        self.numbers = numbers

    def vectors(self, embeddings: np.ndarray) -> np.ndarray:
        """Converts embeddings, which may be flat, to vectors of shape `(n, numbers)`."""
        embeddings = np.reshape(embeddings, (-1, *self._shape))
        return np.asarray(self._distance.index_vectors(embeddings), np.float32)
