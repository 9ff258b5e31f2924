"""Distance of the two-covariance model (PLDA)."""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._backend.values import concrete
from keras_dml._typing import Tensor
from keras_dml.distances.base import Distance, register
from keras_dml.embeddings import check_variances, variance_errors
from keras_dml.geometry import two_covariance
from keras_dml.geometry.numerics import wide

__all__ = ["LogLikelihoodRatio"]


@register("two_covariance")
class LogLikelihoodRatio(Distance):
    """Negative log likelihood ratio of two recordings in the two-covariance model (PLDA in closed
    form; Prince2007; Bruemmer2010).

    An embedding has shape `(2, features)`. The first row holds the vector, in units of the standard
    deviation within people. The second row holds the variances between people, which are equal in
    all embeddings of a model. The layer `keras_dml.layers.TwoCovariance` computes such embeddings.
    Comparing embeddings with different variances raises a ValueError in an eager call.

    The distance is negative if one person is more likely than two people, so 0 is the threshold at
    which both hypotheses are equally likely.

    A database cannot index such embeddings, because no vectors rank by their Euclidean distance as
    the log likelihood ratio does. So galleries of this distance are files.
    """

    rank = 3
    embeddings = "embeddings of the two-covariance model, shape (batch, 2, features)"
    is_zero_at_itself = False
    has_mean = True

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        _check_same_variances(x, y)
        if 0 in (x.shape[0], y.shape[0]):
            return ops.zeros((x.shape[0], y.shape[0]), wide(x.dtype))
        return -two_covariance.pairwise(x[:, 0], y[:, 0], x[0, 1])

    def on_device(self, x: Tensor, y: Tensor) -> Tensor:
        """Computes all distances from differences of vectors, see
        `keras_dml.distances.Euclidean.on_device`."""
        x, y = self.checked(x, y)
        return -two_covariance.pairwise(x[:, 0], y[:, 0], x[0, 1], by_differences=True)

    def check(self, name: str, embeddings: np.ndarray, owner: keras.Model | None = None) -> None:
        check_variances(name, embeddings)

    def check_same(self, embeddings: np.ndarray, expected: np.ndarray) -> None:
        if variance_errors(embeddings[:, 1], expected[0, 1]).max() > 1:
            raise ValueError(
                "the variances of the embeddings differ by more than the rounding errors of float16"
            )

    def degenerate(self, like: np.ndarray) -> np.ndarray:
        """Returns the vector of zeros with the same variances as the given embedding."""
        return np.stack([np.zeros_like(like[0]), like[1]])

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        return embeddings.astype(np.float64)

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        return point


def _check_same_variances(x, y):
    """Checks that embeddings have the same variances. A compiled step cannot check values, but all
    embeddings in a compiled step come from one model."""
    first, second = concrete(x[:, 1]), concrete(y[:, 1])
    if first is None or second is None:
        return
    rows = np.concatenate([first, second])
    if len(rows) and variance_errors(rows, rows[0]).max() > 1:
        raise ValueError(
            "The embeddings have different variances (their second rows), so they come from "
            "different models and cannot be compared. Compute all embeddings with one model."
        )
