"""Lifted structure loss."""

from collections.abc import Callable
from typing import Any

from keras_dml import distances
from keras_dml._arrays import number
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.losses import mining
from keras_dml.losses._base import DistanceMatrixLoss, mean_of_terms

NO_NEGATIVE = -1e30  # instead of -inf, because the difference of two infinities is NaN


@keras.saving.register_keras_serializable(package="keras_dml")
class LiftedStructureLoss(DistanceMatrixLoss):
    """Lifted structure loss (Song2016; Kim2020, Eq. 3). The loss compares each positive pair with
    all negatives of the pair's two rows.

    The loss is the mean over positive pairs (i, j) of `max(J_ij, 0)^2 / 2` with
    `J_ij = d_ij + log(sum_k exp(margin - d_ik) + sum_l exp(margin - d_jl))`. In the formula, k runs
    over the negatives of row i, and l runs over the negatives of row j. The loss is 0 for a batch
    without negatives.

    Erratum: Kim2020 Eq. 3 closes a bracket after the first sum, so the logarithm applies only to
    this sum. In the correct formula, the logarithm applies to the total of the two sums.

    Labels are class ids, shape `(batch,)`. Predictions are embeddings that `distance` accepts.

    Args:
        margin: Margin by which negatives should be farther than positives, in units of the
            distance.
        distance: Distance between embeddings, given as the name of a distance or as a function
            `d(x, y)` that returns distances of shape `(n, m)`.
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        TypeError, ValueError: If the margin is not a finite number, if the distance is unknown or
            does not accept the predictions, or if an eager call receives a label that is not a
            class id.

    Example:
        >>> embeddings = np.array([[0.0], [0.0], [1.0]])
        >>> value = LiftedStructureLoss()(np.array([0, 0, 1]), embeddings)  # log(2)^2 / 2
        >>> round(float(value), 4)
        0.2402
    """

    def __init__(
        self,
        margin: float = 1.0,
        distance: distances.Distance | str | Callable[..., Any] = "euclidean",
        *,
        name: str = "lifted_structure",
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(distance, name=name, dtype=dtype, **kwargs)
        self.margin = number("margin", margin)

    def values(self, labels: Tensor, distances: Tensor, embeddings: Tensor) -> Tensor:
        near, away = mining.positives(labels), mining.negatives(labels)
        rows = ops.logsumexp(
            ops.where(away, self.margin - distances, NO_NEGATIVE), axis=1
        )  # (batch,)
        log_sums = rows[None, :] + ops.softplus(rows[:, None] - rows[None, :])
        pairs = log_sums + distances  # (batch, batch)
        terms = ops.where(near, ops.square(ops.relu(pairs)) / 2, 0)
        return mean_of_terms(ops.sum(terms, axis=1), ops.sum(ops.cast(near, terms.dtype), axis=1))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "margin": self.margin,
            "distance": distances.serialize(self.distance),
        }
