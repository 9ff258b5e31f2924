"""Prototypes of classes: mean embeddings and their moving averages."""

from keras_dml._backend import ops


def class_means(z, labels, classes):
    """Mean embedding of each class in a batch; rows that are not finite are left out.

    Args:
        z: Embeddings, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`; -1: no class.
        classes: Number of classes.

    Returns:
        Means, shape `(classes, features)`, zeros for absent classes; counts, shape `(classes,)`, in
        the dtype of `z`.
    """
    known = ops.logical_and(labels >= 0, ops.all(ops.isfinite(z), axis=1))
    bins = ops.where(known, labels, classes)
    sums = ops.segment_sum(z, bins, num_segments=classes + 1)[:classes]
    counts = ops.segment_sum(ops.ones_like(z[:, 0]), bins, num_segments=classes + 1)[:classes]
    return sums / ops.maximum(counts, 1)[:, None], counts


def moved(prototypes, z, labels, decay):
    """Prototypes after a batch: a moving average of the class means (Monteiro2020, Algorithm 1).

    `decay` times the old prototype plus `1 - decay` times the mean of the class in the batch.

    Args:
        prototypes: Prototypes, shape `(classes, features)`.
        z: Embeddings of the batch, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`; -1: no class.
        decay: Weight of the old prototype (lambda), from 0 to 1, shape `()` or `(classes, 1)`.

    Returns:
        Prototypes, shape `(classes, features)`, unchanged for absent classes; which classes were
        present, boolean, shape `(classes,)`.
    """
    means, counts = class_means(z, labels, prototypes.shape[0])
    present = counts > 0
    after = decay * prototypes + (1 - decay) * means
    return ops.where(present[:, None], after, prototypes), present
