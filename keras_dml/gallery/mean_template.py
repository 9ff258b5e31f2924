"""Mean templates: one embedding in place of several, with its weight."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import distances
from keras_dml._typing import ArrayLike


@dataclasses.dataclass(frozen=True, eq=False)
class MeanTemplate:
    """The mean of a person's templates in the geometry of their distance, and their number.

    It replaces the templates where memory is short. Recordings can be added and removed, and the
    templates of two devices can be merged, exactly and in any order. This holds if the mean is an
    average of points (`Distance.has_mean`): quantile functions for the 2-Wasserstein distance,
    whose barycenter is their average; logarithms of matrices for the log-Euclidean distance;
    vectors, of length 1 for cosine. The 1-Wasserstein barycenter is a median, and the mean of the
    affine-invariant distance (Fréchet or Karcher mean) comes from an iteration. No recording can be
    removed from these two exactly, so a gallery keeps all templates.

    Distances to a mean differ from the least distance to a set of templates. A threshold that was
    calibrated for a gallery does not hold for mean templates.

    Args:
        distance: `keras_dml.distances.Distance`.
        mean: Average of the points, float64.
        weight: Number of recordings.

    Example:
        >>> embeddings = np.array([[[0.0, 2.0], [0.0, 1.0]], [[4.0, 6.0], [0.0, 1.0]]])
        >>> template = MeanTemplate.from_embeddings(distances.Wasserstein(2), embeddings)
        >>> template.embedding
        array([[2., 4.],
               [0., 1.]], dtype=float32)
        >>> template.forget(embeddings[1]).embedding
        array([[0., 2.],
               [0., 1.]], dtype=float32)
    """

    distance: distances.Distance
    mean: np.ndarray
    weight: int

    @classmethod
    def from_embeddings(
        cls, distance: distances.Distance | str, embeddings: ArrayLike
    ) -> MeanTemplate:
        """Returns the mean template of embeddings.

        Args:
            distance: Distance of their model, or its name.
            embeddings: Shape `(count, ...)`, at least one.

        Raises:
            ValueError: If `embeddings` is empty, or the distance has no mean that is an average.
        """
        distance = distances.get(distance)
        if not distance.has_mean:
            order = f" of order {distance.p}" if hasattr(distance, "p") else ""
            raise ValueError(
                f"The distance {distance.name!r}{order} has no mean from which recordings can be "
                "removed. Distances with such a mean are wasserstein of order 2, log_euclidean, "
                "euclidean and cosine. For other distances keep all embeddings, as a gallery does."
            )
        if not len(embeddings):
            raise ValueError("Received no embedding. A mean template needs at least one embedding.")
        points = distance.mean_points(np.asarray(embeddings))
        return cls(distance, points.mean(axis=0), len(points))

    @property
    def embedding(self) -> np.ndarray:
        """The template as an embedding of the model, float32, for `keras_dml.distance`."""
        return self.distance.from_mean_point(self.mean).astype(np.float32)

    def merge(self, other: MeanTemplate) -> MeanTemplate:
        """Returns the template of the recordings of this template and another one.

        Raises:
            ValueError: If the other template has another distance or shape.
        """
        expected, received = (
            (template.distance.name, template.distance.get_config(), template.mean.shape)
            for template in (self, other)
        )
        if expected != received:
            raise ValueError(
                f"Received mean templates of {expected} and {received}. Only mean templates of one "
                "model can be merged."
            )
        weight = self.weight + other.weight
        return self._with(self.weight * self.mean + other.weight * other.mean, weight)

    def forget(self, embedding: ArrayLike) -> MeanTemplate:
        """Returns the template as if a recording had never been in it.

        Args:
            embedding: Embedding of a recording in the template. This cannot be checked.

        Raises:
            ValueError: If it is the only recording.
        """
        if self.weight < 2:
            raise ValueError("The template holds one recording. Remove the whole template.")
        point = self.distance.mean_points(np.asarray(embedding)[None])[0]
        return self._with(self.weight * self.mean - point, self.weight - 1)

    def _with(self, total, weight):
        return dataclasses.replace(self, mean=total / weight, weight=weight)
