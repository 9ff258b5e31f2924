"""Distances of symmetric positive definite (SPD) matrices."""

from collections.abc import Callable

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.values import concrete
from keras_dml._typing import Tensor
from keras_dml.distances import _rows
from keras_dml.distances.base import Distance, register
from keras_dml.geometry import spd
from keras_dml.geometry.spd.difference import (
    affine_invariant_difference,
    log_euclidean_difference,
    logarithm,
)
from keras_dml.geometry.spd.matrices import condition_limit
from keras_dml.geometry.spd.mean import spectral

__all__ = ["AffineInvariant", "BuresWasserstein", "LogEuclidean", "Stein"]


class SPDDistance(Distance):
    """Base class of distances between SPD matrices. The distances of matrices `(n, k, k)` and
    `(m, k, k)` have shape `(n, m)`.

    Attributes:
        needs_definite: Whether matrices must be positive definite. If True, an eager call raises a
            ValueError for a matrix that is not positive definite, and a compiled step returns NaN.
    """

    rank = 3
    embeddings = "SPD matrices, shape (batch, n, n)"
    device_distance = "log_euclidean"
    needs_definite = False

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        x, y = self.checked(x, y)
        distances = self.pairwise(x, y)
        values = concrete(distances)
        if self.needs_definite and values is not None and np.isnan(values).any():
            _check_definite("x", concrete(x))
            _check_definite("y", concrete(y))
        return distances

    def degenerate(self, like: np.ndarray) -> np.ndarray:
        """Returns the identity, because the zero matrix is not positive definite."""
        return np.eye(like.shape[-1], dtype=like.dtype)

    def index_vectors(self, embeddings: np.ndarray) -> np.ndarray | None:
        """Returns the logarithms of the matrices as vectors. The Euclidean distance between two
        vectors is the log-Euclidean distance between the two matrices."""
        embeddings = ops.convert_to_numpy(embeddings)
        vectors = ops.convert_to_numpy(spd.vectorize(logarithm(embeddings)))
        return vectors.astype(embeddings.dtype)


@register("affine_invariant")
class AffineInvariant(SPDDistance):
    """Affine-invariant distance between SPD matrices (Kim2020, Eq. 5). The distance has no unit.

    This distance needs one eigendecomposition for each pair of matrices, whereas `LogEuclidean`
    needs one eigendecomposition for each matrix.

    The distance raises a ValueError if a matrix is not positive definite, or if its condition
    number exceeds 2e6 in float32 or 1e13 in float64. In a compiled step, the distances of such a
    matrix are NaN.
    """

    needs_definite = True

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        return spd.affine_invariant_pairwise(x, y)

    def lower_bounds(self, gallery: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns a function that computes log-Euclidean distances. A log-Euclidean distance is
        never larger than the affine-invariant distance between the same matrices."""
        return LogEuclidean().lower_bounds(gallery)

    def difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        return affine_invariant_difference(x, y)


@register("log_euclidean")
class LogEuclidean(SPDDistance):
    """Log-Euclidean distance between SPD matrices (Kim2020, Eq. 4). The distance has no unit.

    This distance never exceeds the affine-invariant distance. Eigenvalues below the rounding error
    are raised to the rounding error, so that distances of singular or indefinite matrices are
    finite.
    """

    has_mean = True

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        return spd.log_euclidean_pairwise(x, y)

    def lower_bounds(self, gallery: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Returns a function that computes the distance itself instead of a lower bound. The
        function computes the logarithms of the gallery only once."""
        vectors = self.index_vectors(gallery)
        return lambda queries: np.stack(
            [_rows.l2(vectors, query) for query in self.index_vectors(queries)]
        )

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        """Returns matrix logarithms. The average of matrix logarithms corresponds to the
        log-Euclidean mean."""
        return logarithm(embeddings)

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        return spectral(np.exp, point)

    def difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        return log_euclidean_difference(x, y)


@register("stein")
class Stein(SPDDistance):
    """Stein distance between SPD matrices (Sra2012). The distance has no unit.

    The distance is computed from determinants. The distance raises a ValueError if a matrix is not
    positive definite, or if its condition number exceeds 2e6 in float32 or 1e13 in float64. In a
    compiled step, the distances of such a matrix are NaN.
    """

    needs_definite = True

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        return spd.stein_pairwise(x, y)


@register("bures_wasserstein")
class BuresWasserstein(SPDDistance):
    """Bures-Wasserstein distance between positive semidefinite matrices (Bhatia2019). The unit of
    the distance is the square root of the matrices' unit.

    The distance to a singular matrix is finite. If a matrix is indefinite, the distance compares
    only the positive part of the matrix. Exported files compute the distance from matrix products,
    without an eigendecomposition.
    """

    device_distance = None
    device_tolerance: float = 2e-3

    def pairwise(self, x: Tensor, y: Tensor) -> Tensor:
        return spd.bures_wasserstein_pairwise(x, y)

    def on_device(self, x: Tensor, y: Tensor) -> Tensor:
        return spd.bures_wasserstein_by_polynomials(*self.checked(x, y))


def _check_definite(name, matrices):
    """Raises a ValueError if a finite matrix is singular, nearly singular or indefinite."""
    limit = condition_limit(matrices.dtype)
    finite = np.isfinite(matrices).all(axis=(1, 2))
    matrices = matrices[finite].astype(np.float64)
    values = np.linalg.eigvalsh((matrices + matrices.swapaxes(1, 2)) / 2)
    singular = np.flatnonzero(finite)[values[:, 0] * limit <= values[:, -1]]
    if len(singular):
        raise ValueError(
            f"`{name}` must hold positive definite matrices with a condition number of at most "
            f"{limit:.0e}. Received {len(singular)} singular, indefinite or nearly singular "
            f"matrices, the first at index {singular[0]}. End the model "
            "with `keras_dml.layers.ReEig`, or apply `keras_dml.geometry.spd.rectify` first."
        )
