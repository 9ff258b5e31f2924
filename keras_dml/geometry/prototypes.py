"""Computes prototypes of classes (mean embeddings), their exponential moving averages (EMA), and
scores of classes that were added after training."""

from keras_dml._backend import ops
from keras_dml._typing import Tensor
from keras_dml.geometry import vector


def class_means(z: Tensor, labels: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Computes the mean embedding of each class in a batch. Rows with NaN or infinity are ignored.

    Args:
        z: Embeddings, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`. The id -1 means that a row has no class.
        classes: Number of classes.

    Returns:
        Means, shape `(classes, features)`. The mean of a class without a row is a vector of zeros.
        Numbers of rows per class, shape `(classes,)`, in the dtype of `z`.
    """
    valid = ops.logical_and(labels >= 0, ops.all(ops.isfinite(z), axis=1))
    bins = ops.where(valid, labels, classes)
    sums = ops.segment_sum(z, bins, num_segments=classes + 1)[:classes]
    counts = ops.segment_sum(ops.ones_like(z[:, 0]), bins, num_segments=classes + 1)[:classes]
    return sums / ops.maximum(counts, 1)[:, None], counts


def updated(prototypes: Tensor, z: Tensor, labels: Tensor, decay: Tensor) -> tuple[Tensor, Tensor]:
    """Updates prototypes by an exponential moving average (EMA) of the class means (Monteiro2020,
    Algorithm 1).

    The new prototype is `decay` times the old prototype plus `1 - decay` times the mean of its
    class in the batch.

    Args:
        prototypes: Prototypes, shape `(classes, features)`.
        z: Embeddings of the batch, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`. The id -1 means that a row has no class.
        decay: Weight of the old prototype (lambda), from 0 to 1, shape `()` or `(classes, 1)`.

    Returns:
        Prototypes, shape `(classes, features)`. Prototypes of classes that are not in the batch are
        unchanged. A boolean mask of the classes in the batch, shape `(classes,)`.
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
    """Computes scores of all classes when some of the classes were added after training.

    A learned similarity is trained on the old classes and almost never prefers an added class.
    Therefore, the distances to class means decide between an old and an added class, and between
    two added classes. The score of an added class c is

        max_o S(z, o) + (min_o D(z, o) - D(z, c)) / 2,   D(z, j) = |W'(z - j)|^2 - spread / count_j

    In this formula, the maximum and the minimum are taken over all old classes o. The score of c
    exceeds all similarities of old classes exactly if the mean of c is nearer than the means of all
    old classes. If a class mean is computed from few examples, other examples of the class are
    farther from the mean. On average, the squared distances of the other examples are larger by
    `spread / count`, so D subtracts `spread / count`. If no old classes exist, the score is -D / 2.

    Args:
        similarities: Learned similarities S, shape `(batch, classes)`.
        z: Embeddings, shape `(batch, features)`.
        prototypes: Prototypes, shape `(classes, features)`.
        added: Boolean mask of the added classes, shape `(classes,)`.
        whitening: Whitening matrix W, shape `(features, features)`.
        spread: Scalar, the mean of `|W'(z - class mean)|^2` over the examples z of a class.
        counts: Number of examples that were averaged for each prototype, shape `(classes,)`. The
            value 0 means that the number is unknown. An unknown number is treated as infinite.

    Returns:
        Scores, shape `(batch, classes)`. The score of an old class is the similarity of the class.
    """
    distances = vector.squared_euclidean(
        ops.matmul(z, whitening), ops.matmul(prototypes, whitening)
    )
    distances = distances - ops.where(counts > 0, spread / ops.maximum(counts, 1), 0)
    # To leave added classes out of the maximum and the minimum, their values are replaced by the
    # lowest similarity and the largest distance, because 8-bit models cannot represent infinity.
    lowest = ops.min(similarities, axis=1, keepdims=True)
    farthest = ops.max(distances, axis=1, keepdims=True)
    highest = ops.max(ops.where(added, lowest, similarities), axis=1, keepdims=True)
    nearest = ops.min(ops.where(added, farthest, distances), axis=1, keepdims=True)
    level = ops.where(ops.all(added), 0.0, highest + nearest / 2)
    return ops.where(added, level - distances / 2, similarities)
