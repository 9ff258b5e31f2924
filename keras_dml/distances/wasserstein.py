"""Wasserstein distance of quantile embeddings."""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._backend.values import concrete
from keras_dml._typing import Tensor
from keras_dml.distances import _rows
from keras_dml.distances.base import Distance, register
from keras_dml.geometry.numerics import wide
from keras_dml.geometry.quantile import plan, wasserstein

__all__ = ["Wasserstein"]
SAME_KNOTS = 1e-3  # allowed difference; a float16 file rounds knots by up to 5e-4


@register("wasserstein")
class Wasserstein(Distance):
    """Sum over filters of p-Wasserstein distances between quantile embeddings (Abdelwahab2019,
    Eq. 9).

    An embedding has shape `(filters + 1, knots)`: the values at the knots, and the knots themselves
    as its last row. Embeddings of models with other knots raise a ValueError in an eager call.

    Quantile functions are interpolated between the knots, so distances of few samples differ from
    those of POT and SciPy, which compare step functions: .75 instead of .5 between the samples
    {0, 1} and {0, 0}. Embeddings with infinite values have the distance NaN.

    Args:
        p: Order of the distance, a real number, at least 1.
    """

    rank = 3
    embeddings = "quantile embeddings, shape (batch, filters + 1, knots)"
    index_metric = "l1"

    def __init__(self, p: float = 1) -> None:
        wasserstein.check_order(p)
        self.p = p

    @property
    def has_mean(self) -> bool:
        """True for order 2, for which the barycenter is an average of quantile functions."""
        return self.p == 2

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        _check_same_knots(x, y)
        if 0 in (x.shape[0], y.shape[0]):
            return ops.zeros((x.shape[0], y.shape[0]), wide(x.dtype))
        return wasserstein.pairwise(x[:, :-1], y[:, :-1], x[0, -1], self.p)

    def check(self, name: str, embeddings: np.ndarray, owner: keras.Model | None = None) -> None:
        knots = embeddings[:, -1].astype(np.float64)
        falling = (np.diff(knots, axis=1) <= 0).any(axis=1)
        if falling.any():
            raise ValueError(
                f"`{name}` holds no quantile embedding in row {np.flatnonzero(falling)[0]}: its "
                "knots, the last row, must ascend from 0 to 1. Pass embeddings as "
                "`keras_dml.embed` returns them."
            )
        expected = _knots_of(owner)
        if expected is not None and len(knots):
            errors = np.abs(knots - expected).max(axis=1)
            if errors.max() > SAME_KNOTS:
                raise ValueError(
                    f"`{name}` holds an embedding of another model in row {errors.argmax()}: its "
                    f"knots are not those of {owner.name!r}. Embed both sides with one model."
                )

    def check_same(self, embeddings: np.ndarray, expected: np.ndarray) -> None:
        error = np.abs(embeddings[:, -1] - expected[:, -1]).max()
        if error > SAME_KNOTS:
            raise ValueError(f"its knots are off by {error:.2g}, more than {SAME_KNOTS}")

    def degenerate(self, like: np.ndarray) -> np.ndarray:
        """Returns a constant quantile function at the knots of the given embedding."""
        return np.concatenate([np.zeros_like(like[:-1]), like[-1:]])

    def index_vectors(self, embeddings: np.ndarray) -> np.ndarray | None:
        """Returns the values times the trapezoid weights of their knots, whose L1 distance is the
        upper bound of `geometry.quantile.wasserstein.bounds`."""
        return _weighted(embeddings).reshape(len(embeddings), -1)

    def lower_bounds(self, gallery: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns a function for the lower bound of `geometry.quantile.wasserstein.bounds`. It
        holds for any order, because a power mean is at least the mean."""
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
    """Computes values times the trapezoid weights of their knots, shape `(n, filters, knots)`."""
    half = np.diff(embeddings[:, -1:], axis=2) / 2  # (n, 1, segments)
    weights = np.pad(half, ((0, 0), (0, 0), (0, 1))) + np.pad(half, ((0, 0), (0, 0), (1, 0)))
    return embeddings[:, :-1] * weights


def _knots_of(model):
    """Returns the knots of the last layer with knots as a NumPy array, or None."""
    layers = model._flatten_layers() if model is not None else ()
    heads = [layer for layer in layers if hasattr(layer, "knot_values")]
    return ops.convert_to_numpy(heads[-1].knot_values()) if heads else None


def _check_same_knots(x, y):
    """Checks that embeddings have the same knots.

    A compiled step, in which both sides come from one model, has no values to check.
    """
    first, second = concrete(x[:, -1]), concrete(y[:, -1])
    if first is None or second is None:
        return
    rows = np.concatenate([first, second])
    if len(rows) and np.ptp(rows, axis=0).max() > SAME_KNOTS:
        raise ValueError(
            "The embeddings have different knots (their last rows), so they come from different "
            "models and cannot be compared. Embed both sides with one model."
        )
