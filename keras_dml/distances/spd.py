"""Distances of symmetric positive definite (SPD) matrices."""

import numpy as np

from keras_dml._backend.values import concrete
from keras_dml.distances.base import Distance, register
from keras_dml.geometry import spd

__all__ = ["AffineInvariant", "BuresWasserstein", "LogEuclidean", "Stein"]


class SPDDistance(Distance):
    """A distance of SPD matrices, `(n, k, k)` and `(m, k, k)` to `(n, m)`.

    Attributes:
        definite: The arguments that must be positive definite: a matrix there that is not has the
            distance NaN, which an eager call refuses.
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


@register("affine_invariant")
class AffineInvariant(SPDDistance):
    """Affine-invariant distance of SPD matrices (Kim2020, Eq. 5), without unit.

    Takes an eigendecomposition for each pair: where many are compared, `LogEuclidean` takes one for
    each matrix.

    A first argument that is not positive definite is refused, in a compiled step its distances are
    NaN. A second one is far, at a finite distance that rounding decides: rectify it first.
    """

    definite = ("x",)

    def pairwise(self, x, y):
        return spd.affine_invariant_pairwise(x, y)


@register("log_euclidean")
class LogEuclidean(SPDDistance):
    """Log-Euclidean distance of SPD matrices (Kim2020, Eq. 4), without unit; never above the
    affine-invariant one.

    Of a matrix that is singular or indefinite, eigenvalues below rounding count as rounding: the
    distance is finite.
    """

    def pairwise(self, x, y):
        return spd.log_euclidean_pairwise(x, y)


@register("stein")
class Stein(SPDDistance):
    """Stein distance of SPD matrices, without unit: from determinants, no eigenvalues (Sra2012).

    A matrix that is not positive definite is refused on either side, in a compiled step its
    distances are NaN.
    """

    definite = ("x", "y")

    def pairwise(self, x, y):
        return spd.stein_pairwise(x, y)


@register("bures_wasserstein")
class BuresWasserstein(SPDDistance):
    """Bures-Wasserstein distance of positive semidefinite matrices, in the root of their unit
    (Bhatia2019).

    Singular matrices are at a finite distance; of an indefinite one the positive part is compared.
    Exported files compute it from matrix products, without an eigendecomposition.
    """

    device_distance = None
    device_tolerance = 2e-3

    def pairwise(self, x, y):
        return spd.bures_wasserstein_pairwise(x, y)

    def on_device(self, x, y):
        return spd.bures_wasserstein_by_polynomials(*self.checked(x, y))


def _check_definite(name, matrices):
    """Looks for the matrix that has no distance; one that is not finite keeps its NaN."""
    finite = np.isfinite(matrices).all(axis=(1, 2))
    values = np.linalg.eigvalsh((matrices + matrices.swapaxes(1, 2))[finite])
    rounding = matrices.shape[-1] * np.finfo(matrices.dtype).eps * values[:, -1]
    bad = np.flatnonzero(finite)[values[:, 0] <= rounding]
    if len(bad):
        raise ValueError(
            f"`{name}` must hold positive definite matrices. Received {len(bad)} with an "
            f"eigenvalue that is not above rounding, the first at place {bad[0]}. End the model in "
            "`keras_dml.layers.ReEig`, or apply `keras_dml.geometry.spd.rectify` first."
        )
