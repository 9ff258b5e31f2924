"""Losses for adversarial training (ALP, TLA, TRADES), and losses that adversarial attacks maximize
(DLR, margin).

The functions take the logits of clean inputs or of adversarial examples, shape `(batch, classes)`.
Each function returns one value per example, shape `(batch,)`. The loss is the mean of the values
over the examples. `keras_dml.models.AdversarialTraining` minimizes ALP, TLA and TRADES. ALP, TLA
and TRADES are implemented as in the papers that introduced them. Table 1 of Monteiro2020 compares
the paper's method with ALP, TLA and TRADES. The attacks in `keras_dml.evaluation.attacks`, such as
AutoAttack, maximize `cross_entropy`, `margin` and the differences of logits ratio.
"""

import numpy as np

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry import vector
from keras_dml.geometry.numerics import absolute, at_least_float32, mean, widest

NO_GAP = 1e-12  # added to differences of logits, which may be 0 (as in the code of Croce2020)


def cross_entropy(labels: Tensor, logits: Tensor) -> Tensor:
    """Computes the cross-entropy of logits as `softplus(logsumexp(others) - own)`, where `own` is
    the logit of the correct class and `others` are the other logits.

    The usual formula is `logsumexp(logits) - own`. If the network is confident, this difference
    loses all digits by cancellation. Then rounding errors would determine the signs of the
    gradient, and wrong signs would mislead an attack.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        logits: Logits, shape `(batch, classes)`, at least two classes.

    >>> cross_entropy(np.array([0]), np.array([[0.0, 0.0]], "float32")).numpy().round(3)
    array([0.693], dtype=float32)
    """
    logits = at_least_float32(logits)
    return ops.softplus(ops.logsumexp(_others(labels, logits), axis=1) - _own(labels, logits))


def margin(labels: Tensor, logits: Tensor) -> Tensor:
    """Computes the margin: the largest logit of a wrong class minus the logit of the correct class.
    The margin is positive if the example is misclassified.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        logits: Logits, shape `(batch, classes)`, at least two classes.
    """
    logits = at_least_float32(logits)
    return ops.max(_others(labels, logits), axis=1) - _own(labels, logits)


def dlr(labels: Tensor, logits: Tensor) -> Tensor:
    """Computes the difference of logits ratio, DLR (Croce2020, Eq. 6). The DLR is the margin
    divided by the gap between the largest and the third largest logit.

    The DLR does not change if logits are shifted or scaled. So the gradient of the DLR does not
    vanish if the network is confident.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        logits: Logits, shape `(batch, classes)`.

    Raises:
        ValueError: If there are fewer than three classes.
    """
    logits = at_least_float32(logits)
    largest = _largest(logits, 3)
    return margin(labels, logits) / (largest[:, 0] - largest[:, 2] + NO_GAP)


def targeted_dlr(labels: Tensor, targets: Tensor, logits: Tensor) -> Tensor:
    """Computes the targeted difference of logits ratio (Croce2020, Eq. 7). The numerator is the
    logit of the target class minus the logit of the correct class. The denominator is the largest
    logit minus the mean of the third and the fourth largest logit.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        targets: Ids of the classes that the attack wants the model to predict, integers, shape
            `(batch,)`.
        logits: Logits, shape `(batch, classes)`.

    Raises:
        ValueError: If there are fewer than four classes.
    """
    logits = at_least_float32(logits)
    largest = _largest(logits, 4)
    gap = largest[:, 0] - (largest[:, 2] + largest[:, 3]) / 2
    return (_own(targets, logits) - _own(labels, logits)) / (gap + NO_GAP)


def kl_divergence(logits: Tensor, reference: Tensor) -> Tensor:
    """Computes the Kullback-Leibler divergence KL(softmax(logits) || softmax(reference)).

    Args:
        logits: Logits, shape `(batch, classes)`.
        reference: Logits of the reference distribution, shape `(batch, classes)`.
    """
    first, second = (ops.log_softmax(x, axis=1) for x in widest(logits, reference))
    return ops.sum(ops.exp(first) * (first - second), axis=1)


def alp(labels: Tensor, clean: Tensor, adversarial: Tensor, weight: float = 0.5) -> Tensor:
    """Computes adversarial logit pairing, ALP (Kannan2018). The loss is the mean of two
    cross-entropies (of clean inputs and of adversarial examples), plus `weight` times the mean
    squared difference between clean and adversarial logits.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        clean: Logits of the clean inputs, shape `(batch, classes)`.
        adversarial: Logits of the adversarial examples that were made from the clean inputs, same
            shape. Gradients flow into `clean` and `adversarial`.
        weight: Weight of the squared difference.
    """
    clean, adversarial = widest(clean, adversarial)
    pairing = mean(ops.square(clean - adversarial), axis=1)
    total = cross_entropy(labels, clean) + cross_entropy(labels, adversarial)
    return total / 2 + weight * pairing


