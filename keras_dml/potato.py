"""The Riemannian potato: is this window of a recording like the clean ones, or an artifact?

NumPy, in float64. `keras_dml.export.potato` writes a fitted one as a SavedModel.
"""

import json
import zipfile

import numpy as np

from keras_dml._arrays import real
from keras_dml._files import staged
from keras_dml.geometry.spd import potato_float64 as values
from keras_dml.geometry.spd.potato_float64 import Statistics, check_update_rate

SCALES = {"geometric": values.log_distance, "arithmetic": lambda distance: distance}
MAX_ROUNDS = 100  # of dropping artifacts; each drops at least one matrix
# Least deviation that a score is divided by: rounding of distances in float64.
MIN_STDDEV = 1e-6


class Potato:
    """Accepts covariance matrices that are as far from the mean of clean ones as these are, and
    rejects those farther away (Barachant2013; Kim2020, Eqs. 6-9, 19-21).

    A matrix scores `z = (log d - mean) / deviation`, with d its affine-invariant distance to the
    center, and is accepted where z is below the threshold; one that is too near is never rejected.
    A matrix that is singular, indefinite or not finite is infinitely far, so a dead channel is an
    artifact and no error. Scores and `fit` are those of pyRiemann's `Potato`. `partial_fit` follows
    the paper: distance to the center before it moves, one matrix at a time, accepted ones only;
    pyRiemann moves the center first, to the batch's mean, and measures that mean.

    Args:
        threshold: Greatest score that is accepted, in deviations; 3 in pyRiemann, 2.5 in
            Barachant2013.
        update_rate: Share of one matrix in statistics after it, from 0 to 1 (beta_delta in
            Kim2020). None: one over the number of matrices seen, so that the potato settles; a
            constant such as 0.01 lets it follow slow drifts.
        scale: `"geometric"`, on logarithms of distances, or `"arithmetic"`, on distances, as in
            Barachant2013.

    Attributes:
        center_: Mean of the clean matrices, shape `(n, n)`.
        mean_: Mean of the logarithms of distances, log mu in Kim2020 (arithmetic: of distances).
        stddev_: Their standard deviation, log sigma in Kim2020.
        count_: Number of matrices that the statistics have seen.
        clean_: Which matrices of the last `fit` were kept, shape `(count,)`.

    Example:
        >>> x = np.exp([-1.2, -1.0, -0.9, 0.9, 1.0, 1.2])[:, None, None]
        >>> Potato().fit(x).accept(np.array([[[1.0]], [[20.0]]]))
        array([ True, False])
    """

    def __init__(self, threshold=3.0, *, update_rate=None, scale="geometric"):
        if not abs(threshold) < float("inf"):
            raise ValueError(
                "`threshold` is a number of deviations, such as 3. Received "
                f"threshold={threshold!r}."
            )
        if scale not in SCALES:
            raise ValueError(f"`scale` must be one of {tuple(SCALES)}. Received scale={scale!r}.")
        self.threshold = float(threshold)
        self.update_rate = check_update_rate(update_rate)
        self.scale = scale
        self._statistics = None

    def fit(self, x):
        """Finds the clean matrices and measures them: drops what scores at or above the threshold,
        measures again, until all stay.

        Args:
            x: Positive definite matrices, shape `(count, n, n)`, artifacts among them.

        Returns:
            The potato.

        Raises:
            ValueError: If there are fewer than two matrices, fewer than two stay, or one is not
                finite or not positive definite.
            TypeError: If they are masked or no real numbers.
        """
        x = real("`x`", x, np.float64)
        kept = np.ones(len(x), bool)
        for _ in range(MAX_ROUNDS):
            statistics = values.calibrate(x[kept], SCALES[self.scale])
            stay = kept.copy()
            stay[kept] = self._scores(statistics, x[kept]) < self.threshold
            if (stay == kept).all():
                break
            kept = stay
            if kept.sum() < values.LEAST_SAMPLES:
                raise ValueError(
                    f"threshold={self.threshold} rejects all but {kept.sum()} of {len(x)} "
                    "matrices. Choose a higher threshold, or check that most windows are clean."
                )
        self._statistics, self.clean_ = statistics, kept
        return self

    def partial_fit(self, x):
        """Follows new matrices, one after the other, as `update` does.

        Args:
            x: Matrices, shape `(count, n, n)`.

        Returns:
            The potato.

        Raises:
            ValueError: If the potato is not fitted, or the matrices have another size.
        """
        for matrix in self._matrices(x):
            self.update(matrix)
        return self

    def update(self, matrix):
        """Scores one matrix and, where it is accepted, moves the statistics by it (Kim2020,
        Eqs. 19-21).

        Args:
            matrix: Shape `(n, n)`.

        Returns:
            The score before the update, a float; infinite for a matrix that is not positive
            definite.

        Raises:
            ValueError: If the potato is not fitted, or the matrix has another size.
        """
        (matrix,) = self._matrices(real("`matrix`", matrix)[None])
        white = values.whitened(self.center_, matrix)
        score = float(self._of_distances(self._fitted, values.distance_of(white[1])))
        if score < self.threshold:
            measure = SCALES[self.scale]
            self._statistics = values.moved(self._fitted, white, self.update_rate, measure)
        return score

    def z_score(self, x):
        """How many deviations matrices are farther from the center than is usual (Kim2020, Eq. 6).

        Args:
            x: Matrices, shape `(count, n, n)`.

        Returns:
            Scores, shape `(count,)`; infinite for a matrix that is not positive definite.

        Raises:
            ValueError: If the potato is not fitted, or the matrices have another size.
        """
        return self._scores(self._fitted, self._matrices(x))

    def accept(self, x):
        """Which matrices are clean, a boolean each; arguments and errors as those of `z_score`."""
        return self.z_score(x) < self.threshold

    def probability(self, x):
        """Probability that a clean matrix is at least so far, were scores normal; arguments and
        errors as those of `z_score`."""
        import scipy.stats

        return scipy.stats.norm.sf(self.z_score(x))

    def save(self, path):
        """Writes the potato as a small `.npz` file of arrays, 8 bytes a matrix entry.

        The file is written beside `path` and renamed, so `path` is always whole.

        Raises:
            ValueError: If the potato is not fitted, or there is something else than a regular file.
            OSError: If the folder is not there or cannot be written to.
        """
        arrays = self._fitted._asdict()
        settings = {
            "threshold": self.threshold,
            "update_rate": self.update_rate,
            "scale": self.scale,
        }
        with staged(path) as candidate, candidate.open("wb") as file:
            np.savez(file, settings=json.dumps(settings), **arrays)

    @classmethod
    def load(cls, path):
        """The potato that `save` wrote; it goes on like the original, but for `clean_`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is damaged, or is no potato's.
        """
        with open(path, "rb") as whole:
            try:
                with np.load(whole, allow_pickle=False) as file:
                    _check_stored(file.zip)
                    potato = cls(**json.loads(str(file["settings"])))
                    potato._statistics = _statistics(file)
            except Exception as error:  # of zip, its compressions, JSON, NumPy: any, by the damage
                raise ValueError(
                    f"{path} is no potato's file, or is damaged ({str(error) or repr(error)}). "
                    "Give one that `save` wrote."
                ) from error
        return potato

    @property
    def center_(self):
        return self._fitted.center

    @property
    def mean_(self):
        return self._fitted.mean

    @property
    def stddev_(self):
        return self._fitted.stddev

    @property
    def count_(self):
        return self._fitted.count

    @property
    def _fitted(self):
        if self._statistics is None:
            raise ValueError("This potato knows no clean matrices yet. Call `fit(x)` first.")
        return self._statistics

    def _scores(self, statistics, x):
        return self._of_distances(statistics, values.distances(statistics.center, x))

    def _of_distances(self, statistics, distances):
        gap = SCALES[self.scale](distances) - statistics.mean
        return gap / max(statistics.stddev, MIN_STDDEV)

    def _matrices(self, x):
        x, n = real("`x`", x, np.float64), len(self.center_)
        if x.ndim != 3 or x.shape[1:] != (n, n):
            raise ValueError(
                f"This potato takes matrices of shape ({n}, {n}), in a stack of shape (count, {n}, "
                f"{n}). Received shape {x.shape}."
            )
        return x


def _check_stored(archive):
    """Refuses an archive whose members may be greater than it is itself."""
    packed = [one.filename for one in archive.infolist() if one.compress_type != zipfile.ZIP_STORED]
    if packed:
        raise ValueError(f"{packed[0]} is compressed")


def _statistics(file):
    """The statistics in an archive, after a check that they are a potato's."""
    center, *numbers = (real(name, file[name]) for name in Statistics._fields)
    mean, stddev, count = (number.item() for number in numbers)
    if not (np.isfinite(center).all() and np.isfinite([mean, stddev]).all()):
        raise ValueError("its statistics hold NaN or infinity")
    if not (stddev >= 0 and count >= values.LEAST_SAMPLES):
        raise ValueError(f"a deviation of {stddev} from {count} matrices")
    if not np.array_equal(center, center.T):
        raise ValueError("its center is not symmetric")
    np.linalg.cholesky(center)  # refuses what is not positive definite
    return Statistics(center, mean, stddev, count)
