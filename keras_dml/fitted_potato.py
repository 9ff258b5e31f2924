"""Computes scores of a fitted Riemannian potato (an outlier detector), and reads and writes its
file.

The module needs only NumPy, so that devices can check recordings. `keras_dml.potato.Potato` fits
potatoes.
"""

from __future__ import annotations

import dataclasses
import json
import numbers
from typing import IO, Self

import numpy as np

from keras_dml._arrays import real
from keras_dml._typing import ArrayLike, Path
from keras_dml.geometry import potato_scores
from keras_dml.geometry.potato_scores import Statistics


@dataclasses.dataclass(frozen=True)
class FittedPotato:
    """Statistics and settings of a fitted `keras_dml.potato.Potato`, whose docstring explains them.

    Attributes:
        statistics: Center of the clean matrices, and mean and standard deviation of their distances
            from the center.
        threshold: Threshold of the score, in standard deviations. A matrix is rejected if its score
            is at least the threshold.
        update_rate: Weight of a new matrix in the running statistics, or None. Scores do not depend
            on the weight.
        scale: `"geometric"` or `"arithmetic"`.

    Raises:
        ValueError: If a setting has an invalid value.
    """

    statistics: Statistics
    threshold: float
    update_rate: float | None
    scale: str

    def __post_init__(self) -> None:
        check_settings(self.threshold, self.update_rate, self.scale)

    @property
    def center_(self) -> np.ndarray:
        """Mean of the clean matrices, shape `(n, n)`, as in `Potato`."""
        return self.statistics.center

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Computes z-scores (Kim2020, Eq. 6), see `Potato.transform`.

        Args:
            X: Matrices, shape `(count, n, n)`.

        Returns:
            Scores, shape `(count,)`. Artifacts have higher or infinite scores.

        Raises:
            ValueError: If the matrices have another size than the center.
        """
        return scores(self.statistics, checked_matrices(X, len(self.center_)), self.scale)

    def write(self, file: IO[bytes]) -> None:
        """Writes the potato to an open `.npz` file, which uses 8 bytes per matrix entry."""
        names = ("threshold", "update_rate", "scale")
        settings = json.dumps({name: getattr(self, name) for name in names})
        np.savez(file, settings=settings, **self.statistics._asdict())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a potato from a file that `Potato.save` wrote.

        Args:
            path: Path of the file to read.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If the file is damaged, or was not written by `Potato.save`.
        """
        with open(path, "rb") as stream:
            return cls.read(stream, f"{path}")

    @classmethod
    def read(cls, file: IO[bytes], name: str) -> Self:
        """Reads a potato from an open file.

        Args:
            file: Open file that `write` wrote.
            name: Name of the file in error messages.

        Raises:
            ValueError: If the file is damaged, or was not written by `write`.
        """
        try:
            with np.load(file, allow_pickle=False) as archive:
                _check_uncompressed(archive.zip)
                settings = json.loads(str(archive["settings"]))
                return cls(_read_statistics(archive), **settings)
        except Exception as error:  # damage may raise any error of zip, zlib, JSON and NumPy
            raise ValueError(
                f"{name} is not a file of a `Potato`, or it is damaged "
                f"({str(error) or repr(error)}). Give a file that `Potato.save` wrote."
            ) from error


def check_settings(threshold: float, update_rate: float | None, scale: str) -> None:
    """Checks the settings of a potato.

    Raises:
        ValueError: If a setting has an invalid value.
    """
    if not isinstance(threshold, numbers.Real) or not abs(threshold) < np.inf:
        raise ValueError(
            "`threshold` must be a number of standard deviations, such as 3. Received "
            f"threshold={threshold!r}."
        )
    if scale not in tuple(potato_scores.SCALES):
        raise ValueError(
            f"`scale` must be one of {tuple(potato_scores.SCALES)}. Received scale={scale!r}."
        )
    potato_scores.check_update_rate(update_rate)


def checked_matrices(X: ArrayLike, n: int) -> np.ndarray:
    """Converts matrices to a float64 array, and checks that its shape is `(count, n, n)`.

    Raises:
        TypeError: If the matrices do not hold real numbers.
        ValueError: If the array has another shape.
    """
    X = real("`X`", X, np.float64)
    if X.ndim != 3 or X.shape[1:] != (n, n):
        raise ValueError(
            f"This potato was fitted to matrices of shape ({n}, {n}), so it needs an array of "
            f"shape (count, {n}, {n}). Received shape {X.shape}."
        )
    return X


def scores(statistics: Statistics, X: np.ndarray, scale: str) -> np.ndarray:
    """Computes z-scores, shape `(count,)`, of matrices `(count, n, n)` in float64.

    Args:
        statistics: Statistics of the clean matrices.
        X: Matrices.
        scale: `"geometric"` or `"arithmetic"`.
    """
    distances = potato_scores.distances(statistics.center, X)
    values = potato_scores.SCALES[scale](distances, potato_scores.MIN_DISTANCE_FLOAT64)
    min_stddev = potato_scores.MIN_STDDEV_FLOAT64[scale]
    return potato_scores.z_score(values, statistics.mean, statistics.stddev, min_stddev)


def _check_uncompressed(archive):
    """Raises an error if an archive has compressed members, because their size may exceed the size
    of the archive."""
    import zipfile  # devices without a potato save 1.5 MB

    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(
                f"the member {member.filename} of the file is compressed, but its size must be "
                "known without decompression"
            )


def _read_statistics(archive):
    """Reads the statistics of a potato from an archive and checks them."""
    center, *values = (real(name, archive[name]) for name in Statistics._fields)
    mean, stddev, count = (value.item() for value in values)
    if not (np.isfinite(center).all() and np.isfinite([mean, stddev]).all()):
        raise ValueError("the statistics in the file hold NaN or infinity")
    if not (stddev >= 0 and count >= potato_scores.MIN_SAMPLES):
        raise ValueError(
            f"the file states a standard deviation of {stddev} from {count} matrices, but the "
            "standard deviation must be at least 0 and the number of matrices at least "
            f"{potato_scores.MIN_SAMPLES}"
        )
    if not np.array_equal(center, center.T):
        raise ValueError("the center in the file is not a symmetric matrix")
    np.linalg.cholesky(center)  # raises an error unless the center is positive definite
    return Statistics(center, mean, stddev, count)