def trades(labels: Tensor, clean: Tensor, adversarial: Tensor, beta: float = 6.0) -> Tensor:
    """Computes TRADES (Zhang2019). The loss is the cross-entropy of the clean inputs plus `beta`
    times the divergence KL(clean || adversarial).

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        clean: Logits of the clean inputs, shape `(batch, classes)`.
        adversarial: Logits of the adversarial examples that were made from the clean inputs, same
            shape. Gradients flow into `clean` and `adversarial`.
        beta: Weight of the divergence. The default, 6, is the value of 1 / lambda for MNIST in
            Monteiro2020, Table 1.
    """
    clean, adversarial = widest(clean, adversarial)
    return cross_entropy(labels, clean) + beta * kl_divergence(clean, adversarial)


def tla(
    labels: Tensor,
    clean: Tensor,
    adversarial: Tensor,
    logits: Tensor,
    *,
    margin: float = 0.05,
    weight: float = 0.5,
    norm_weight: float = 1e-4,
) -> Tensor:  # defaults of Mao2019 for MNIST
    """Computes the triplet loss of adversarial training, TLA (Mao2019).

    The loss is the weighted sum of three terms. The first term is the cross-entropy of the
    adversarial examples. The second term is the hinge `D(anchor, positive) - D(anchor, negative) +
    margin` with `D = 1 - |cos|`. The third term adds the squares of the three vectors, and averages
    the sum over the features. Anchors are adversarial examples. Positives and negatives are clean
    examples that `tla_pairs` selects. In a batch with only one class, the loss has no hinge.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        clean: Embeddings of the clean inputs, shape `(batch, features)`.
        adversarial: Embeddings of the adversarial examples that were made from the clean inputs,
            same shape.
        logits: Logits of the adversarial examples, shape `(batch, classes)`.
        margin: Margin of the hinge.
        weight: Weight of the hinge.
        norm_weight: Weight of the third term, which contains the squared vectors.
    """
    clean, adversarial, logits = widest(clean, adversarial, logits)
    positive, negative = tla_pairs(labels, clean)
    hinge, norm = tla_terms(
        adversarial,
        ops.take(clean, positive, axis=0),
        ops.take(clean, ops.maximum(negative, 0), axis=0),
        margin,
    )
    hinge = ops.where(negative < 0, 0, hinge)
    return cross_entropy(labels, logits) + weight * hinge + norm_weight * norm


def tla_terms(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float
) -> tuple[Tensor, Tensor]:
    """Computes the hinge and the mean square of each triplet. Returns two tensors of shape
    `(batch,)`.

    Args:
        anchor, positive, negative: Vectors, shape `(batch, features)`.
        margin: Margin of the hinge.
    """
    anchor, positive, negative = widest(anchor, positive, negative)
    gap = _absolute_cosine(anchor, negative) - _absolute_cosine(anchor, positive)
    squares = ops.square(anchor) + ops.square(positive) + ops.square(negative)
    return ops.relu(gap + margin), mean(squares, axis=1)


def tla_pairs(labels: Tensor, clean: Tensor) -> tuple[Tensor, Tensor]:
    """Selects a clean positive and a clean negative for each anchor.

    The positive is the next example in the batch that has the anchor's class. For the last example
    of a class in the batch, the positive is the first example of this class. If the class has only
    one example, the positive is the clean version of the anchor. Among the examples of other
    classes, the negative is the example that has the largest |cos| with the clean version of the
    anchor. If several examples have the largest |cos|, the negative is the first of these examples.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        clean: Embeddings of the clean inputs, shape `(batch, features)`.

    Returns:
        Row numbers of the positives and row numbers of the negatives, integers, each of shape
        `(batch,)`. In a batch with only one class, the row number of a negative is -1.
    """
    similar = absolute(vector.cosine(clean, clean))  # (batch, batch)
    equal = ops.equal(labels[:, None], labels[None])
    rows = ops.shape(similar)[0]
    index = ops.arange(rows, dtype="int32")
    ahead = ops.mod(index[None] - index[:, None] - 1, rows)  # the anchor itself comes last
    positive = ops.argmin(ops.where(equal, ahead, rows), axis=1)
    negative = ops.argmax(ops.where(equal, -1.0, similar), axis=1)
    return positive, ops.where(ops.all(equal, axis=1), -1, negative)


def _absolute_cosine(x, y):
    return absolute(ops.sum(vector.unit(x) * vector.unit(y), axis=1))


def _largest(logits, count):
    """Returns the `count` largest logits of each row, in descending order, shape
    `(batch, count)`."""
    classes = logits.shape[1]
    if classes is not None and classes < count:
        raise ValueError(
            f"The loss `dlr` needs the logits of at least {count} classes. Received the logits of "
            f"{classes} classes. Use the loss `margin` or `cross_entropy` instead."
        )
    return ops.top_k(logits, count)[0]


def _others(labels, logits):
    """Replaces the logit of the correct class by -inf."""
    columns = ops.arange(ops.shape(logits)[1], dtype="int32")[None]
    return ops.where(ops.equal(columns, ops.cast(labels, "int32")[:, None]), -np.inf, logits)


def _own(labels, logits):
    """Returns the logit of the correct class, shape `(batch,)`."""
    ids = ops.cast(labels, "int32")[:, None]
    return ops.take_along_axis(logits, ids, axis=1)[:, 0]
