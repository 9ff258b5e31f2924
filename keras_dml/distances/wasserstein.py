"""Wasserstein distance between quantile embeddings."""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._backend.values import concrete
from keras_dml._typing import Tensor
from keras_dml.distances import _rows
from keras_dml.distances.base import Distance, register
from keras_dml.embeddings import SAME_KNOTS, check_knots
from keras_dml.geometry.numerics import wide
from keras_dml.geometry.quantile import plan, wasserstein

__all__ = ["Wasserstein"]


@register("wasserstein")
class Wasserstein(Distance):
    """Distance between quantile embeddings: the p-Wasserstein distance of each filter, summed over
    the filters (Abdelwahab2019, Eq. 9).

    An embedding has shape `(filters + 1, knots)`. The last row holds the knots. Every row before
    the last row holds the values of one filter's quantile function at the knots. Comparing
    embeddings with different knots raises a ValueError in an eager call.

    Quantile functions are interpolated linearly between the knots, whereas POT and SciPy compare
    step functions. So the distances between small samples differ from the distances that POT and
    SciPy compute. For example, the distance between the samples {0, 1} and {0, 0} is .75 here, but
    .5 in POT and SciPy. The distance is NaN if an embedding has infinite values.

    Args:
        p: Order of the Wasserstein distance, a real number, at least 1.
    """

    rank = 3
    embeddings = "quantile embeddings, shape (batch, filters + 1, knots)"
    index_metric = "l1"

    def __init__(self, p: float = 1) -> None:
        wasserstein.check_order(p)
        self.p = p

    @property
    def has_mean(self) -> bool:
        """True for order `p = 2`. For other orders, the barycenter is not the average of the
        quantile functions."""
        return self.p == 2

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        _check_same_knots(x, y)
        if 0 in (x.shape[0], y.shape[0]):
            return ops.zeros((x.shape[0], y.shape[0]), wide(x.dtype))
        return wasserstein.pairwise(x[:, :-1], y[:, :-1], x[0, -1], self.p)

    def check(self, name: str, embeddings: np.ndarray, owner: keras.Model | None = None) -> None:
        check_knots(name, embeddings, _knots_of(owner), getattr(owner, "name", None))

    def check_same(self, embeddings: np.ndarray, expected: np.ndarray) -> None:
        error = np.abs(embeddings[:, -1] - expected[:, -1]).max()
        if error > SAME_KNOTS:
            raise ValueError(
                f"the knots of the embeddings differ by {error:.2g}, but at most {SAME_KNOTS} is "
                "allowed"
            )

    def degenerate(self, like: np.ndarray) -> np.ndarray:
        """Returns a constant quantile function with the same knots as the given embedding."""
        return np.concatenate([np.zeros_like(like[:-1]), like[-1:]])

    def index_vectors(self, embeddings: np.ndarray) -> np.ndarray | None:
        """Returns the values at the knots, multiplied by the weights of the trapezoid rule. The L1
        distance between two of the returned vectors is the upper bound in
        `geometry.quantile.wasserstein.bounds`."""
        return _weighted(embeddings).reshape(len(embeddings), -1)

    def lower_bounds(self, gallery: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns a function that computes the lower bound in
        `geometry.quantile.wasserstein.bounds`. The bound holds for every order p, because a power
        mean of order p >= 1 is at least the mean."""
        values = _weighted(gallery)
        vectors, means = values.reshape(len(values), -1), values.sum(-1)

        def bound(query):
            return np.maximum(_rows.l1(means, query.sum(-1)), _rows.l1(vectors, query.ravel()) / 2)

        def bounds(queries):
            return np.stack([bound(query) for query in _weighted(queries)])

        return bounds

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        return embeddings.astype(np.float64)

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        return point

    def segment_parts(self, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        return plan.segment_parts(x[:-1], y[:-1], x[-1], self.p)

    def activation_parts(self, x: np.ndarray, y: np.ndarray, count: int) -> np.ndarray | None:
        return plan.rank_parts(x[:-1], y[:-1], x[-1], count, self.p)

    def get_config(self) -> dict[str, Any]:
        return {"p": self.p}


def _weighted(embeddings):
    """Multiplies the values at the knots by the weights of the trapezoid rule. Returns an array of
    shape `(n, filters, knots)`."""
    half = np.diff(embeddings[:, -1:], axis=2) / 2  # (n, 1, segments)
    weights = np.pad(half, ((0, 0), (0, 0), (0, 1))) + np.pad(half, ((0, 0), (0, 0), (1, 0)))
    return embeddings[:, :-1] * weights


def _knots_of(model):
    """Returns the knots of a model's last quantile layer as a NumPy array. Returns None if the
    model has no quantile layer."""
    layers = model._flatten_layers() if model is not None else ()
    heads = [layer for layer in layers if hasattr(layer, "knot_values")]
    return ops.convert_to_numpy(heads[-1].knot_values()) if heads else None


def _check_same_knots(x, y):
    """Checks that embeddings have the same knots.

    A compiled step cannot check values, but all embeddings in a compiled step come from one model.
    """
    first, second = concrete(x[:, -1]), concrete(y[:, -1])
    if first is None or second is None:
        return
    rows = np.concatenate([first, second])
    if len(rows) and np.ptp(rows, axis=0).max() > SAME_KNOTS:
        raise ValueError(
            "The embeddings have different knots (their last rows), so they come from different "
            "models and cannot be compared. Compute all embeddings with one model."
        )
