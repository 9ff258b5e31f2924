"""Prototypes of classes: means of embeddings, moved batch by batch."""

from keras_dml._backend import ops


def class_means(z, labels, classes):
    """Mean embedding of each class in a batch; a row that is not finite is of none.

    Args:
        z: Embeddings, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`; -1 is none.
        classes: Number of classes.

    Returns:
        Means, shape `(classes, features)`, zeros for an absent class; counts, shape `(classes,)`,
        in the dtype of `z`.
    """
    known = ops.logical_and(labels >= 0, ops.all(ops.isfinite(z), axis=1))
    bins = ops.where(known, labels, classes)
    sums = ops.segment_sum(z, bins, num_segments=classes + 1)[:classes]
    counts = ops.segment_sum(ops.ones_like(z[:, 0]), bins, num_segments=classes + 1)[:classes]
    return sums / ops.maximum(counts, 1)[:, None], counts


def moved(prototypes, z, labels, decay):
    """Prototypes after a batch (Monteiro2020, Algorithm 1): `decay` times the old one plus
    `1 - decay` times the mean of the class's own embeddings.

    Args:
        prototypes: Shape `(classes, features)`.
        z: Embeddings of the batch, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`; -1 is none.
        decay: Share of the old prototype (lambda), from 0 to 1, shape `()` or `(classes, 1)`.

    Returns:
        Prototypes, shape `(classes, features)`; those of absent classes keep their bits. And which
        classes were present, boolean, shape `(classes,)`.
    """
    means, counts = class_means(z, labels, prototypes.shape[0])
    present = counts > 0
    after = decay * prototypes + (1 - decay) * means
    return ops.where(present[:, None], after, prototypes), present
