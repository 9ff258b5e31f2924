"""Losses of adversarial training that Monteiro2020 compares with in Table 1, each as its own paper
defines it, and the losses that attacks maximize.

Functions of logits on clean inputs and on their adversarial examples, shape `(batch, classes)`.
Each returns one value an example, shape `(batch,)`, whose mean is the loss.
`keras_dml.models.AdversarialTraining` minimizes them; `cross_entropy`, `margin` and the
differences of logits ratio are those of `keras_dml.evaluation.attacks`.
"""

import numpy as np

from keras_dml._backend import ops
from keras_dml.geometry import vector
from keras_dml.geometry.numerics import absolute, at_least_float32, mean, widest

NO_GAP = 1e-12  # added to a gap of logits, which is 0 where they are equal (Croce2020's code)


def cross_entropy(labels, logits):
    """Cross-entropy of logits, as `softplus(logsumexp(others) - own)`.

    The usual difference of logsumexp and own logit cancels where the network is confident. The
    signs of its gradient are rounding errors there, which misleads an attack.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        logits: Logits, shape `(batch, classes)`, two classes at least.

    >>> cross_entropy(np.array([0]), np.array([[0.0, 0.0]], "float32")).numpy().round(3)
    array([0.693], dtype=float32)
    """
    logits = at_least_float32(logits)
    return ops.softplus(ops.logsumexp(_others(labels, logits), axis=1) - _own(labels, logits))


def margin(labels, logits):
    """Largest logit of another class minus that of the own class; above 0 if misclassified.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        logits: Logits, shape `(batch, classes)`, two classes at least.
    """
    logits = at_least_float32(logits)
    return ops.max(_others(labels, logits), axis=1) - _own(labels, logits)


def dlr(labels, logits):
    """Difference of logits ratio (Croce2020, Eq. 6): the margin over the gap between the largest
    and the third largest logit.

    No shift and no scale of the logits changes it, so its gradient does not vanish where the
    network is sure.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        logits: Logits, shape `(batch, classes)`.

    Raises:
        ValueError: If there are fewer than three classes.
    """
    logits = at_least_float32(logits)
    largest = _largest(logits, 3)
    return margin(labels, logits) / (largest[:, 0] - largest[:, 2] + NO_GAP)


def targeted_dlr(labels, targets, logits):
    """Targeted difference of logits ratio (Croce2020, Eq. 7): logit of the target minus that of the
    own class, over the gap between the largest logit and the mean of the third and the fourth.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        targets: Ids of the classes that the attack aims at, integers, shape `(batch,)`.
        logits: Logits, shape `(batch, classes)`.

    Raises:
        ValueError: If there are fewer than four classes.
    """
    logits = at_least_float32(logits)
    largest = _largest(logits, 4)
    gap = largest[:, 0] - (largest[:, 2] + largest[:, 3]) / 2
    return (_own(targets, logits) - _own(labels, logits)) / (gap + NO_GAP)


def kl_divergence(logits, other):
    """KL(softmax(logits) || softmax(other)), from log-softmax.

    Args:
        logits: Logits, shape `(batch, classes)`.
        other: Logits, same shape.
    """
    first, second = (ops.log_softmax(x, axis=1) for x in widest(logits, other))
    return ops.sum(ops.exp(first) * (first - second), axis=1)


def alp(labels, clean, adversarial, weight=0.5):
    """Adversarial logit pairing (Kannan2018): the mean of clean and adversarial cross-entropy, plus
    the mean square of the difference of their logits.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        clean: Logits of the inputs, shape `(batch, classes)`.
        adversarial: Logits of their adversarial examples, same shape. Both sides carry gradient.
        weight: Weight of the pairing.
    """
    clean, adversarial = widest(clean, adversarial)
    pairing = mean(ops.square(clean - adversarial), axis=1)
    both = cross_entropy(labels, clean) + cross_entropy(labels, adversarial)
    return both / 2 + weight * pairing


