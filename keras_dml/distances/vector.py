"""Distances between vectors."""

from collections.abc import Callable

import numpy as np

from keras_dml._typing import Tensor
from keras_dml.distances.base import Distance, register
from keras_dml.embeddings import unit
from keras_dml.geometry import vector

__all__ = ["Cosine", "Euclidean"]


@register("cosine")
class Cosine(Distance):
    """Negative cosine between vectors (Abdelwahab2019, section 5.3). The value is in [-1, 1], and
    is 0 if a vector is zero."""

    is_zero_at_itself = False
    has_mean = True

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        return -vector.cosine(x, y)

    def ranking(self, gallery: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        entries = unit(gallery).T
        return lambda queries: -unit(queries) @ entries

    def index_vectors(self, embeddings: np.ndarray) -> np.ndarray | None:
        """Scales vectors to length 1. The Euclidean distance between two scaled vectors falls as
        the cosine rises."""
        return unit(embeddings)

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        """Scales vectors to length 1, so that the average of the vectors is the mean direction."""
        return unit(embeddings)

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        return point


@register("euclidean")
class Euclidean(Distance):
    """Euclidean distance between vectors, in the unit of the vectors.

    If the layer `TangentVector` computed the vectors from logarithms of SPD matrices, the Euclidean
    distance equals the log-Euclidean distance of the matrices.
    """

    has_mean = True

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        return vector.euclidean(x, y)

    def on_device(self, x: Tensor, y: Tensor) -> Tensor:
        """Computes all distances from differences. The numbers of embeddings are unknown in the
        graph of a SavedModel, so `pairwise` would compute even few distances from inner products,
        which lose small distances if another embedding is far away."""
        return vector.euclidean_by_differences(*self.checked(x, y))

    def squared(self, x: Tensor, y: Tensor) -> Tensor:
        """Computes all squared distances without a square root."""
        return vector.squared_euclidean(*self.checked(x, y))

    def ranking(self, gallery: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns a function that computes |y|^2 - 2 x.y for a query x and a gallery entry y. The
        value is the squared distance minus |x|^2. The term |x|^2 does not change the order of the
        gallery entries."""
        origin = gallery[:1].astype(np.float64)  # a large offset would cost digits
        entries = gallery - origin
        squares = np.einsum("nd,nd->n", entries, entries)
        entries *= 2.0

        def distances(queries):
            product = (queries - origin) @ entries.T
            return np.subtract(squares, product, out=product)

        return distances

    def index_vectors(self, embeddings: np.ndarray) -> np.ndarray | None:
        return embeddings

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        return embeddings.astype(np.float64)

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        return point

    def difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        return y.astype(np.float64) - x.astype(np.float64)
