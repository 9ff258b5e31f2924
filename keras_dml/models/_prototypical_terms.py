"""The terms of `PrototypicalLoss` for a batch of embeddings of a classifier."""

from keras_dml._backend import ops
from keras_dml.geometry import vector
from keras_dml.losses.pairs import classes_present
from keras_dml.losses.prototypes import additive_margin


def batch_terms(classifier, loss, z, labels, *, training, static):
    """The terms of a batch with the present prototypes; see `PrototypicalLoss.terms`.

    Args:
        classifier: A `PrototypicalClassifier`.
        loss: A `PrototypicalLoss`; a term of weight 0 is not computed and is 0.
        z: Embeddings, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`.
        training: Whether dropout is active.
        static: Whether XLA compiles the step, so that no shape may depend on values.
    """
    layer = classifier.prototypes_layer
    z = ops.cast(z, layer.dtype)
    scores = columns = pairs = logits = None
    if loss.class_weight and loss.candidates == "all":
        scores = layer(z, training=training)
    elif loss.class_weight:
        scores, columns = _scores_of_present(layer, z, labels, training, static)
    if loss.pair_weight:
        pairs = layer.similarity(z, z, training=training)
    if loss.aux_weight and classifier.aux == "softmax":
        logits = classifier.aux_head(z)
    elif loss.aux_weight and classifier.aux == "am":
        logits = additive_margin(auxiliary_cosines(classifier.aux_head, z), labels)
    return loss.terms(labels, scores, pairs, logits, columns)


def auxiliary_cosines(head, z):
    """Cosines of embeddings to the weights of a dense layer, shape `(batch, classes)`."""
    return vector.cosine(z, ops.transpose(ops.convert_to_tensor(head.kernel)))


def _scores_of_present(layer, z, labels, training, static):
    """Scores of the classes of a batch, and the column of each row's class among them."""
    present, columns = classes_present(labels, layer.classes, static=static)
    chosen = ops.take(layer.prototypes, present, axis=0)
    scores = layer.similarity(z, chosen, training=training)
    return ops.where(_repeated(present), -float("inf"), scores), columns


def _repeated(ids):
    """Whether an id comes earlier too, shape `(ids,)`."""
    rows = ops.arange(ops.shape(ids)[0], dtype="int32")
    earlier = ops.logical_and(ops.equal(ids[:, None], ids[None]), rows[:, None] > rows[None])
    return ops.any(earlier, axis=1)
