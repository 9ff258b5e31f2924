"""Labels of a batch, and its pairs."""

import numpy as np

from keras_dml._backend import gradients, keras, ops
from keras_dml._backend.enforced import enforced
from keras_dml._backend.values import concrete, unique
from keras_dml.labels import column_of, numeric_labels

LARGEST_LABEL = 2**24  # Keras casts labels to float32, which holds whole numbers up to here
AT_LEAST_32 = {  # types that do not hold that bound
    **dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), "int32"),
    **dict.fromkeys(("float16", "bfloat16"), "float32"),
}
NOT_PAIRS = (
    "Every label of a batch of pairs must come exactly twice (an anchor and its positive). Draw "
    "the batches with `keras_dml.samplers.NPairSampler`."
)


def class_ids(labels):
    """Labels as int32, shape `(batch,)`; in a compiled step, where nothing can be raised, -1 for
    what is not an id.

    Args:
        labels: Dense class ids, shape `(batch,)` or `(batch, 1)`, whole numbers from 0 to 2**24 -
            1.

    Raises:
        TypeError: For names and other than numbers.
        ValueError: For another shape; in an eager call also for numbers that are no such ids.
    """
    labels = column_of(numeric_labels(labels))
    if len(labels.shape) != 1:
        raise ValueError(
            "`labels` must be one class id a row, shape (batch,) or (batch, 1). Received shape "
            f"{tuple(labels.shape)}. One-hot labels become ids by `argmax(axis=-1)`."
        )
    values = concrete(labels)
    if values is not None:
        _check_ids(values)
        return ops.convert_to_tensor(values.astype("int32"))
    dtype = keras.backend.standardize_dtype(labels.dtype)
    labels = ops.cast(labels, AT_LEAST_32.get(dtype, dtype))
    ids = ops.cast(labels, "int32")
    known = ops.logical_and(ops.equal(ops.cast(ids, labels.dtype), labels), labels >= 0)
    return ops.where(ops.logical_and(known, labels < LARGEST_LABEL), ids, -1)


def check_known(ids, classes, what, advice):
    """Raises in an eager call if an id is not below the number of classes.

    Args:
        ids: Class ids, int32, shape `(batch,)`.
        classes: Number of classes.
        what: Name of what each class has one of, plural, for the error.
        advice: End of the error.
    """
    values = concrete(ids)
    if values is not None and (values >= classes).any():
        raise ValueError(
            f"Labels must be below the number of {what}, {classes}. Received "
            f"{np.unique(values[values >= classes])[:8].tolist()}. {advice}, or number the classes "
            "from 0."
        )


def classes_present(labels, classes, *, static=False):
    """Ids of the classes of a batch, and each row's index among them.

    Where shapes are static, always so on JAX, a class may come several times; the rows' indices
    refer to the first of them.

    Args:
        labels: Class ids, int32, shape `(batch,)`; -1 is none.
        classes: Number of all classes.
        static: Whether XLA compiles the step, so that no shape may depend on values.

    Returns:
        Ids, shape `(present,)`, and indices, shape `(batch,)`, -1 for none; int32.
    """
    ids = ops.maximum(labels, 0)
    present, indices = unique(ids, classes, static)
    return present, ops.where(labels < 0, -1, ops.cast(ops.reshape(indices, (-1,)), "int32"))


def split_pairs(embeddings, labels):
    """Embeddings of the anchors and of their positives in a batch of pairs.

    Args:
        embeddings: Shape `(2 pairs, ...)`.
        labels: Class ids, int32, shape `(2 pairs,)`; -1 is none.

    Returns:
        Anchors in their order and their positives, shape `(pairs, ...)` each, and whether the batch
        is one of pairs, as `anchors_and_positives` has it.

    Raises:
        ValueError: As `anchors_and_positives`; if there is not one label a row.
    """
    rows, named = embeddings.shape[0], labels.shape[0]
    if None not in (rows, named) and rows != named:
        raise ValueError(f"Each row needs its label. Received {rows} rows and {named} labels.")
    anchors, positives, valid = anchors_and_positives(labels)
    ordered = _in_order(embeddings, ops.concatenate([anchors, positives]))
    return (*ops.split(ordered, 2), valid)


def anchors_and_positives(labels):
    """Rows of the anchors and of their positives in a batch of pairs.

    The first row of a label is the anchor, the second its positive, whatever the order of the rows.

    Args:
        labels: Class ids, int32, shape `(2 pairs,)`; -1 is none.

    Returns:
        Rows of the anchors in their order, shape `(pairs,)`; rows of their positives, same shape; a
        boolean scalar that is False where a label does not appear exactly twice or is none.

    Raises:
        ValueError: In an eager call, naming a label that does not appear exactly twice; in a
            compiled step for an odd number of rows. What else is not a batch of pairs stops the
            step, but on TensorFlow where XLA compiles it.
    """
    rows = labels.shape[0]
    values = concrete(labels)
    if values is not None:
        _check_pairs(values)
    if rows is not None and rows % 2:
        raise ValueError(
            f"A batch of pairs has an even number of rows. Received {rows}. Draw the batches with "
            "`keras_dml.samplers.NPairSampler`."
        )
    rows = ops.shape(labels)[0]
    even = rows - rows % 2
    order = ops.cast(ops.argsort(labels), "int32")[:even]
    order = ops.reshape(order, (-1, 2))  # (pairs, 2), the rows of one label
    ids = ops.take(labels, order)
    own, other = ids[:, 0], ids[:, 1]
    valid = ops.all(ops.logical_and(ops.equal(own, other), own >= 0))
    valid = ops.logical_and(valid, ops.all(own[1:] > own[:-1]))
    valid = ops.logical_and(valid, ops.equal(rows, even))
    if values is None:
        valid = enforced(valid, NOT_PAIRS)
    first, second = ops.min(order, axis=1), ops.max(order, axis=1)
    order = ops.argsort(first)
    return ops.take(first, order), ops.take(second, order), valid


def _in_order(x, order):
    """The rows of `x` in an order that holds each, except the last of an odd number.

    TensorFlow's own gradient adds rows up, since an order may hold one twice, and takes a fourth of
    the N-pair loss's time. On JAX a custom gradient would lose the losses' forward mode.
    """
    if gradients.has_forward_mode():
        return ops.take(x, order, axis=0)

    @ops.custom_gradient
    def in_order(x):
        left_out = ops.shape(x)[0] - ops.shape(order)[0]

        def gradient(upstream):
            rows = ops.take(upstream, ops.argsort(order), axis=0)
            return ops.pad(rows, [[0, left_out]] + [[0, 0]] * (len(x.shape) - 1))

        return ops.take(x, order, axis=0), gradient

    return in_order(x)


def _check_ids(labels):
    wide = labels.astype(np.result_type(labels, np.float32))
    known = (wide >= 0) & (wide < LARGEST_LABEL) & (wide == np.floor(wide))
    if not known.all():
        raise ValueError(
            "`labels` must be whole numbers from 0 to 2**24 - 1, since Keras passes labels as "
            f"float32. Received {labels[~known][:8].tolist()}. The samplers number "
            "labels of any type; so does `numpy.unique(labels, return_inverse=True)`."
        )


def _check_pairs(labels):
    ids, counts = np.unique(labels, return_counts=True)
    wrong = counts != 2
    if wrong.any():
        label, count = ids[wrong][0], counts[wrong][0]
        raise ValueError(
            "Every label of a batch of pairs must come exactly twice (an anchor and its "
            f"positive). Label {label} comes {count} times. Draw the batches with "
            "`keras_dml.samplers.NPairSampler`."
        )
