"""N-pair loss on vectors."""

from typing import Any

from keras_dml import distances
from keras_dml._arrays import number, positive
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry import vector
from keras_dml.losses._base import LabeledLoss
from keras_dml.losses.pairs import class_ids, split_pairs

SIMILARITIES = {"cosine": vector.cosine, "inner": vector.inner}


@keras.saving.register_keras_serializable(package="keras_dml")
class NPairLoss(LabeledLoss):
    """N-pair loss (Sohn2016). The loss is the cross-entropy of selecting an anchor's own positive
    among all positives of the batch. InfoNCE and NT-Xent have the same form.

    `S_ij` is the similarity of anchor i and positive j. The value of anchor i is `log(sum_j
    exp(S_ij - S_ii))` plus `(l2 / 4)(|f_i|^2 + |f_i+|^2)`. In the formula, `f_i` and `f_i+` are the
    embeddings of anchor i and of the anchor's positive. The baselines in Abdelwahab2019 use the
    cosine as similarity. The loss of Sohn2016 is `NPairLoss(similarity="inner", l2=0.002)`.

    Labels are class ids, shape `(2N,)`. Each class id must appear exactly twice, and other labels
    raise an error. In a compiled step, the backend raises the error. If XLA compiles the step on
    TensorFlow, no error is raised, and the loss is NaN. Predictions are vectors, shape `(2N,
    features)`.

    Args:
        similarity: Similarity of two embeddings: `"cosine"`, or `"inner"` for the inner product.
        scale: Factor by which similarities are multiplied (the inverse of a temperature).
        l2: Weight of the embeddings' squared lengths (lambda in Sohn2016).
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32, because half precision rounds labels above 256.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        TypeError, ValueError: If `similarity` is unknown, if `scale` is not positive, if `l2` is
            negative, if the predictions are not vectors, or if an eager call receives a label that
            does not appear exactly twice.
    """

    def __init__(
        self,
        similarity: str = "cosine",
        *,
        scale: float = 1.0,
        l2: float = 0.0,
        name: str = "n_pair",
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        if similarity not in SIMILARITIES:
            raise ValueError(
                f"`similarity` must be one of {tuple(SIMILARITIES)}. Received "
                f"similarity={similarity!r}."
            )
        self.similarity = similarity
        self.scale = positive("scale", scale)
        self.l2 = number("l2", l2, 0)
        self.distance = distances.Cosine() if similarity == "cosine" else None

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        if len(y_pred.shape) != 2:
            raise ValueError(
                "NPairLoss compares vectors, shape (batch, features). Received shape "
                f"{tuple(y_pred.shape)}. For quantile embeddings, end the model with "
                "`QuantileLayer(flatten=True)`, or use `WassersteinLoss`."
            )
        anchors, positives, valid = split_pairs(y_pred, class_ids(y_true))
        scores = self.scale * SIMILARITIES[self.similarity](anchors, positives)  # (pairs, pairs)
        values = ops.logsumexp(scores, axis=1) - ops.diagonal(scores)
        if self.l2:
            squares = ops.sum(anchors * anchors + positives * positives, axis=1)
            values = values + self.l2 / 4 * squares
        return ops.where(valid, values, float("nan"))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "similarity": self.similarity,
            "scale": self.scale,
            "l2": self.l2,
        }
