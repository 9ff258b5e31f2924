"""Wasserstein loss (Abdelwahab2019)."""

from typing import Any

from keras_dml import distances
from keras_dml._arrays import positive
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.losses._base import LabeledLoss
from keras_dml.losses.pairs import class_ids, split_pairs


@keras.saving.register_keras_serializable(package="keras_dml")
class WassersteinLoss(LabeledLoss):
    """Wasserstein loss, which reduces the distance of the two recordings of a person compared with
    all other pairs (Abdelwahab2019, Eq. 13).

    With N pairs and `D_ij` the distance of anchor i to positive j, anchor i has the value `sum over
    j != i of softplus(D_ii - D_ij)`. The default reduction is the mean over anchors, which is Eq.
    13 divided by N. `reduction="sum"` is exactly Eq. 13.

    Labels are class ids, shape `(2N,)`, each exactly twice. Predictions are quantile embeddings,
    shape `(2N, filters + 1, knots)`. Other labels raise an error, in a compiled step an error of
    the backend. If XLA compiles the step on TensorFlow, which drops assertions, the loss is NaN.

    Args:
        p: Order of the distance, a real number, at least 1.
        symmetric: Whether to add `softplus(D_ii - D_ji)`, with positives as anchors. This is an
            extension of Abdelwahab2019.
        scale: Factor on the distances, an inverse temperature, which is 1 in Abdelwahab2019.
        name: Name of the loss.
        dtype: See `keras.losses.Loss`. Half precision is widened to float32, because it rounds
            labels from 257 on.
        **kwargs: See `reduction` of `keras.losses.Loss`.

    Raises:
        TypeError, ValueError: If `p` is below 1 or `scale` is not positive; in an eager call, if a
            label does not appear exactly twice or the embeddings come from different models.

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
    """Computes one value per anchor from the distances of anchors to positives (Abdelwahab2019, Eq.
    13).

    Args:
        distances: Distance matrix, shape `(pairs, pairs)`, anchors by positives.
        symmetric: Whether to add the sums over columns.

    Returns:
        Values, shape `(pairs,)`.
    """
    pair_distances = ops.diagonal(distances)  # (pairs,)
    off = ops.logical_not(ops.cast(ops.eye(ops.shape(distances)[0]), "bool"))
    values = ops.sum(ops.where(off, ops.softplus(pair_distances[:, None] - distances), 0), axis=1)
    if symmetric:
        columns = pair_distances[:, None] - ops.transpose(distances)
        values += ops.sum(ops.where(off, ops.softplus(columns), 0), axis=1)
    return values
