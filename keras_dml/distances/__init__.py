"""Distances as objects, which compute `d(x, y) -> (n, m)`. Smaller is closer.

- `base`: base class `Distance`, and the registry of names
- `vector`: cosine and Euclidean distance
- `wasserstein`: p-Wasserstein distance of quantile embeddings
- `spd`: distances of symmetric positive definite matrices
- `learned`: a learned similarity as a distance

Losses, evaluation, galleries and exports take one of these objects or its name, so that training,
tests and devices use the same distance. Distances have no state, because an embedding contains
everything that its distance needs. They raise a ValueError for embeddings of another rank or of two
models. A custom distance is a subclass of `Distance` under `@register`.
"""

from keras_dml.distances import base, learned, spd, vector, wasserstein
from keras_dml.distances.base import *  # noqa: F403
from keras_dml.distances.learned import *  # noqa: F403
from keras_dml.distances.spd import *  # noqa: F403  a new distance touches one file
from keras_dml.distances.vector import *  # noqa: F403
from keras_dml.distances.wasserstein import *  # noqa: F403

__all__ = [
    *base.__all__,
    *learned.__all__,
    *spd.__all__,
    *vector.__all__,
    *wasserstein.__all__,
]
