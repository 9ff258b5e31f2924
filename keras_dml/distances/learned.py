"""Distance that is the negative of a learned similarity."""

from typing import Any

import numpy as np

from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.distances.base import Distance, register
from keras_dml.distances.vector import Cosine

__all__ = ["NegativeSimilarity"]


@register("learned_similarity")
class NegativeSimilarity(Distance):
    """Negative learned similarity, `d(x, y) = -S(x, y)`. A smaller value means more similar.

    The distance is not a metric: d(x, x) is not 0, distances may be negative, and the triangle
    inequality does not hold. `keras_dml.distances.get` cannot create this distance from a name,
    because the weights of the distance are part of a model.

    Args:
        layer: Built layer `keras_dml.layers.LearnedSimilarity` that computes S.
    """

    is_zero_at_itself = False
    is_learned = True

    def __init__(self, layer: keras.layers.Layer) -> None:
        self.layer = layer

    @property
    def weights(self) -> list[keras.Variable]:
        return self.layer.weights

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        return -self.layer(x, y, training=False)

    def index_vectors(self, embeddings: np.ndarray) -> np.ndarray | None:
        """Returns vectors of length 1, so that a database can search for candidates with a high
        cosine. The learned similarity may rank the candidates in another order than the cosine."""
        return Cosine().index_vectors(embeddings)

    def bytes_per_pair(self, embedding: np.ndarray) -> int:
        return 4  # hidden units of pairs are not stored

    def get_config(self) -> dict[str, Any]:
        return {"symmetry": self.layer.symmetry}
