"""One embedding in the place of several: a mean with its weight."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import distances
from keras_dml.geometry.spd.difference import logarithm
from keras_dml.geometry.spd.mean import spectral


@dataclasses.dataclass(frozen=True, eq=False)
class MeanTemplate:
    """The mean of a person's templates in the geometry of their distance, and their number.

    It takes the place of all of them where memory is short. Recordings are taken in and out, and
    templates of two devices merge, exactly: in whatever order, it is the template of the recordings
    that are left. That is so where a mean is a sum: of quantile functions for the 2-Wasserstein
    distance, whose barycenter is their mean; of logarithms of matrices for the log-Euclidean one;
    of vectors, of length 1 for cosine. The barycenter for p = 1 is a median, and that of the
    affine-invariant distance an iteration: from neither can a recording be taken out, and a gallery
    keeps the set. Distances to a mean are others than the least to a set: a threshold that a
    gallery has calibrated is not one for templates.

    Args:
        distance: `keras_dml.distances.Distance`.
        mean: Mean in the space where it is a sum, float64.
        weight: Number of recordings.

    Example:
        >>> one, two = np.array([[[0.0, 2.0], [0.0, 1.0]]]), np.array([[[4.0, 6.0], [0.0, 1.0]]])
        >>> both = MeanTemplate.of(distances.Wasserstein(2), np.concatenate([one, two]))
        >>> both.embedding
        array([[2., 4.],
               [0., 1.]], dtype=float32)
        >>> both.forget(two[0]).embedding
        array([[0., 2.],
               [0., 1.]], dtype=float32)
    """

    distance: distances.Distance
    mean: np.ndarray
    weight: int

    @classmethod
    def of(cls, distance, embeddings) -> MeanTemplate:
        """The template of embeddings.

        Args:
            distance: Distance of their model, or its name.
            embeddings: Shape `(count, ...)`, at least one.

        Raises:
            ValueError: If there is none, or the distance has no mean that is a sum.
        """
        distance = distances.get(distance)
        into, _ = _spaces(distance)
        if not len(embeddings):
            raise ValueError("A template is of one embedding at least. Received none.")
        points = into(np.asarray(embeddings))
        return cls(distance, points.mean(axis=0), len(points))

    @property
    def embedding(self):
        """The template as an embedding of the model, float32, for `keras_dml.distance`."""
        _, back = _spaces(self.distance)
        return back(self.mean).astype(np.float32)

    def merge(self, other: MeanTemplate) -> MeanTemplate:
        """The template of the recordings of both.

        Raises:
            ValueError: If the other is of another distance or shape.
        """
        mine, theirs = (
            (one.distance.name, one.distance.get_config(), one.mean.shape) for one in (self, other)
        )
        if mine != theirs:
            raise ValueError(f"Mean templates of one model merge. Received {mine} and {theirs}.")
        weight = self.weight + other.weight
        return self._with(self.weight * self.mean + other.weight * other.mean, weight)

    def forget(self, embedding) -> MeanTemplate:
        """The template as if a recording had never been in it.

        Args:
            embedding: Embedding of that recording, one that is in it: nothing can tell.

        Raises:
            ValueError: If it is the only one: remove the template.
        """
        if self.weight < 2:
            raise ValueError("The template holds one recording: remove it as a whole.")
        into, _ = _spaces(self.distance)
        point = into(np.asarray(embedding)[None])[0]
        return self._with(self.weight * self.mean - point, self.weight - 1)

    def _with(self, total, weight):
        return dataclasses.replace(self, mean=total / weight, weight=weight)


def _spaces(distance):
    """Functions from embeddings to where their mean is a sum, and back."""
    if isinstance(distance, distances.LogEuclidean):
        return logarithm, lambda x: spectral(np.exp, x)
    if isinstance(distance, distances.Cosine):
        return _unit, _wide
    if isinstance(distance, distances.Euclidean):
        return _wide, _wide
    if isinstance(distance, distances.Wasserstein) and distance.p == 2:
        return _wide, _wide
    order = f" of order {distance.p}" if isinstance(distance, distances.Wasserstein) else ""
    raise ValueError(
        f"The distance {distance.name!r}{order} has no mean that recordings can be taken out of: "
        "keep all embeddings, as a gallery does. Those with one: wasserstein of order 2, "
        "log_euclidean, euclidean, cosine."
    )


def _wide(x):
    return x.astype(np.float64)


def _unit(x):
    x = _wide(x)
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.where(lengths > 0, lengths, 1.0)
