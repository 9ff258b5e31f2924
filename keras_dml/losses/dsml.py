"""Triplet loss from deep metric learning with the signal-to-noise ratio (DSML)."""

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
    """Triplet loss over all triplets with the signal-to-noise-ratio distance (Yuan2019). A second
    term pulls the mean of each embedding's features to zero.

    The distance from anchor i to row j is `d_ij = var(h_j - h_i) / var(h_i)`. The variances are
    over the features of an embedding h. The first term of the loss is the mean over all triplets of
    `max(d_ap - d_an + margin, 0)`. For the second term, the loss sums the features of each row,
    averages the absolute values of these sums over the rows, and multiplies the result by
    `zero_mean_weight`. A batch without triplets has only the second term.

    Labels are class ids, shape `(batch,)`. Predictions are vectors, shape `(batch, features)`,
    because the distance compares features.

    Args:
        margin: Margin by which the negative must be farther from the anchor than the positive. The
            margin and the distance have no unit.
        zero_mean_weight: Weight of the term that pulls the mean of each embedding's features to
            zero (lambda in Yuan2019).
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        TypeError, ValueError: If the margin or the weight is not a finite number, if the weight is
            negative, if the predictions are not vectors, or if an eager call receives a label that
            is not a class id.

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
                f"{tuple(y_pred.shape)}. For matrices, end the model with `LogEig` and "
                "`TangentVector`. For sequences, end the model with `QuantileLayer(flatten=True)`. "
                "`TripletLoss` accepts other distances."
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
