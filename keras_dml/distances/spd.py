"""Distances of symmetric positive definite (SPD) matrices."""

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.values import concrete
from keras_dml.distances import _rows
from keras_dml.distances.base import Distance, register
from keras_dml.geometry import spd

__all__ = ["AffineInvariant", "BuresWasserstein", "LogEuclidean", "Stein"]


class SPDDistance(Distance):
    """Base class of distances of SPD matrices, `(n, k, k)` and `(m, k, k)` to `(n, m)`.

    Attributes:
        definite: Names of the arguments that must be positive definite: other matrices have the
            distance NaN there, and an eager call raises a ValueError.
    """

    rank = 3
    embeddings = "SPD matrices, shape (batch, n, n)"
    device_distance = "log_euclidean"
    definite = ()

    def __call__(self, x, y):
        x, y = self.checked(x, y)
        found = self.pairwise(x, y)
        values = concrete(found)
        if values is not None and np.isnan(values).any():
            for name in self.definite:
                _check_definite(name, concrete({"x": x, "y": y}[name]))
        return found

    def degenerate(self, like):
        """The identity: the zero matrix is not definite."""
        return np.eye(like.shape[-1], dtype=like.dtype)

    def index_vectors(self, embeddings):
        """Logarithms as vectors: their distance is the log-Euclidean one."""
        return ops.convert_to_numpy(spd.vectorize(spd.log(embeddings)))


@register("affine_invariant")
class AffineInvariant(SPDDistance):
    """Affine-invariant distance of SPD matrices (Kim2020, Eq. 5), without unit.

    Takes an eigendecomposition for each pair; `LogEuclidean` takes one for each matrix.

    A matrix of the first argument that is not positive definite raises a ValueError; in a compiled
    step its distances are NaN. In the second argument it is far, at a finite distance that rounding
    decides: rectify it first.
    """

    definite = ("x",)

    def pairwise(self, x, y):
        return spd.affine_invariant_pairwise(x, y)

    def lower_bounds(self, gallery):
        """The log-Euclidean distance, which is never above."""
        return LogEuclidean().lower_bounds(gallery)


@register("log_euclidean")
class LogEuclidean(SPDDistance):
    """Log-Euclidean distance of SPD matrices (Kim2020, Eq. 4), without unit.

    Never above the affine-invariant distance. Eigenvalues of a singular or indefinite matrix that
    are below rounding count as rounding: the distance is finite.
    """

    def pairwise(self, x, y):
        return spd.log_euclidean_pairwise(x, y)

    def lower_bounds(self, gallery):
        """The distance itself, with the logarithms of the gallery taken once."""
        vectors = self.index_vectors(gallery)
        return lambda queries: np.stack(
            [_rows.l2(vectors, one) for one in self.index_vectors(queries)]
        )


@register("stein")
class Stein(SPDDistance):
    """Stein distance of SPD matrices, without unit (Sra2012).

    Computed from determinants, without eigenvalues. A matrix that is not positive definite raises a
    ValueError; in a compiled step its distances are NaN.
    """

    definite = ("x", "y")

    def pairwise(self, x, y):
        return spd.stein_pairwise(x, y)


@register("bures_wasserstein")
class BuresWasserstein(SPDDistance):
    """Bures-Wasserstein distance of positive semidefinite matrices, in the root of their unit
    (Bhatia2019).

    Singular matrices are at a finite distance; an indefinite one is compared by its positive part.
    Exported files compute it from matrix products, without an eigendecomposition.
    """

    device_distance = None
    device_tolerance = 2e-3

    def pairwise(self, x, y):
        return spd.bures_wasserstein_pairwise(x, y)

    def on_device(self, x, y):
        return spd.bures_wasserstein_by_polynomials(*self.checked(x, y))


def _check_definite(name, matrices):
    """Refuses matrices that are finite and not positive definite."""
    finite = np.isfinite(matrices).all(axis=(1, 2))
    values = np.linalg.eigvalsh((matrices + matrices.swapaxes(1, 2))[finite])
    rounding = matrices.shape[-1] * np.finfo(matrices.dtype).eps * values[:, -1]
    bad = np.flatnonzero(finite)[values[:, 0] <= rounding]
    if len(bad):
        raise ValueError(
            f"`{name}` must hold positive definite matrices. Received {len(bad)} with an "
            f"eigenvalue that is not above rounding, the first at index {bad[0]}. End the model in "
            "`keras_dml.layers.ReEig`, or apply `keras_dml.geometry.spd.rectify` first."
        )