def trades(labels, clean, adversarial, beta=6.0):
    """Clean cross-entropy and `beta` times KL(clean || adversarial) (Zhang2019).

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        clean: Logits of the inputs, shape `(batch, classes)`.
        adversarial: Logits of their adversarial examples, same shape. Both sides carry gradient.
        beta: Weight of the divergence, 1 / lambda in Monteiro2020, Table 1: 6 for MNIST.
    """
    clean, adversarial = widest(clean, adversarial)
    return cross_entropy(labels, clean) + beta * kl_divergence(clean, adversarial)


def tla(
    labels, clean, adversarial, logits, *, margin=0.05, weight=0.5, norm_weight=1e-4
):  # the constants of Mao2019 for MNIST
    """Triplet loss adversarial training (Mao2019).

    Adversarial cross-entropy, a hinge `D(anchor, positive) - D(anchor, negative) + margin` with
    `D = 1 - |cos|`, adversarial anchors and the clean examples of `tla_pairs`, and the squares of
    all three, mean over dimensions. An anchor in a batch of one class has no hinge.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        clean: Embeddings of the inputs, shape `(batch, features)`.
        adversarial: Embeddings of their adversarial examples, same shape.
        logits: Logits of the adversarial examples, shape `(batch, classes)`.
        margin: Margin of the hinge.
        weight: Weight of the hinge.
        norm_weight: Weight of the squares.
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


def tla_terms(anchor, positive, negative, margin):
    """Hinges and mean squares of triplets, both of shape `(batch,)`.

    Args:
        anchor, positive, negative: Vectors, shape `(batch, features)`.
        margin: Margin of the hinge.
    """
    anchor, positive, negative = widest(anchor, positive, negative)
    gap = _absolute_cosine(anchor, negative) - _absolute_cosine(anchor, positive)
    squares = ops.square(anchor) + ops.square(positive) + ops.square(negative)
    return ops.relu(gap + margin), mean(squares, axis=1)


def tla_pairs(labels, clean):
    """The clean examples that each anchor is compared with.

    The positive is the next example of the class in the batch, after the last the first, and the
    anchor's own twin if it is alone. The negative is the example of another class with the largest
    |cos| to the anchor's clean twin, ties to the lowest index.

    Args:
        labels: Class ids, integers, shape `(batch,)`.
        clean: Embeddings of the inputs, shape `(batch, features)`.

    Returns:
        Rows of the positives and of the negatives, integers, shape `(batch,)`; a negative is -1
        in a batch of one class.
    """
    similar = absolute(vector.cosine(clean, clean))  # (batch, batch)
    same = ops.equal(labels[:, None], labels[None])
    rows = ops.shape(similar)[0]
    index = ops.arange(rows, dtype="int32")
    ahead = ops.mod(index[None] - index[:, None] - 1, rows)  # the anchor itself comes last
    positive = ops.argmin(ops.where(same, ahead, rows), axis=1)
    negative = ops.argmax(ops.where(same, -1.0, similar), axis=1)
    return positive, ops.where(ops.all(same, axis=1), -1, negative)


def _absolute_cosine(x, y):
    return absolute(ops.sum(vector.unit(x) * vector.unit(y), axis=1))


def _largest(logits, count):
    """The largest logits of each row, in descending order, shape `(batch, count)`."""
    classes = logits.shape[1]
    if classes is not None and classes < count:
        raise ValueError(
            f"The difference of logits ratio compares {count} logits. Received logits of "
            f"{classes} classes; attack the margin or the cross-entropy."
        )
    return ops.top_k(logits, count)[0]


def _others(labels, logits):
    """The logits, -inf in the column of the own class."""
    columns = ops.arange(ops.shape(logits)[1], dtype="int32")[None]
    return ops.where(ops.equal(columns, ops.cast(labels, "int32")[:, None]), -np.inf, logits)


def _own(labels, logits):
    ids = ops.cast(labels, "int32")[:, None]
    return ops.take_along_axis(logits, ids, axis=1)[:, 0]
