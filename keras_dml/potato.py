"""The Riemannian potato: detects artifacts among windows of a recording, online.

NumPy, in float64. `keras_dml.export.potato` writes a fitted one as a SavedModel.
"""

import json
import numbers
import zipfile

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from keras_dml._arrays import real
from keras_dml._files import staged
from keras_dml.geometry.spd import potato as geometry
from keras_dml.geometry.spd.potato import Statistics
from keras_dml.geometry.weights import normalized

MAX_ITERATIONS = 100  # of dropping artifacts; each drops at least one matrix


class Potato(OutlierMixin, TransformerMixin, BaseEstimator):
    """Detects covariance matrices that are unusually far from the mean of clean ones
    (Barachant2013; Kim2020, Eqs. 6-9, 19-21).

    A matrix scores `z = (log d - mean) / stddev`, with d its affine-invariant distance to the
    center, and is accepted where z is below the threshold; a matrix that is unusually close is
    never rejected. A matrix that is singular, indefinite or not finite is infinitely far, so a flat
    channel is rejected as an artifact and does not raise.

    A scikit-learn outlier detector, with pyRiemann's names where it has them: `predict` returns 1
    for an inlier (clean) and -1 for an outlier (artifact; 0 in pyRiemann), `decision_function` is
    positive for inliers, `transform` returns z-scores, which are lower for inliers. Scores and
    `fit`, with labels and weights, are those of pyRiemann's `Potato` while distances are above
    1e-12 and the standard deviation of their logarithms above 1e-6 (arithmetic: that of distances
    above 1e-12). Smaller ones, which are rounding in float64, count as these, so that equal
    matrices have a finite score. `partial_fit` follows the paper: distance to the center
    before it moves, one matrix at a time, accepted ones only; pyRiemann moves the center first, to
    the batch's mean, and measures that mean. It needs a fitted potato: a single matrix has no
    standard deviation.

    Args:
        threshold: Score from which on a matrix is rejected, in standard deviations; 3 in pyRiemann,
            2.5 in Barachant2013.
        update_rate: Weight of a new matrix in the running statistics, from 0 to 1 (beta_delta in
            Kim2020). None: one over the number of matrices seen, so that the potato settles; a
            constant such as 0.01 lets it follow slow drifts.
        scale: `"geometric"`, on logarithms of distances, or `"arithmetic"`, on distances, as in
            Barachant2013.

    Attributes:
        center_: Mean of the clean matrices, shape `(n, n)` (`covmean_` in pyRiemann).
        mean_: Mean of the logarithms of distances, log mu in Kim2020 (arithmetic: of distances).
        stddev_: Their standard deviation, log sigma in Kim2020.
        count_: Number of matrices that the statistics have seen.
        statistics_: These four, as `geometry.spd.potato.Statistics`.
        clean_: Mask of the matrices that the last `fit` kept, shape `(count,)`; not saved.
        n_features_in_: Size n of the matrices.
        offset_: Minus the threshold: the score of a matrix on the border.

    Example:
        >>> X = np.exp([-1.2, -1.0, -0.9, 0.9, 1.0, 1.2])[:, None, None]
        >>> Potato().fit(X).predict(np.array([[[1.0]], [[20.0]]]))
        array([ 1, -1])
    """

    def __init__(self, threshold=3.0, *, update_rate=None, scale="geometric"):
        self.threshold = threshold
        self.update_rate = update_rate
        self.scale = scale

    def fit(self, X, y=None, sample_weight=None):
        """Finds the clean matrices and measures them: drops those at or above the threshold,
        measures again, until no matrix is rejected.

        Args:
            X: Positive definite matrices, shape `(count, n, n)`, artifacts among them.
            y: Labels, shape `(count,)`: 1 for a clean matrix, 0 or -1 for a known artifact, which
                is not used and may hold anything. None: no artifact is known.
            sample_weight: Non-negative weights of the matrices in the center, shape `(count,)`, as
                in pyRiemann: distances count equally. None: equal weights.

        Returns:
            The potato.

        Raises:
            ValueError: If a parameter is out of range, labels or weights do not fit, there are
                fewer than two matrices, fewer than two stay, or one is not finite or not positive
                definite.
            TypeError: If an argument is masked or holds other than real numbers.
        """
        self._check_parameters()
        X = real("`X`", X, np.float64)
        kept = _clean(y, len(X))
        weights = normalized(sample_weight, len(X), "matrices") if len(X) else np.ones(0)
        for _ in range(MAX_ITERATIONS):
            statistics = geometry.calibrate(
                X[kept], self.scale, weights[kept], geometry.MIN_DISTANCE_FLOAT64
            )
            stay = kept.copy()
            stay[kept] = self._scores(statistics, X[kept]) < self.threshold
            if (stay == kept).all():
                break
            kept = stay
            if kept.sum() < geometry.MIN_SAMPLES:
                raise ValueError(
                    f"threshold={self.threshold} rejects all but {kept.sum()} of {len(X)} "
                    "matrices. Choose a higher threshold, or check that most windows are clean."
                )
        self._set(statistics)
        self.clean_ = kept
        return self

    def fit_predict(self, X, y=None, **kwargs):
        """Fits and returns `predict(X)`; arguments and errors as those of `fit`."""
        return self.fit(X, y, **kwargs).predict(X)

    def partial_fit(self, X, y=None):
        """Follows new matrices, one after the other: calls `update` with each.

        Args:
            X: Matrices, shape `(count, n, n)`.
            y: Labels as in `fit`; known artifacts move nothing.

        Returns:
            The potato.

        Raises:
            ValueError: If the potato is not fitted, the matrices have another size, or the labels
                do not fit.
        """
        X = self._matrices(X)
        for matrix in X[_clean(y, len(X))]:
            self.update(matrix)
        return self

    def update(self, matrix):
        """Scores one matrix and, where it is accepted, moves the statistics by it (Kim2020,
        Eqs. 19-21): one step of `partial_fit`, with its score.

        Args:
            matrix: Shape `(n, n)`.

        Returns:
            The score before the update, a float; infinite for a matrix that is not positive
            definite.

        Raises:
            ValueError: If the potato is not fitted, or the matrix has another size.
        """
        (matrix,) = self._matrices(real("`matrix`", matrix)[None])
        z, statistics = geometry.online_step(
            self.statistics_, matrix, self.threshold, self.update_rate, self.scale
        )
        self._set(statistics)
        return float(z)

    def transform(self, X):
        """z-scores: number of standard deviations by which matrices are farther from the center
        than is usual (Kim2020, Eq. 6).

        Args:
            X: Matrices, shape `(count, n, n)`.

        Returns:
            Scores, shape `(count,)`, higher for artifacts; infinite for a matrix that is not
            positive definite.

        Raises:
            ValueError: If the potato is not fitted, or the matrices have another size.
        """
        X = self._matrices(X)
        return self._scores(self.statistics_, X)

    def score_samples(self, X):
        """Minus the z-scores, shape `(count,)`: higher for clean matrices, as scikit-learn's;
        arguments and errors as those of `transform`."""
        return -self.transform(X)

    def decision_function(self, X):
        """`score_samples` less `offset_`, shape `(count,)`: positive for clean matrices; arguments
        and errors as those of `transform`."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """1 for a clean matrix and -1 for an artifact, shape `(count,)`; arguments and errors as
        those of `transform`."""
        return np.where(self.transform(X) < self.threshold, 1, -1)

    def probability(self, X):
        """Upper-tail probability of the score under a normal distribution, shape `(count,)`
        (pyRiemann's `predict_proba`); arguments and errors as those of `transform`."""
        import scipy.stats

        return scipy.stats.norm.sf(self.transform(X))

    def save(self, path):
        """Writes the potato as a small `.npz` file of arrays, 8 bytes a matrix entry.

        The file is written beside `path` and renamed, so `path` is always whole.

        Raises:
            ValueError: If the potato is not fitted, or there is something other than a regular
                file.
            OSError: If the folder is not there or cannot be written to.
        """
        arrays = self.statistics_._asdict()
        with staged(path) as candidate, candidate.open("wb") as file:
            np.savez(file, settings=json.dumps(self.get_params()), **arrays)

    @classmethod
    def load(cls, path):
        """Reads a potato that `save` wrote; it goes on like the original, but for `clean_`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is damaged, or is not a potato's.
        """
        with open(path, "rb") as whole:
            try:
                with np.load(whole, allow_pickle=False) as file:
                    _check_stored(file.zip)
                    potato = cls(**json.loads(str(file["settings"])))
                    potato._check_parameters()
                    potato._set(_statistics(file))
            except Exception as error:  # of zip, its compressions, JSON, NumPy: any, by the damage
                raise ValueError(
                    f"{path} is no potato's file, or is damaged ({str(error) or repr(error)}). "
                    "Give one that `save` wrote."
                ) from error
        return potato

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    @property
    def offset_(self):
        return -self.threshold

    @property
    def statistics_(self):
        if not hasattr(self, "center_"):
            raise NotFittedError("This potato knows no clean matrices yet. Call `fit(X)` first.")
        values = (np.float64(value) for value in (self.mean_, self.stddev_, self.count_))
        return Statistics(self.center_, *values)

    def _set(self, statistics):
        self.center_ = statistics.center
        self.mean_, self.stddev_ = float(statistics.mean), float(statistics.stddev)
        self.count_ = int(statistics.count)
        self.n_features_in_ = len(self.center_)

    def _scores(self, statistics, X):
        distances = geometry.distances(statistics.center, X)
        values = geometry.SCALES[self.scale](distances, geometry.MIN_DISTANCE_FLOAT64)
        return geometry.z_score(
            values,
            statistics.mean,
            statistics.stddev,
            geometry.MIN_STDDEV_FLOAT64[self.scale],
        )

    def _matrices(self, X):
        n = len(self.statistics_.center)
        X = real("`X`", X, np.float64)
        if X.ndim != 3 or X.shape[1:] != (n, n):
            raise ValueError(
                f"This potato takes matrices of shape ({n}, {n}), in a stack of shape (count, {n}, "
                f"{n}). Received shape {X.shape}."
            )
        return X

    def _check_parameters(self):
        if not isinstance(self.threshold, numbers.Real) or not abs(self.threshold) < np.inf:
            raise ValueError(
                "`threshold` must be a number of standard deviations, such as 3. Received "
                f"threshold={self.threshold!r}."
            )
        if self.scale not in tuple(geometry.SCALES):
            raise ValueError(
                f"`scale` must be one of {tuple(geometry.SCALES)}. Received scale={self.scale!r}."
            )
        geometry.check_update_rate(self.update_rate)


def _clean(y, count):
    """Mask of the matrices that labels do not mark as artifacts, shape `(count,)`."""
    if y is None:
        return np.ones(count, bool)
    y = real("`y`", y)
    if y.shape != (count,) or not np.isin(y, (-1, 0, 1)).all():
        raise ValueError(
            f"`y` must hold a label for each of the {count} matrices: 1 for a clean one, 0 or -1 "
            f"for an artifact. Received shape {y.shape} and labels "
            f"{np.unique(y)[:8].tolist()}. Give y=None if no artifact is known."
        )
    return y == 1


def _check_stored(archive):
    """Refuses an archive whose members may be larger than it is itself."""
    packed = [one.filename for one in archive.infolist() if one.compress_type != zipfile.ZIP_STORED]
    if packed:
        raise ValueError(f"{packed[0]} is compressed")


def _statistics(file):
    """The statistics in an archive, after a check that they are a potato's."""
    center, *values = (real(name, file[name]) for name in Statistics._fields)
    mean, stddev, count = (value.item() for value in values)
    if not (np.isfinite(center).all() and np.isfinite([mean, stddev]).all()):
        raise ValueError("its statistics hold NaN or infinity")
    if not (stddev >= 0 and count >= geometry.MIN_SAMPLES):
        raise ValueError(f"a standard deviation of {stddev} from {count} matrices")
    if not np.array_equal(center, center.T):
        raise ValueError("its center is not symmetric")
    np.linalg.cholesky(center)  # refuses what is not positive definite
    return Statistics(center, mean, stddev, count)
