"""Loss that trains Riemannian potatoes."""

from typing import Any

from keras_dml._arrays import number
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean
from keras_dml.losses import mining
from keras_dml.losses._base import LabeledLoss
from keras_dml.losses.pairs import ids_below


@keras.saving.register_keras_serializable(package="keras_dml")
class PotatoRankingLoss(LabeledLoss):
    """Potato ranking loss (Kim2020, Eqs. 10-18). Each class has a Riemannian potato, which is a
    region around the class center. The loss pulls the embeddings of a class into the potato of this
    class, and pushes the embeddings of other classes out of the potato by a margin.

    `z_jc` is the z-score of row j in the potato of class c. The value of a query of class c is
    `mean over P of (z_jc - z_threshold) + weight * mean over N of (z_threshold + margin -
    z_jc)`. P is the set of the other rows of class c that are outside the potato (`z_jc >
    z_threshold`). N is the set of the rows of other classes that are inside the potato or within
    the margin around the potato (`z_jc < z_threshold + margin`). The mean over an empty set is 0
    and has no gradient. The set N is the same for all queries of a class. So a query has negatives
    even if it is the only row of its class.

    Labels are class ids, shape `(batch,)`. Each class id must be below the number of potatoes.
    Predictions are z-scores, shape `(batch, classes)`, such as the output of
    `keras_dml.layers.ClassPotatoes`. The model `keras_dml.models.PotatoNetwork` trains with this
    loss and computes the scores itself. The loss has no state, because the centers and the
    statistics of the potatoes are weights of the layer `ClassPotatoes`. The value of a query is NaN
    if one of its scores is NaN. A label without a potato raises an error. In a compiled step, the
    backend raises the error. If XLA compiles the step on TensorFlow, no error is raised, and the
    value of a query without a potato is NaN.

    Erratum: Kim2020 Eq. 10 has no hinge for negatives. The two bounds in Eq. 10 do not agree with
    the sets in Eqs. 13 and 14. This class implements Eqs. 13 and 14 and the text of the paper.

    Args:
        z_threshold: Radius of the potato, in standard deviations of the logarithmic distance.
            Kim2020 uses 2.5. If logarithmic distances are normally distributed, a threshold of 2.5
            leaves only 0.6 % of a class's matrices outside the potato. So negatives dominate the
            loss. A lower threshold, such as 1, gives positives more influence.
        margin: Distance that rows of other classes must have from the potato's boundary, in
            standard deviations (m in Kim2020).
        weight: Weight of the negatives (lambda in Kim2020, Eq. 17).
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        TypeError, ValueError: If `margin` or `weight` is not a finite number of at least 0, if
            `z_threshold` is not a finite number, if the predictions are not a matrix of scores, or
            if an eager call receives a label without a potato.

    Example:
        >>> scores = np.array([[0.0, 4.0], [3.0, 2.0], [1.5, 0.0]])
        >>> PotatoRankingLoss(reduction=None)(np.array([0, 0, 1]), scores).numpy()
        array([2.5, 2. , 1.5], dtype=float32)
    """

    def __init__(
        self,
        z_threshold: float = 2.5,
        *,
        margin: float = 1.0,
        weight: float = 1.0,
        name: str = "potato_ranking",
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.z_threshold = number("z_threshold", z_threshold)
        self.margin = number("margin", margin, 0)
        self.weight = number("weight", weight, 0)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        labels = potato_ids(y_true, _classes(y_pred))
        scores = query_scores(labels, y_pred)  # (batch, batch)
        outside, inside = self.mined(labels, scores)
        positive = mean(scores - self.z_threshold, axis=1, mask=outside)
        negative = mean(self.z_threshold + self.margin - scores, axis=1, mask=inside)
        sums = ops.sum(ops.stop_gradient(scores), axis=1)
        invalid = ops.logical_or(ops.isnan(sums), labels < 0)
        return ops.where(invalid, float("nan"), positive + self.weight * negative)

    def mined(self, labels: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Returns a mask of the positives that are outside the potato, and a mask of the negatives
        that are inside the potato or within the margin around the potato (Kim2020, Eqs. 13 and 14).

        Args:
            labels: Class ids, int32, shape `(batch,)`.
            scores: Scores that `query_scores` returned, shape `(batch, batch)`.

        Returns:
            Two masks, shape `(batch, batch)`.
        """
        outside = ops.logical_and(mining.positives(labels), scores > self.z_threshold)
        near = scores < self.z_threshold + self.margin
        return outside, ops.logical_and(mining.negatives(labels), near)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "z_threshold": self.z_threshold,
            "margin": self.margin,
            "weight": self.weight,
        }


def query_scores(labels: Tensor, scores: Tensor) -> Tensor:
    """Returns a matrix of scores, shape `(batch, batch)`. Entry (i, j) is the score of row j in the
    potato of row i's class.

    Args:
        labels: Class ids, int32, shape `(batch,)`. -1 marks an invalid label. The function uses an
            arbitrary potato for an invalid label.
        scores: Scores of each row of the batch for the Riemannian potato of each class, shape
            `(batch, classes)`.
    """
    return ops.take(ops.transpose(scores), ops.maximum(labels, ops.zeros_like(labels)), axis=0)


def potato_ids(labels: Tensor, classes: int | Tensor) -> Tensor:
    """Checks that each label has a potato. Returns the labels as int32, shape `(batch,)`.

    Raises:
        TypeError, ValueError: If `ids_below` does not accept the labels, for example because a
            label has no potato.
    """
    return ids_below(labels, classes, "potatoes", "Set `classes` to the number of classes.")


def _classes(scores):
    if len(scores.shape) != 2:
        raise ValueError(
            "PotatoRankingLoss takes z-scores, shape (batch, classes). Received shape "
            f"{tuple(scores.shape)}. Wrap the encoder of matrices in "
            "`keras_dml.models.PotatoNetwork(encoder, classes)`, which computes the scores."
        )
    return scores.shape[1] if scores.shape[1] is not None else ops.shape(scores)[1]
