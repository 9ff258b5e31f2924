"""Wasserstein loss for quantile embeddings (Abdelwahab2019)."""

from typing import Any

from keras_dml import distances
from keras_dml._arrays import positive
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.losses._base import LabeledLoss
from keras_dml.losses.pairs import class_ids, split_pairs


@keras.saving.register_keras_serializable(package="keras_dml")
class WassersteinLoss(LabeledLoss):
    """Wasserstein loss (Abdelwahab2019, Eq. 13). The loss makes the distance between two recordings
    of the same person smaller than the distances between recordings of different people.

    A batch consists of N pairs, and `D_ij` is the distance between anchor i and positive j. The
    value of anchor i is `sum over j != i of softplus(D_ii - D_ij)`. With the default reduction, the
    loss is the mean over anchors, and equals Eq. 13 divided by N. With `reduction="sum"` the loss
    is exactly Eq. 13.

    Labels are class ids, shape `(2N,)`. Each class id must appear exactly twice, and other labels
    raise an error. In a compiled step, the backend raises the error. If XLA compiles the step on
    TensorFlow, no error is raised, and the loss is NaN. Predictions are quantile embeddings, shape
    `(2N, filters + 1, knots)`.

    Args:
        p: Order of the Wasserstein distance, a real number, at least 1.
        symmetric: Whether to also use positives as anchors. If True, the loss also contains the
            terms `softplus(D_ii - D_ji)`. Abdelwahab2019 does not use positives as anchors.
        scale: Factor by which distances are multiplied (the inverse of a temperature).
            Abdelwahab2019 uses the factor 1.
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32, because half precision rounds labels above 256.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        TypeError, ValueError: If `p` is below 1, if `scale` is not positive, if an eager call
            receives a label that does not appear exactly twice, or if an eager call receives
            embeddings from different models.

    Example:
        >>> embeddings = np.zeros((4, 2, 3), "float32")
        >>> round(float(WassersteinLoss()(np.array([0, 0, 1, 1]), embeddings)), 4)
        0.6931
    """

    def __init__(
        self,
        p: float = 1,
        *,
        symmetric: bool = False,
        scale: float = 1.0,
        name: str = "wasserstein",
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.p = p
        self.symmetric = bool(symmetric)
        self.scale = positive("scale", scale)
        self.distance = distances.Wasserstein(p)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        anchors, positives, valid = split_pairs(y_pred, class_ids(y_true))
        values = pair_softplus(self.scale * self.distance(anchors, positives), self.symmetric)
        return ops.where(valid, values, float("nan"))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "p": self.p,
            "symmetric": self.symmetric,
            "scale": self.scale,
        }


def pair_softplus(distances: Tensor, symmetric: bool = False) -> Tensor:
    """Computes one value per anchor from the distances between anchors and positives
    (Abdelwahab2019, Eq. 13).

    Args:
        distances: Distance matrix, shape `(pairs, pairs)`, with one row per anchor and one column
            per positive.
        symmetric: Whether to also use positives as anchors. If True, the function adds a sum over
            the column of the anchor's positive to the value of each anchor.

    Returns:
        Values of the anchors, shape `(pairs,)`.
    """
    pair_distances = ops.diagonal(distances)  # (pairs,)
    off = ops.logical_not(ops.cast(ops.eye(ops.shape(distances)[0]), "bool"))
    values = ops.sum(ops.where(off, ops.softplus(pair_distances[:, None] - distances), 0), axis=1)
    if symmetric:
        columns = pair_distances[:, None] - ops.transpose(distances)
        values += ops.sum(ops.where(off, ops.softplus(columns), 0), axis=1)
    return values
