"""Triplet loss of deep signal-to-noise-ratio metric learning (DSML)."""

from typing import Any

from keras_dml._arrays import number
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry import vector
from keras_dml.geometry.numerics import absolute
from keras_dml.losses import mining
from keras_dml.losses._base import DistanceMatrixLoss, mean_of_terms


@keras.saving.register_keras_serializable(package="keras_dml")
class DSMLTripletLoss(DistanceMatrixLoss):
    """Triplet loss of all triplets by signal-to-noise distance, with a pull of embeddings to zero
    mean (Yuan2019).

    With `d_ij = var(h_j - h_i) / var(h_i)` over features, i the anchor, the mean over all triplets
    of `max(d_ap - d_an + margin, 0)`, plus `zero_mean_weight` times the mean over rows of the
    absolute sum of a row's features. A batch without triplets has the second part only.

    Labels are class ids, shape `(batch,)`. Predictions are vectors, shape `(batch, features)`,
    because the distance compares features.

    Args:
        margin: Margin, a ratio.
        zero_mean_weight: Weight of the second part (lambda of Yuan2019).
        name: Name of the loss.
        dtype: See `keras.losses.Loss`; widened to float32.
        **kwargs: See `reduction` of `keras.losses.Loss`.

    Raises:
        TypeError, ValueError: If the margin or the weight is not a finite number, or the weight is
            negative; if the predictions are not vectors; in an eager call, if a label is not an id.

    Example:
        >>> embeddings = np.array([[1.0, -1.0], [2.0, -2.0], [-1.0, 1.0]])
        >>> float(DSMLTripletLoss(margin=4.0)(np.array([0, 0, 1]), embeddings))  # d: 1, 4; 1/4, 9/4
        1.5
    """

    def __init__(
        self,
        margin: float = 0.2,
        *,
        zero_mean_weight: float = 0.005,
        name: str = "dsml_triplet",
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vector.snr, name=name, dtype=dtype, **kwargs)
        self.margin = number("margin", margin)
        self.zero_mean_weight = number("zero_mean_weight", zero_mean_weight, 0)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        if len(y_pred.shape) != 2:
            raise ValueError(
                "DSMLTripletLoss compares vectors, shape (batch, features). Received shape "
                f"{tuple(y_pred.shape)}. End the model in `LogEig` and `TangentVector` for "
                "matrices, in `QuantileLayer(flatten=True)` for sequences, or use `TripletLoss`, "
                "which takes other distances."
            )
        return super().call(y_true, y_pred)

    def values(self, labels: Tensor, distances: Tensor, embeddings: Tensor) -> Tensor:
        weights, opened, counted = mining.all_triplets(distances, labels, self.margin)
        sums = ops.sum(weights * distances, axis=1) + self.margin * opened
        off_zero = absolute(ops.sum(embeddings, axis=1))
        return mean_of_terms(sums, counted) + self.zero_mean_weight * off_zero

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "margin": self.margin,
            "zero_mean_weight": self.zero_mean_weight,
        }
