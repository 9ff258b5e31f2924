"""Provides the Riemannian potato, an outlier detector for artifacts. During a recording, the
detector can check each new window of the recording.

The detector uses NumPy in float64. `keras_dml.export.potato` writes a fitted potato as a
SavedModel.
"""

from typing import Any, Self

import numpy as np

from keras_dml import _optional, fitted_potato
from keras_dml._arrays import real
from keras_dml._files import staged
from keras_dml._typing import ArrayLike, Path
from keras_dml.fitted_potato import FittedPotato
from keras_dml.geometry.potato_scores import MIN_DISTANCE_FLOAT64, MIN_SAMPLES, Statistics
from keras_dml.geometry.spd import potato as geometry
from keras_dml.geometry.weights import normalized

with _optional.explained():
    from sklearn.base import BaseEstimator, OutlierMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError

MAX_ITERATIONS = 100  # each iteration of `fit` drops at least one artifact


class Potato(OutlierMixin, TransformerMixin, BaseEstimator):
    """Riemannian potato, which detects covariance matrices that are unusually far from the mean of
    clean matrices (Barachant2013; Kim2020, Eqs. 6-9, 19-21).

    The score of a matrix is `z = (log d - mean) / stddev`, where d is the affine-invariant distance
    of the matrix from the center. The potato accepts a matrix if z is below the threshold. The
    potato therefore never rejects a matrix that is unusually close to the center. The distance of a
    singular, indefinite or non-finite matrix is infinite, so the potato rejects this matrix as an
    artifact and raises no error. A flat channel, for example, makes the matrix singular.

    The class is a scikit-learn outlier detector. Except for `probability`, the methods have the
    same names as the corresponding methods of pyRiemann. `predict` returns 1 for an inlier (clean
    matrix) and -1 for an outlier (artifact). pyRiemann returns 0 for an outlier.
    `decision_function` is positive for inliers, and `transform` returns z-scores, which are lower
    for inliers. `fit` and all scores give the same results as pyRiemann's `Potato`, also with
    labels and weights, if two conditions hold. First, distances must be above 1e-12. Second, the
    standard deviation must be above 1e-6 (for the scale `"geometric"`) or 1e-12 (for
    `"arithmetic"`). Distances and standard deviations below the limits are rounding errors in
    float64. `Potato` replaces values below a limit by the limit, so that equal matrices have a
    finite score.

    `partial_fit` follows Kim2020. `partial_fit` processes one matrix at a time. The method measures
    the distance of the matrix from the center, and then moves the center if the matrix is accepted.
    In contrast, `partial_fit` of pyRiemann first moves the center toward the mean of the batch, and
    then measures the distance of this mean. `partial_fit` needs a fitted potato, because the
    standard deviation of a single matrix is undefined.

    Args:
        threshold: Threshold of the score, in standard deviations. A matrix is rejected if its score
            is at least the threshold. pyRiemann uses 3, and Barachant2013 uses 2.5.
        update_rate: Weight of a new matrix in the running statistics, from 0 to 1 (beta_delta in
            Kim2020). By default, the weight is 1 divided by the number of matrices so far, so the
            statistics converge. With a constant such as 0.01, the statistics are exponential moving
            averages (EMA), which follow slow drifts.
        scale: Scale of the statistics, `"geometric"` or `"arithmetic"`. With `"geometric"`,
            statistics are computed from logarithms of distances. With `"arithmetic"`, statistics
            are computed from distances, as in Barachant2013.

    Attributes:
        center_: Mean of the clean matrices, shape `(n, n)` (`covmean_` in pyRiemann).
        mean_: Mean of the logarithms of distances (log mu in Kim2020). With the scale
            `"arithmetic"`, `mean_` is the mean of the distances.
        stddev_: Standard deviation of the logarithms of distances (log sigma in Kim2020). With the
            scale `"arithmetic"`, `stddev_` is the standard deviation of the distances.
        count_: Number of matrices from which the statistics were computed.
        statistics_: `geometry.potato_scores.Statistics` with the values of `center_`, `mean_`,
            `stddev_` and `count_`.
        clean_: Mask of the matrices that the last `fit` accepted, shape `(count,)`. `save` does not
            write `clean_`.
        n_features_in_: Size n of the matrices.
        offset_: Negative of the threshold. A matrix is rejected if `score_samples` is at most
            `offset_`.

    Example:
        >>> X = np.exp([-1.2, -1.0, -0.9, 0.9, 1.0, 1.2])[:, None, None]
        >>> Potato().fit(X).predict(np.array([[[1.0]], [[20.0]]]))
        array([ 1, -1])
    """

    def __init__(
        self,
        threshold: float = 3.0,
        *,
        update_rate: float | None = None,
        scale: str = "geometric",
    ):
        self.threshold = threshold
        self.update_rate = update_rate
        self.scale = scale

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Finds the clean matrices, and computes their statistics.

        The method computes the statistics, drops matrices with scores at or above the threshold,
        and repeats these two steps until no matrix is dropped.

        Args:
            X: Positive definite matrices, shape `(count, n, n)`, which may include artifacts.
            y: Labels, shape `(count,)`. A label is 1 for a clean matrix, and 0 or -1 for a known
                artifact. `fit` ignores known artifacts, which may hold any numbers. By default, no
                artifact is known.
            sample_weight: Non-negative weight of each matrix in the computation of the center,
                shape `(count,)`. As in pyRiemann, the statistics of distances are not weighted. By
                default, all weights are equal.

        Returns:
            The potato.

        Raises:
            ValueError: If a parameter is out of range, if labels or weights have invalid shapes or
                values, if there are fewer than two clean matrices, or if a matrix is not finite or
                not positive definite.
            TypeError: If an argument is masked or holds values other than real numbers.
        """
        fitted_potato.check_settings(self.threshold, self.update_rate, self.scale)
        X = real("`X`", X, np.float64)
        clean = _clean_mask(y, len(X))
        weights = normalized(sample_weight, len(X), "matrices") if len(X) else np.ones(0)
        for _ in range(MAX_ITERATIONS):
            statistics = geometry.calibrate(
                X[clean], self.scale, weights[clean], MIN_DISTANCE_FLOAT64
            )
            accepted = clean.copy()
            accepted[clean] = (
                fitted_potato.scores(statistics, X[clean], self.scale) < self.threshold
            )
            if (accepted == clean).all():
                break
            clean = accepted
            if clean.sum() < MIN_SAMPLES:
                raise ValueError(
                    f"threshold={self.threshold} rejects all except {clean.sum()} of {len(X)} "
                    "matrices. Choose a higher threshold, or check whether most windows are clean."
                )
        self._set_statistics(statistics)
        self.clean_ = clean
        return self

    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None, **kwargs: Any) -> np.ndarray:
        """Fits the potato and returns `predict(X)`.

        Args:
            X: Positive definite matrices, shape `(count, n, n)`, which may include artifacts.
            y: Labels, shape `(count,)`. A label is 1 for a clean matrix, and 0 or -1 for an
                artifact. By default, no artifact is known.
            **kwargs: Further arguments that are passed to `fit`, such as `sample_weight`.
        """
        return self.fit(X, y, **kwargs).predict(X)

    def partial_fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Calls `update` for each new matrix, one after another.

        Args:
            X: Matrices, shape `(count, n, n)`.
            y: Labels, shape `(count,)`. A label is 1 for a clean matrix, and 0 or -1 for an
                artifact. The method ignores known artifacts.

        Returns:
            The potato.

        Raises:
            ValueError: If the potato is not fitted, if the size of the matrices differs from
                `n_features_in_`, or if the labels are invalid.
        """
        X = self._checked_matrices(X)
        for matrix in X[_clean_mask(y, len(X))]:
            self.update(matrix)
        return self

    def update(self, matrix: ArrayLike) -> float:
        """Computes the score of one matrix. If the matrix is accepted, the method updates the
        statistics with this matrix (Kim2020, Eqs. 19-21).

        Args:
            matrix: Covariance matrix, shape `(n, n)`.

        Returns:
            Score of the matrix before the update. The score is infinite if the matrix is not
            positive definite.

        Raises:
            ValueError: If the potato is not fitted, or if the size of the matrix differs from
                `n_features_in_`.
        """
        (matrix,) = self._checked_matrices(real("`matrix`", matrix)[None])
        z, statistics = geometry.online_step(
            self.statistics_, matrix, self.threshold, self.update_rate, self.scale
        )
        self._set_statistics(statistics)
        return float(z)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Computes z-scores (Kim2020, Eq. 6). For a matrix at distance d from the center, the
        z-score is `(log d - mean_) / stddev_`.

        Args:
            X: Matrices, shape `(count, n, n)`.

        Returns:
            Scores, shape `(count,)`. Artifacts have higher or infinite scores.

        Raises:
            ValueError: If the potato is not fitted, or if the size of the matrices differs from
                `n_features_in_`.
        """
        X = self._checked_matrices(X)
        return fitted_potato.scores(self.statistics_, X, self.scale)

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Returns the z-scores of `transform` with the opposite sign, shape `(count,)`. As in
        scikit-learn, the scores are higher for clean matrices.
        """
        return -self.transform(X)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Returns `score_samples` minus `offset_`, shape `(count,)`. The result is positive for
        clean matrices."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Returns 1 for each clean matrix and -1 for each artifact, shape `(count,)`."""
        return np.where(self.transform(X) < self.threshold, 1, -1)

    def probability(self, X: ArrayLike) -> np.ndarray:
        """Computes the upper-tail probability of each z-score under a normal distribution, shape
        `(count,)` (`predict_proba` in pyRiemann)."""
        import scipy.stats

        return scipy.stats.norm.sf(self.transform(X))

    def save(self, path: Path) -> None:
        """Writes the potato to a small `.npz` file, which uses 8 bytes per matrix entry.

        The method writes a temporary file and renames it, so `path` is never incomplete.

        Args:
            path: Path of the file to write.

        Raises:
            ValueError: If the potato is not fitted, or if `path` exists and is not a regular file.
            OSError: If the folder does not exist or cannot be written to.
        """
        fitted = FittedPotato(self.statistics_, **self.get_params())
        with staged(path) as candidate, candidate.open("wb") as file:
            fitted.write(file)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a potato from a file that `save` wrote.

        The loaded potato gives the same results as the saved potato, but has no attribute `clean_`.

        Args:
            path: Path of the file to read.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If the file is damaged, or was not written by `save`.
        """
        fitted = FittedPotato.load(path)
        potato = cls(fitted.threshold, update_rate=fitted.update_rate, scale=fitted.scale)
        potato._set_statistics(fitted.statistics)
        return potato

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    @property
    def offset_(self) -> float:
        return -self.threshold

    @property
    def statistics_(self) -> Statistics:
        if not hasattr(self, "center_"):
            raise NotFittedError("This potato is not fitted. Call `fit(X)` first.")
        values = (np.float64(value) for value in (self.mean_, self.stddev_, self.count_))
        return Statistics(self.center_, *values)

    def _set_statistics(self, statistics):
        self.center_: np.ndarray = statistics.center
        self.mean_: float = float(statistics.mean)
        self.stddev_: float = float(statistics.stddev)
        self.count_: int = int(statistics.count)
        self.n_features_in_: int = len(self.center_)

    def _checked_matrices(self, X):
        return fitted_potato.checked_matrices(X, len(self.statistics_.center))


def _clean_mask(y, count):
    """Returns a mask of the matrices that are not labeled as artifacts, shape `(count,)`."""
    if y is None:
        return np.ones(count, bool)
    y = real("`y`", y)
    if y.shape != (count,) or not np.isin(y, (-1, 0, 1)).all():
        raise ValueError(
            f"`y` must hold one label per matrix ({count}), 1 for a clean matrix and 0 or -1 for "
            f"an artifact. Received shape {y.shape} and labels {np.unique(y)[:8].tolist()}. Use "
            "y=None if no artifact is known."
        )
    return y == 1
