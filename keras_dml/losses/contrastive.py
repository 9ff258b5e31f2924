"""Contrastive loss."""

from collections.abc import Callable
from typing import Any

from keras_dml import distances
from keras_dml._arrays import number
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.losses import mining
from keras_dml.losses._base import DistanceMatrixLoss


@keras.saving.register_keras_serializable(package="keras_dml")
class ContrastiveLoss(DistanceMatrixLoss):
    """Contrastive loss (Hadsell2006). The loss reduces the distances within a class, and increases
    the distances between classes up to a margin.

    An ordered pair of two rows at distance d adds `d^2 / 2` to the loss if the rows have the same
    class. If the rows have different classes, the pair adds `max(margin - d, 0)^2 / 2`. The default
    reduction is the mean over all ordered pairs of a batch.

    Labels are class ids, shape `(batch,)`. Predictions are embeddings that `distance` accepts. The
    loss of a batch with one row is 0.

    Args:
        margin: Margin in units of the distance. Two rows of different classes add 0 to the loss if
            the distance between the rows is at least the margin.
        distance: Distance that is 0 between equal embeddings, given as the name of a distance or as
            a function `d(x, y)` that returns distances of shape `(n, m)`.
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        TypeError, ValueError: If the margin is not a finite number, if the distance is not 0
            between equal embeddings, if the distance does not accept the predictions, or if an
            eager call receives a label that is not a class id.

    Example:
        >>> embeddings = np.array([[0.0], [1.0], [0.25]])
        >>> ContrastiveLoss(reduction=None)(np.array([0, 0, 1]), embeddings).numpy()
        array([0.390625, 0.265625, 0.15625 ], dtype=float32)
    """

    def __init__(
        self,
        margin: float = 1.0,
        distance: distances.Distance | str | Callable[..., Any] = "euclidean",
        *,
        name: str = "contrastive",
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(distance, name=name, dtype=dtype, **kwargs)
        if not self.distance.is_zero_at_itself:
            raise ValueError(
                "ContrastiveLoss needs a distance that is 0 between equal embeddings. Received "
                f"{self.distance.name}. For the cosine, end the model "
                'with `keras.layers.UnitNormalization()` and use distance="euclidean".'
            )
        self.margin = number("margin", margin)

    def values(self, labels: Tensor, distances: Tensor, embeddings: Tensor) -> Tensor:
        pull = ops.where(mining.positives(labels), ops.square(distances), 0)
        push = ops.square(ops.relu(self.margin - distances))
        terms = ops.where(mining.negatives(labels), push, pull)
        count = ops.cast(ops.shape(labels)[0] - 1, terms.dtype)
        return ops.sum(terms, axis=1) / (2 * ops.maximum(count, 1))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "margin": self.margin,
            "distance": distances.serialize(self.distance),
        }
