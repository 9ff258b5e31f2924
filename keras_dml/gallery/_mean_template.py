"""One embedding in the place of several: a mean with its weight."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import distances


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
        _check_has_mean(distance)
        if not len(embeddings):
            raise ValueError("A template is of one embedding at least. Received none.")
        points = distance.mean_points(np.asarray(embeddings))
        return cls(distance, points.mean(axis=0), len(points))

    @property
    def embedding(self):
        """The template as an embedding of the model, float32, for `keras_dml.distance`."""
        return self.distance.from_mean_point(self.mean).astype(np.float32)

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
        point = self.distance.mean_points(np.asarray(embedding)[None])[0]
        return self._with(self.weight * self.mean - point, self.weight - 1)

    def _with(self, total, weight):
        return dataclasses.replace(self, mean=total / weight, weight=weight)


def _check_has_mean(distance):
    if distance.has_mean:
        return
    order = f" of order {distance.p}" if "p" in distance.get_config() else ""
    raise ValueError(
        f"The distance {distance.name!r}{order} has no mean that recordings can be taken out of: "
        "keep all embeddings, as a gallery does. Those with one: wasserstein of order 2, "
        "log_euclidean, euclidean, cosine."
    )
