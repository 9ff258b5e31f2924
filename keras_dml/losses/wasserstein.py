"""The Wasserstein loss (Abdelwahab2019)."""

from keras_dml import distances
from keras_dml._arrays import positive
from keras_dml._backend import keras, ops
from keras_dml.losses._base import LabeledLoss
from keras_dml.losses.pairs import class_ids, split_pairs


@keras.saving.register_keras_serializable(package="keras_dml")
class WassersteinLoss(LabeledLoss):
    """Pulls the two recordings of a person together and all other pairs apart, in Wasserstein
    distance (Abdelwahab2019, Eq. 13).

    With N pairs and `D_ij` the distance of anchor i to positive j, anchor i has the value
    `sum over j != i of softplus(D_ii - D_ij)`. The default reduction is their mean, Eq. 13 divided
    by N; `reduction="sum"` is Eq. 13 to the letter.

    Labels are class ids, shape `(2N,)`; each appears exactly twice. Predictions are quantile
    embeddings, shape `(2N, filters + 1, knots)`. A batch with other labels is refused; in a
    compiled step the backend's own error says so. Where XLA compiles it on TensorFlow, which leaves
    assertions out, the loss is NaN.

    Args:
        p: Order of the distance, a real number, at least 1.
        symmetric: Whether to add `softplus(D_ii - D_ji)`: positives as anchors, an extension.
        scale: Factor on the distances, an inverse temperature; Abdelwahab2019 has 1.
        name: Name of the loss.
        dtype: See `keras.losses.Loss`; widened to float32: half precision rounds labels from 257
            on.
        **kwargs: See `reduction` of `keras.losses.Loss`.

    Raises:
        TypeError, ValueError: If `p` is below 1 or `scale` is not a positive number; in an eager
            call, if a label does not appear exactly twice or the embeddings are not of one
            model.

    Example:
        >>> embeddings = np.zeros((4, 2, 3), "float32")
        >>> round(float(WassersteinLoss()(np.array([0, 0, 1, 1]), embeddings)), 4)
        0.6931
    """

    def __init__(
        self, p=1, *, symmetric=False, scale=1.0, name="wasserstein", dtype=None, **kwargs
    ):
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.p = p
        self.symmetric = bool(symmetric)
        self.scale = positive("scale", scale)
        self.distance = distances.Wasserstein(p)

    def call(self, y_true, y_pred):
        anchors, positives, valid = split_pairs(y_pred, class_ids(y_true))
        values = pair_softplus(self.scale * self.distance(anchors, positives), self.symmetric)
        return ops.where(valid, values, float("nan"))

    def get_config(self):
        own = {"p": self.p, "symmetric": self.symmetric, "scale": self.scale}
        return {**super().get_config(), **own}


def pair_softplus(distances, symmetric=False):
    """One value per anchor from the distances of anchors to positives (Abdelwahab2019, Eq. 13).

    Args:
        distances: Distance matrix, shape `(pairs, pairs)`, anchors by positives.
        symmetric: Whether columns count too.

    Returns:
        Values, shape `(pairs,)`.
    """
    own = ops.diagonal(distances)  # (pairs,)
    off = ops.logical_not(ops.cast(ops.eye(ops.shape(distances)[0]), "bool"))
    values = ops.sum(ops.where(off, ops.softplus(own[:, None] - distances), 0), axis=1)
    if symmetric:
        values += ops.sum(
            ops.where(off, ops.softplus(own[:, None] - ops.transpose(distances)), 0), axis=1
        )
    return values
