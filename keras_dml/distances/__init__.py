"""Distance objects. A distance object computes the distances `d(x, y)`, shape `(n, m)`, between two
sets of embeddings. A smaller distance means more similar.

- `base`: base class `Distance`, and the registry of names
- `vector`: cosine and Euclidean distance
- `wasserstein`: p-Wasserstein distance of quantile embeddings
- `spd`: distances of symmetric positive definite matrices
- `two_covariance`: negative log likelihood ratio of the two-covariance model
- `learned`: distance of a learned similarity

Losses, evaluation, galleries and exports take a distance object or the name of a distance. So
training, evaluation and exported files can compare embeddings by the same distance. Distances have
no state, because an embedding contains everything that a distance needs. A distance raises a
ValueError if embeddings have a wrong rank or come from two different models. To add a distance,
decorate a subclass of `Distance` with `@register`.
"""

from keras_dml.distances import base, learned, spd, two_covariance, vector, wasserstein
from keras_dml.distances.base import *  # noqa: F403
from keras_dml.distances.learned import *  # noqa: F403
from keras_dml.distances.spd import *  # noqa: F403  a new distance touches one file
from keras_dml.distances.two_covariance import *  # noqa: F403
from keras_dml.distances.vector import *  # noqa: F403
from keras_dml.distances.wasserstein import *  # noqa: F403

__all__ = [
    *base.__all__,
    *learned.__all__,
    *spd.__all__,
    *two_covariance.__all__,
    *vector.__all__,
    *wasserstein.__all__,
]
