"""Fusion of a learned similarity and the cosine of the same embeddings into one score."""

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
    """Mean and standard deviation of both scores over all trials of a development set.

    `dataclasses.asdict` gives the entry of a model card.

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

    def __str__(self):
        return (
            f"similarity {self.similarity_mean:.4g} ± {self.similarity_stddev:.4g}, cosine "
            f"{self.cosine_mean:.4g} ± {self.cosine_stddev:.4g} (mean ± standard deviation)"
        )


def fusion_statistics(similarity: ArrayLike, cosine: ArrayLike) -> FusionStatistics:
    """Computes the statistics for `fuse(..., method="zscore")` from trials that no figure uses.

    Args:
        similarity: Learned similarities of development trials, any shape.
        cosine: Cosines of the same trials, same shape.

    Returns:
        `FusionStatistics`, with sample standard deviations (n - 1).

    Raises:
        ValueError: If shapes differ, there are fewer than two trials, a score is not finite, or all
            similarities or all cosines are equal.

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
                f"`{name}` is the same in all {scores.size:,} development trials, so it has no "
                "scale. Use genuine and imposter trials."
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
    """Fuses a learned similarity and a cosine into one score; higher is more similar.

    `verification` takes distances: pass the negative score.

    Args:
        similarity: Learned similarities S of trials, any shape.
        cosine: Cosines of the same trials, same shape.
        method: `"sum"`: S + cos, as in Table 3 of Monteiro2020; S may outweigh the cosine by its
            scale. `"zscore"`: the sum of both z-scores, standardized on a development set.
            `"bounded"`: the mean of sigma(S) and (cos + 1) / 2, in [0, 1].
        development: `FusionStatistics`, required for `"zscore"`.

    Returns:
        Scores, float64, of the same shape.

    Raises:
        ValueError: If shapes differ, a score is not finite, `method` is unknown, `development` is
            missing for `"zscore"`, or it is passed with another method.

    >>> fuse([2.0, -3.0], [0.5, -0.5]).tolist()
    [2.5, -3.5]
    """
    similarity, cosine = _checked(similarity, cosine)
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {METHODS}. Received {method!r}.")
    if (development is not None) != (method == "zscore"):
        raise ValueError(
            'The method "zscore" needs `development`, and no other method accepts it. Received '
            f"method={method!r}, development={development!r}. Compute it by `fusion_statistics` "
            "from development trials."
        )
    if method == "sum":
        return similarity + cosine
    if method == "bounded":
        return (expit(similarity) + (cosine + 1.0) / 2.0) / 2.0
    zscore = (similarity - development.similarity_mean) / development.similarity_stddev
    return zscore + (cosine - development.cosine_mean) / development.cosine_stddev


def paired_cosine(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Computes the cosine of each row of `x` and the same row of `y`, for a list of trials.

    Args:
        x: Embeddings, shape `(trials, features)`.
        y: Embeddings, same shape.

    Returns:
        Cosines, float64 of shape `(trials,)`; 0 if a vector has a squared length below 1e-24.

    Raises:
        ValueError: If shapes differ or a value is not finite.

    >>> paired_cosine([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]).round(3).tolist()
    [0.707, 0.0]
    """
    x, y = real("`x`", x, np.float64), real("`y`", y, np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(
            "`x` and `y` must hold the two embeddings of each trial, shape (trials, features). "
            f"Received shapes {x.shape} and {y.shape}."
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
            "`similarity` and `cosine` must hold the scores of the same trials. Received shapes "
            f"{similarity.shape} and {cosine.shape}."
        )
    check_finite("similarity", similarity)
    check_finite("cosine", cosine)
    return similarity, cosine
