"""Loss that trains prototypical classifiers. The loss is the weighted sum of a class term, a pair
term and an auxiliary term."""

from typing import Any

from keras_dml._arrays import number
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean
from keras_dml.losses._base import LabeledLoss
from keras_dml.losses.pairs import ids_below

TRIALS = ("ordered", "unordered")
CANDIDATES = ("all", "batch")
MARGIN, SCALE = 0.35, 30.0  # defaults of the additive margin softmax (Wang2018)


def known_ids(labels: Tensor, classes: int | Tensor) -> tuple[Tensor, Tensor]:
    """Replaces unknown class ids by 0, and checks whether all ids are known.

    Args:
        labels: Class ids, shape `(batch,)` or `(batch, 1)`.
        classes: Number of classes.

    Returns:
        Class ids, int32, shape `(batch,)`. A boolean scalar that is True if all ids are known. An
        unknown id raises an error. But if XLA compiles the step on TensorFlow, no error is raised,
        and the scalar is False.

    Raises:
        TypeError, ValueError: If `ids_below` does not accept the labels, for example because a
            label is not a class.
    """
    ids = ids_below(labels, classes, "classes")
    valid = ids >= 0
    return ops.where(valid, ids, 0), ops.all(valid)


def class_term(scores: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Computes the cross-entropy between each row's scores and its correct class, shape `(batch,)`
    (Monteiro2020, Eq. 2).

    The cross-entropy does not change if a constant is added to all scores of a row. So the class
    term does not calibrate similarities.

    Args:
        scores: Logits, shape `(batch, classes)`. A column that belongs to no class holds `-inf`.
        labels: Class ids, int32, shape `(batch,)`.
        smoothing: Fraction of the target that is spread evenly over all classes, including the
            correct class (label smoothing).
    """
    targets = ops.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    if smoothing:
        average = mean(scores, axis=1, mask=scores > -float("inf"))
        targets = (1 - smoothing) * targets + smoothing * average
    return ops.logsumexp(scores, axis=1) - targets


def pair_term(
    scores: Tensor, labels: Tensor, *, trials: str = "ordered", smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Computes a binary cross-entropy over the pairs in a batch (Monteiro2020, Eq. 3). The
    prediction for a pair is whether the two rows have the same class.

    Pairs with the same class have the same total weight as pairs with different classes. So a
    similarity of 0 means that the same class and different classes are equally likely. If a batch
    has no pairs with the same class, or no pairs with different classes, the part of the loss for
    these pairs is 0 and has no gradient.

    Args:
        scores: Similarities `S(z_i, z_j)`, shape `(batch, batch)`.
        labels: Class ids, int32, shape `(batch,)`.
        trials: Pairs (i, j) that the term uses: `"ordered"` for all pairs of two different rows, or
            `"unordered"` for pairs with `i < j`.
        smoothing: Label smoothing. The targets are `1 - smoothing` for the same class and
            `smoothing` for different classes.

    Returns:
        Value of the term, a scalar. Number of pairs with the same class.
    """
    rows = ops.arange(ops.shape(scores)[0], dtype="int32")
    counted = rows[:, None] < rows[None] if trials == "unordered" else rows[:, None] != rows[None]
    equal = ops.equal(labels[:, None], labels[None])
    positive = ops.logical_and(counted, equal)
    negative = ops.logical_and(counted, ops.logical_not(equal))
    # If the target is 1 - a, the cross-entropy of a similarity s is softplus(-s) + a s. If the
    # target is a, the cross-entropy of s is softplus(s) - a s.
    positive_terms = ops.softplus(-scores) + smoothing * scores
    negative_terms = ops.softplus(scores) - smoothing * scores
    value = mean(positive_terms, (0, 1), positive) + mean(negative_terms, (0, 1), negative)
    return value, ops.sum(ops.cast(positive, scores.dtype))


def additive_margin(
    cosines: Tensor, labels: Tensor, margin: float = MARGIN, scale: float = SCALE
) -> Tensor:
    """Computes logits of the additive margin softmax (AM-Softmax, CosFace; Wang2018). A logit is
    `scale (cos - margin)` for the correct class, and `scale cos` for other classes.

    Args:
        cosines: Cosines between embeddings and class vectors, shape `(batch, classes)`.
        labels: Class ids, int32, shape `(batch,)`.
    """
    targets = ops.one_hot(labels, cosines.shape[1], dtype=cosines.dtype)
    return scale * (cosines - margin * targets)


@keras.saving.register_keras_serializable(package="keras_dml")
class PrototypicalLoss(LabeledLoss):
    """Loss that trains `keras_dml.models.PrototypicalClassifier`. The loss is the weighted sum
    `L_class + L_pair + L_aux` (Monteiro2020, Algorithm 1).

    The class term is the cross-entropy of selecting the prototype of a row's class among all
    prototypes. The pair term separates pairs with the same class from pairs with different classes,
    and calibrates the similarity. The auxiliary term is the cross-entropy of a dense layer that
    takes the embeddings. The auxiliary term speeds up training. If the weight of a term is 0, `fit`
    does not compute the term, and logs 0. If only terms with weight 0 would train a layer, freeze
    the layer, for example by `model.prototypes_layer.similarity.trainable = False`.

    Labels are class ids, shape `(batch,)`. A label that is not a class id raises an error. In a
    compiled step, the backend raises the error. If XLA compiles the step on TensorFlow, no error is
    raised, and the loss is NaN. Predictions are a dictionary of the model's outputs `scores`, shape
    `(batch, classes)`, and `pairs`, shape `(batch, batch)`. If the model has an auxiliary head, the
    dictionary also holds `logits`, shape `(batch, classes)`.

    Args:
        class_weight: Weight of the class term.
        pair_weight: Weight of the pair term.
        aux_weight: Weight of the auxiliary term.
        label_smoothing: Label smoothing in the class term and the auxiliary term: the fraction of
            the target that is spread over all classes.
        pair_smoothing: Label smoothing of the pair term. The targets are `1 - pair_smoothing` for
            the same class and `pair_smoothing` for different classes.
        candidates: Classes that the class term compares. `"all"` compares all classes, as in
            Monteiro2020. `"batch"` compares only the classes in the batch, which is faster for
            thousands of classes.
        trials: Pairs (i, j) that the pair term uses. `"ordered"` uses all pairs with `i != j`,
            because the similarity is not symmetric. `"unordered"` uses only pairs with `i < j`.
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        TypeError, ValueError: If a weight or a fraction is not a number or is out of range, if
            `candidates` or `trials` is unknown, or if an eager call receives a label that is not a
            class id.

    Example:
        >>> loss = PrototypicalLoss()
        >>> scores = np.zeros((2, 2), "float32")
        >>> round(float(loss(np.array([0, 1]), {"scores": scores, "pairs": scores})), 3)
        1.386
    """

    def __init__(
        self,
        *,
        class_weight: float = 1.0,
        pair_weight: float = 1.0,
        aux_weight: float = 1.0,
        label_smoothing: float = 0.0,
        pair_smoothing: float = 0.0,
        candidates: str = "all",
        trials: str = "ordered",
        name: str = "prototypical",
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.class_weight = number("class_weight", class_weight, 0)
        self.pair_weight = number("pair_weight", pair_weight, 0)
        self.aux_weight = number("aux_weight", aux_weight, 0)
        self.label_smoothing = _smoothing("label_smoothing", label_smoothing)
        self.pair_smoothing = _smoothing("pair_smoothing", pair_smoothing)
        if candidates not in CANDIDATES:
            raise ValueError(
                f"`candidates` must be one of {CANDIDATES}. Received candidates={candidates!r}."
            )
        self.candidates = candidates
        if trials not in TRIALS:
            raise ValueError(f"`trials` must be one of {TRIALS}. Received trials={trials!r}.")
        self.trials = trials

    def terms(
        self,
        labels: Tensor,
        scores: Tensor | None = None,
        pairs: Tensor | None = None,
        logits: Tensor | None = None,
        columns: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Computes the class term, the pair term and the auxiliary term without their weights, and
        counts the pairs with the same class.

        A term is 0 if the argument from which it is computed is None.

        Args:
            labels: Class ids, int32, shape `(batch,)`.
            scores: Similarities between rows and prototypes, shape `(batch, classes)`.
            pairs: Similarities between rows, shape `(batch, batch)`.
            logits: Logits of the auxiliary head, including margins, shape `(batch, units)`. A class
                that was added after training has no unit in the head, so rows of this class are
                ignored.
            columns: For each row, the column of `scores` that belongs to the row's class, int32.
                The argument is required if `scores` does not have a column for every class. If two
                columns of `scores` belong to the same class, the later column must hold `-inf`.
        """
        own_class = same_class = auxiliary = positives = ops.zeros((), self.dtype)
        if scores is not None:
            columns = labels if columns is None else columns
            own_class = mean(class_term(scores, columns, self.label_smoothing), axis=0)
        if pairs is not None:
            same_class, positives = pair_term(
                pairs, labels, trials=self.trials, smoothing=self.pair_smoothing
            )
        if logits is not None:
            has_unit = labels < ops.shape(logits)[1]
            values = class_term(logits, ops.where(has_unit, labels, 0), self.label_smoothing)
            auxiliary = mean(values, axis=0, mask=has_unit)
        return own_class, same_class, auxiliary, positives

    def total(self, own_class: Tensor, same_class: Tensor, auxiliary: Tensor) -> Tensor:
        """Computes the weighted sum of the class term, the pair term and the auxiliary term."""
        return (
            self.class_weight * own_class
            + self.pair_weight * same_class
            + self.aux_weight * auxiliary
        )

    def call(self, y_true: Tensor, y_pred: dict[str, Tensor]) -> Tensor:
        labels, valid = known_ids(y_true, ops.shape(y_pred["scores"])[1])
        terms = self.terms(labels, y_pred["scores"], y_pred["pairs"], y_pred.get("logits"))
        return ops.where(valid, self.total(*terms[:3]), float("nan"))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "class_weight": self.class_weight,
            "pair_weight": self.pair_weight,
            "aux_weight": self.aux_weight,
            "label_smoothing": self.label_smoothing,
            "pair_smoothing": self.pair_smoothing,
            "candidates": self.candidates,
            "trials": self.trials,
        }


def _smoothing(name, value):
    if number(name, value) >= 1 or value < 0:
        raise ValueError(
            f"`{name}` must be a number of at least 0 and below 1. Received {name}={value!r}."
        )
    return float(value)
