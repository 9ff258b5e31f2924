"""The geometry as objects: `d(x, y) -> (n, m)`, small is near.

Losses, evaluation, galleries and exports take one of these objects or its name, so that training,
testing and the device cannot disagree. An embedding carries all that its distance needs; the
objects have no state. All raise a ValueError for embeddings of another rank or of two models, which
says what was given. A distance of one's own is a subclass of `Distance` under `@register`.
"""

from keras_dml.distances.base import Distance, declared, get, names, register, serialize
from keras_dml.distances.learned import NegativeSimilarity
from keras_dml.distances.spd import AffineInvariant, LogEuclidean, Stein
from keras_dml.distances.vector import Cosine, Euclidean
from keras_dml.distances.wasserstein import Wasserstein

__all__ = [
    "AffineInvariant",
    "Cosine",
    "Distance",
    "Euclidean",
    "LogEuclidean",
    "NegativeSimilarity",
    "Stein",
    "Wasserstein",
    "declared",
    "get",
    "names",
    "register",
    "serialize",
]
