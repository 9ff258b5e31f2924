"""Fits the two-covariance model (PLDA in closed form) to embeddings."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_dml import _optional
from keras_dml._arrays import finite, whole
from keras_dml._backend import keras
from keras_dml._typing import ArrayLike, Recordings
from keras_dml.gallery.names import checked_people
from keras_dml.layers import TwoCovariance
from keras_dml.training import discriminants

with _optional.explained():
    from scipy.linalg import eigh

SHRINKAGE = 0.1  # default, the same as for linear discriminants
# Directions with a smaller variance, as a fraction of the largest variance, vary only by rounding.
LEAST_VARIANCE = 1e-9
# Features with a smaller standard deviation, as a fraction of the mean, vary only by rounding.
LEAST_SPREAD = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class Covariances:
    """Moments of the two-covariance model x = mean + y + e, with y ~ N(0, between) for each person
    and e ~ N(0, within) for each recording (Prince2007; Bruemmer2010).

    Attributes:
        mean: Mean over people, shape `(features,)`.
        within: Covariance of the recordings of a person, shape `(features, features)`.
        between: Covariance of the people, same shape. The estimate may have negative eigenvalues.
    """

    mean: np.ndarray
    within: np.ndarray
    between: np.ndarray


def covariances(vectors: ArrayLike, people: Sequence[Any]) -> Covariances:
    """Estimates the moments of the two-covariance model without bias.

    Each person counts once in `mean` and `between`, whatever the person's number of recordings is.
    `between` is the covariance of the people's means, minus the covariance `within` divided by the
    harmonic mean of the numbers of recordings.

    Args:
        vectors: Vectors, shape `(recordings, features)`.
        people: Person who made each recording, as a name or a number.

    Raises:
        TypeError: If `vectors` holds other values than real numbers, or if `people` mixes names and
            numbers.
        ValueError: If `vectors` is not a finite matrix with one row for each entry of `people`, if
            there are fewer than two people, or if no person has two recordings.
    """
    vectors, names, codes = _checked(vectors, people)
    counts = np.bincount(codes)
    means = np.zeros((len(names), vectors.shape[1]))
    np.add.at(means, codes, vectors)
    means /= counts[:, None]
    residuals = vectors - means[codes]
    within = residuals.T @ residuals / (len(vectors) - len(names))
    between = np.cov(means, rowvar=False).reshape(within.shape) - within * (1 / counts).mean()
    return Covariances(means.mean(axis=0), within, between)


def two_covariance_weights(
    vectors: ArrayLike,
    people: Sequence[Any],
    units: int | None = None,
    shrinkage: float = SHRINKAGE,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Computes the weights of the layer `keras_dml.layers.TwoCovariance` in closed form.

    One linear map diagonalizes both covariances: the covariance within people becomes the identity,
    and the covariance between people becomes diagonal. Directions in which people do not vary more
    than their recordings explain are left out.

    Args:
        vectors: Vectors, shape `(recordings, features)`.
        people: Person who made each recording, as a name or a number.
        units: Largest number of coordinates, at least 1. The coordinates with the largest variances
            between people are kept. Default: all coordinates with a positive variance.
        shrinkage: Fraction from 0 to 1 by which the covariances between different features within
            people are reduced. Shrinkage toward the diagonal does not depend on the units of the
            features. A positive value is necessary if there are fewer recordings than features.

    Returns:
        Kernel, shape `(features, coordinates)`, bias, shape `(coordinates,)`, and variances, shape
        `(coordinates,)`, in descending order. The entries of the kernel for features that do not
        vary within people are 0.

    Raises:
        TypeError: If `units` is not an integer, or if the recordings are invalid, see
            `covariances`.
        ValueError: If `units` is below 1, if `shrinkage` is not from 0 to 1, if the recordings of
            each person are identical, if the covariance within people is singular, if people do
            not differ in any direction, or if the recordings are invalid, see `covariances`.
    """
    units = None if units is None else whole("units", units, 1)
    if not 0 <= shrinkage <= 1:
        raise ValueError(f"The shrinkage must be a number from 0 to 1. Received {shrinkage!r}.")
    moments = covariances(vectors, people)
    scale = np.sqrt(np.diag(moments.within))
    rows = np.flatnonzero(scale > LEAST_SPREAD * np.abs(moments.mean))
    if not len(rows):
        raise ValueError(
            f"The recordings of each person are identical in all {len(scale)} features, so the "
            "covariance within people is 0. Use different recordings of each person."
        )
    scale = scale[rows]
    within, between = (
        matrix[np.ix_(rows, rows)] / (scale * scale[:, None])
        for matrix in (moments.within, moments.between)
    )
    within = (1 - shrinkage) * within + shrinkage * np.eye(len(rows))
    try:
        values, axes = eigh(between, within)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"The covariance within people is singular. Received the shrinkage {shrinkage!r}. "
            "Increase the shrinkage, use more recordings, or use fewer features."
        ) from error
    axes_used = np.argsort(-values)[:units]
    axes_used = axes_used[values[axes_used] > LEAST_VARIANCE * values.max(initial=0.0)]
    if not len(axes_used):
        raise ValueError(
            "In the features that vary within people, the means of the people differ no more than "
            "their recordings explain, so the model has no coordinates. Use more people, more "
            "recordings per person, or other features."
        )
    kernel = np.zeros((len(moments.mean), len(axes_used)))
    kernel[rows] = axes[:, axes_used] / scale[:, None]
    return kernel, -moments.mean @ kernel, values[axes_used]


def two_covariance_model(
    model: keras.Model,
    recordings: Recordings,
    people: Sequence[Any],
    units: int | None = None,
    shrinkage: float = SHRINKAGE,
) -> keras.Model:
    """Appends the fitted layer `TwoCovariance` to a model that computes vectors.

    Args:
        model: A functional `keras.Model` whose outputs are vectors.
        recordings: Recordings as an array or a list, see `discriminants.outputs`. Use people who
            are not in any test.
        people: Person who made each recording, as a name or a number.
        units: Largest number of coordinates, see `two_covariance_weights`.
        shrinkage: Shrinkage of the covariance within people, see `two_covariance_weights`.

    Returns:
        Functional model whose embeddings have shape `(batch, 2, coordinates)` and are compared by
        the distance `two_covariance`.
    """
    vectors = discriminants.outputs(model, recordings)
    weights = two_covariance_weights(vectors, people, units, shrinkage)
    head = TwoCovariance(len(weights[-1]), name="two_covariance")
    whole = keras.Model(model.input, head(model.output), name=f"{model.name}_two_covariance")
    head.set_weights(weights)
    return whole


def _checked(vectors, people):
    """Returns the vectors in float64, the names of the people and the code of each row."""
    vectors = finite("`vectors`", vectors).astype(np.float64)
    if vectors.ndim != 2 or len(vectors) != len(people):
        raise ValueError(
            f"Received vectors of shape {vectors.shape} and {len(people)} people. The shape must "
            "be (recordings, features), with the name of one person per row."
        )
    names, codes = np.unique(checked_people(people, len(vectors)), return_inverse=True)
    if len(names) < 2 or len(vectors) <= len(names):
        raise ValueError(
            "The two-covariance model needs at least two people, and at least one person with two "
            f"recordings. Received {len(vectors)} recordings of {len(names)} people."
        )
    return vectors, names, codes
