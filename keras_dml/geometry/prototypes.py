"""Prototypes of classes: mean embeddings, their exponential moving averages (EMA), and scores of
added classes."""

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry import vector


def class_means(z: Tensor, labels: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Computes the mean embedding of each class in a batch, without rows that are not finite.

    Args:
        z: Embeddings, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`; -1: no class.
        classes: Number of classes.

    Returns:
        Means, shape `(classes, features)`, zeros for absent classes; counts, shape `(classes,)`, in
        the dtype of `z`.
    """
    valid = ops.logical_and(labels >= 0, ops.all(ops.isfinite(z), axis=1))
    bins = ops.where(valid, labels, classes)
    sums = ops.segment_sum(z, bins, num_segments=classes + 1)[:classes]
    counts = ops.segment_sum(ops.ones_like(z[:, 0]), bins, num_segments=classes + 1)[:classes]
    return sums / ops.maximum(counts, 1)[:, None], counts


def updated(prototypes: Tensor, z: Tensor, labels: Tensor, decay: Tensor) -> tuple[Tensor, Tensor]:
    """Updates prototypes by an exponential moving average (EMA) of the class means (Monteiro2020,
    Algorithm 1).

    A prototype becomes `decay` times the old prototype plus `1 - decay` times the mean of its class
    in the batch.

    Args:
        prototypes: Prototypes, shape `(classes, features)`.
        z: Embeddings of the batch, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`; -1: no class.
        decay: Weight of the old prototype (lambda), from 0 to 1, shape `()` or `(classes, 1)`.

    Returns:
        Prototypes, shape `(classes, features)`, unchanged for absent classes; a mask of the classes
        in the batch, boolean, shape `(classes,)`.
    """
    means, counts = class_means(z, labels, prototypes.shape[0])
    present = counts > 0
    after = decay * prototypes + (1 - decay) * means
    return ops.where(present[:, None], after, prototypes), present


def balanced(
    similarities: Tensor,
    z: Tensor,
    prototypes: Tensor,
    added: Tensor,
    whitening: Tensor,
    spread: Tensor,
    counts: Tensor,
) -> Tensor:
    """Computes scores of classes if some of them were added after the similarity was trained.

    A learned similarity is trained on the old classes and almost never prefers an added class. So
    the nearest class mean decides between old and added classes, and among added classes. The score
    of an added class c is

        max_o S(z, o) + (min_o D(z, o) - D(z, c)) / 2,   D(z, j) = |W'(z - j)|^2 - spread / count_j

    with o over the old classes. It exceeds all similarities exactly if c is the nearest class. The
    mean of few examples is farther from other examples of its class than the mean of many examples,
    on average by `spread / count`, which D subtracts. Without old classes the score is -D / 2.

    Args:
        similarities: Learned similarities S, shape `(batch, classes)`.
        z: Embeddings, shape `(batch, features)`.
        prototypes: Prototypes, shape `(classes, features)`.
        added: Mask of the added classes, boolean, shape `(classes,)`.
        whitening: W, shape `(features, features)`.
        spread: Mean of `|W'(z - class mean)|^2` over examples z of a class; scalar.
        counts: Number of examples in the mean of each prototype, shape `(classes,)`; 0: unknown,
            and so large that it makes no difference.

    Returns:
        Scores, shape `(batch, classes)`. The scores of old classes are their similarities.
    """
    distances = vector.squared_euclidean(
        ops.matmul(z, whitening), ops.matmul(prototypes, whitening)
    )
    distances = distances - ops.where(counts > 0, spread / ops.maximum(counts, 1), 0)
    # Added classes count as the least similar and the farthest, because infinity has no 8-bit
    # value.
    lowest = ops.min(similarities, axis=1, keepdims=True)
    farthest = ops.max(distances, axis=1, keepdims=True)
    highest = ops.max(ops.where(added, lowest, similarities), axis=1, keepdims=True)
    nearest = ops.min(ops.where(added, farthest, distances), axis=1, keepdims=True)
    level = ops.where(ops.all(added), 0.0, highest + nearest / 2)
    return ops.where(added, level - distances / 2, similarities)
