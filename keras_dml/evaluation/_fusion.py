"""Fuses a learned similarity and the cosine similarity of the same embeddings into one score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from keras_dml._arrays import real
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_finite

METHODS = ("sum", "zscore", "bounded")
SMALLEST_SQUARE = 1e-24  # squared length below which a vector has no direction


@dataclass(frozen=True)
class FusionStatistics:
    """Means and standard deviations of learned similarities and cosines in a development set.

    `dataclasses.asdict` converts the statistics to the dict that a model card contains.

    Attributes:
        similarity_mean: Mean of the learned similarities.
        similarity_stddev: Sample standard deviation of the learned similarities.
        cosine_mean: Mean of the cosines.
        cosine_stddev: Sample standard deviation of the cosines.
    """

    similarity_mean: float
    similarity_stddev: float
    cosine_mean: float
    cosine_stddev: float

    def __str__(self) -> str:
        return (
            f"similarity {self.similarity_mean:.4g} ± {self.similarity_stddev:.4g}, cosine "
            f"{self.cosine_mean:.4g} ± {self.cosine_stddev:.4g} (mean ± standard deviation)"
        )


def fusion_statistics(similarity: ArrayLike, cosine: ArrayLike) -> FusionStatistics:
    """Computes the statistics for `fuse(..., method="zscore")` from development trials.

    Use trials that are not evaluated afterwards.

    Args:
        similarity: Learned similarities of development trials, any shape.
        cosine: Cosines of the same trials, in the shape of `similarity`.

    Returns:
        `FusionStatistics`. The standard deviations have the divisor n - 1.

    Raises:
        ValueError: If the shapes of `similarity` and `cosine` differ, if there are fewer than two
            trials, if a score is not finite, or if all similarities or all cosines are equal.

    >>> fusion_statistics([-1.0, 1.0], [0.0, 0.5]).cosine_mean
    0.25
    """
    similarity, cosine = _checked(similarity, cosine)
    if similarity.size < 2:
        raise ValueError(
            f"A standard deviation needs at least two trials. Received {similarity.size}."
        )
    figures = []
    for name, scores in (("similarity", similarity), ("cosine", cosine)):
        if np.ptp(scores) == 0:
            raise ValueError(
                f"Received the same `{name}` in all {scores.size:,} development trials. At least "
                "two values must differ, so that the standard deviation is above 0. Use genuine "
                "and imposter trials."
            )
        figures += [float(scores.mean()), float(scores.std(ddof=1))]
    return FusionStatistics(*figures)


def fuse(
    similarity: ArrayLike,
    cosine: ArrayLike,
    method: str = "sum",
    *,
    development: FusionStatistics | None = None,
) -> np.ndarray:
    """Fuses a learned similarity and a cosine into one score. A higher score means a higher
    similarity.

    `verification` takes distances, so pass it the negated scores.

    Args:
        similarity: Learned similarities `S` of the trials, any shape.
        cosine: Cosines of the same trials, in the shape of `similarity`.
        method: Rule by which the two scores are combined. `"sum"` is S + cos, as in Table 3 of
            Monteiro2020. If S varies much more than the cosine, S dominates the sum. `"zscore"` is
            the sum of two z-scores. The means and standard deviations for the z-scores come from a
            development set. `"bounded"` is the mean of sigma(S) and (cos + 1) / 2. The bounded
            score lies in [0, 1].
        development: `FusionStatistics` of the development set. Required for `"zscore"`, and invalid
            for other methods.

    Returns:
        Float64 scores, same shape as `similarity`.

    Raises:
        ValueError: If shapes differ, if a score is not finite, if `method` is unknown, if
            `development` is missing for `"zscore"`, or if `development` is passed with another
            method.

    >>> fuse([2.0, -3.0], [0.5, -0.5]).tolist()
    [2.5, -3.5]
    """
    similarity, cosine = _checked(similarity, cosine)
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {METHODS}. Received {method!r}.")
    if (development is not None) != (method == "zscore"):
        raise ValueError(
            f"Received method={method!r} and development={development!r}. The method "
            '"zscore" requires `development`, and other methods do not accept it. Compute it from '
            "development trials by `fusion_statistics`."
        )
    if method == "sum":
        return similarity + cosine
    if method == "bounded":
        return (expit(similarity) + (cosine + 1.0) / 2.0) / 2.0
    zscore = (similarity - development.similarity_mean) / development.similarity_stddev
    return zscore + (cosine - development.cosine_mean) / development.cosine_stddev


def paired_cosine(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Computes the cosine between row `i` of `x` and row `i` of `y` for each trial `i`.

    Args:
        x: Embeddings, shape `(trials, features)`.
        y: Embeddings, shape `(trials, features)`.

    Returns:
        Cosines, float64 of shape `(trials,)`. The cosine is 0 if the squared length of a vector is
        below 1e-24.

    Raises:
        ValueError: If the shapes of `x` and `y` differ, or if a value is not finite.

    >>> paired_cosine([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]).round(3).tolist()
    [0.707, 0.0]
    """
    x, y = real("`x`", x, np.float64), real("`y`", y, np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(
            f"Received `x` of shape {x.shape} and `y` of shape {y.shape}. Expected one embedding "
            "for each trial in each array, shape (trials, features)."
        )
    check_finite("x", x)
    check_finite("y", y)
    squares = np.sum(x * x, axis=1), np.sum(y * y, axis=1)
    directed = np.minimum(*squares) >= SMALLEST_SQUARE
    lengths = np.sqrt(np.where(directed, squares[0], 1.0)) * np.sqrt(
        np.where(directed, squares[1], 1.0)
    )
    return np.where(directed, np.sum(x * y, axis=1) / lengths, 0.0)


def _checked(similarity, cosine):
    similarity = real("`similarity`", similarity, np.float64)
    cosine = real("`cosine`", cosine, np.float64)
    if similarity.shape != cosine.shape:
        raise ValueError(
            f"Received `similarity` of shape {similarity.shape} and `cosine` of shape "
            f"{cosine.shape}. Expected equal shapes, with the scores of the same trials."
        )
    check_finite("similarity", similarity)
    check_finite("cosine", cosine)
    return similarity, cosine
