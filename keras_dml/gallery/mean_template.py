"""Mean templates, which store the mean embedding of a person's recordings and the number of these
recordings."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import distances
from keras_dml._typing import ArrayLike


@dataclasses.dataclass(frozen=True, eq=False)
class MeanTemplate:
    """Mean embedding of a person's recordings, and the number of these recordings.

    A mean template can replace all templates (stored embeddings) of a person to save memory.
    Recordings can be added to a mean template and removed from it, and two mean templates can be
    merged. Adding, removing and merging give exact results in any order. Mean templates exist only
    for distances whose mean is an average of points that represent embeddings
    (`Distance.has_mean`):

    - For the 2-Wasserstein distance, the points are quantile functions. The average of quantile
      functions is the barycenter.
    - For the log-Euclidean distance, the points are logarithms of matrices.
    - For the Euclidean and the cosine distance, the points are vectors. For the cosine distance,
      the vectors have length 1.

    Other distances, such as the 1-Wasserstein and the affine-invariant distance, have no mean
    templates. The barycenter for the 1-Wasserstein distance is a median. The mean for the
    affine-invariant distance (Fréchet or Karcher mean) is computed iteratively. A recording cannot
    be removed exactly from a median or an iteratively computed mean, so a gallery keeps all
    templates.

    The distance to a mean template differs from the distance to the nearest template of the person.
    A threshold that was calibrated for a gallery is therefore not valid for mean templates.

    Args:
        distance: A `keras_dml.distances.Distance`.
        mean: Average of the points for all recordings, float64.
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
        """Computes the mean template of embeddings.

        Args:
            distance: Distance of the model that computed the embeddings, or the name of this
                distance.
            embeddings: At least one embedding, shape `(count, ...)`.

        Raises:
            ValueError: If `embeddings` is empty, or no mean templates exist for `distance`.
        """
        distance = distances.get(distance)
        if not distance.has_mean:
            order = f" of order {distance.p}" if hasattr(distance, "p") else ""
            raise ValueError(
                f"The distance {distance.name!r}{order} has no mean from which recordings can be "
                "removed. Only wasserstein of order 2, log_euclidean, euclidean and cosine have "
                "such a mean. For other distances, keep all embeddings, as a gallery does."
            )
        if not len(embeddings):
            raise ValueError("Received no embedding. A mean template needs at least one embedding.")
        points = distance.mean_points(np.asarray(embeddings))
        return cls(distance, points.mean(axis=0), len(points))

    @property
    def embedding(self) -> np.ndarray:
        """The mean as a float32 embedding, which `keras_dml.distance` accepts."""
        return self.distance.from_mean_point(self.mean).astype(np.float32)

    def merge(self, other: MeanTemplate) -> MeanTemplate:
        """Returns the mean template of all recordings in two mean templates.

        Raises:
            ValueError: If `other` has another distance or shape.
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
        """Returns the mean template without one of its recordings.

        Args:
            embedding: Embedding of the recording. The method cannot check that the template
                contains this recording.

        Raises:
            ValueError: If the template has only one recording.
        """
        if self.weight < 2:
            raise ValueError("The template holds one recording. Remove the whole template.")
        point = self.distance.mean_points(np.asarray(embedding)[None])[0]
        return self._with(self.weight * self.mean - point, self.weight - 1)

    def _with(self, total, weight):
        return dataclasses.replace(self, mean=total / weight, weight=weight)
