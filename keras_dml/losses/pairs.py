"""Functions that check the labels of a batch and find pairs of anchors and positives in the
batch."""

import numpy as np

from keras_dml._backend import gradients, keras, ops
from keras_dml._backend.enforced import enforced
from keras_dml._backend.values import concrete, unique
from keras_dml._typing import Tensor
from keras_dml.labels import column_of, numeric_labels

LARGEST_LABEL = 2**31 - 1  # ids are int32
LARGEST_OF_FLOATS = {"float16": 2**11 - 1, "bfloat16": 2**8 - 1, "float32": 2**24 - 1}
AT_LEAST_32 = {  # wider dtypes, because narrow dtypes cannot represent the bounds
    **dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), "int32"),
    **dict.fromkeys(("float16", "bfloat16"), "float32"),
}
NOT_PAIRS = (
    "Every label in a batch of pairs must appear exactly twice (an anchor and its positive). Draw "
    "the batches with `keras_dml.samplers.NPairSampler`."
)


def class_ids(labels: Tensor) -> Tensor:
    """Returns labels as int32, shape `(batch,)`.

    Args:
        labels: Class ids, whole numbers from 0 to 2**31 - 1, shape `(batch,)` or `(batch, 1)`.
            Floating-point labels have a lower maximum, because their dtype holds larger whole
            numbers only approximately. The maximum is 2**24 - 1 in float32, 2**11 - 1 in float16
            and 2**8 - 1 in bfloat16. JAX without `JAX_ENABLE_X64` truncates int64 labels to 32 bits
            before a compiled step.

    Returns:
        Class ids. If XLA compiles the step on TensorFlow, invalid labels become -1, because XLA
        ignores assertions.

    Raises:
        TypeError: If labels are not numbers, for example if the labels are names.
        ValueError: If labels have a shape other than `(batch,)` and `(batch, 1)`, or if an eager
            call receives labels that are not class ids. In a compiled step, the backend raises an
            error with the same message.
    """
    labels = column_of(numeric_labels(labels))
    if len(labels.shape) != 1:
        raise ValueError(
            "`labels` must be one class id per row, shape (batch,) or (batch, 1). Received shape "
            f"{tuple(labels.shape)}. Convert one-hot labels to ids by `argmax(axis=-1)`."
        )
    dtype = keras.backend.standardize_dtype(labels.dtype)
    largest = LARGEST_OF_FLOATS.get(dtype, LARGEST_LABEL)
    exact = f", which {dtype} holds exactly" if dtype in LARGEST_OF_FLOATS else ""
    message = (
        f"`labels` must be class ids: whole numbers from 0 to {largest}{exact}. Number the classes "
        "from 0, as the samplers and `numpy.unique(labels, return_inverse=True)` do, and pass "
        "integers."
    )
    values = concrete(labels)
    if values is not None:
        _check_ids(values, largest, message)
        return ops.convert_to_tensor(values.astype("int32"), "int32")
    labels = ops.cast(labels, AT_LEAST_32.get(dtype, dtype))
    ids = ops.cast(labels, "int32")
    valid = ops.logical_and(ops.equal(ops.cast(ids, labels.dtype), labels), ids >= 0)
    if largest < LARGEST_LABEL:
        valid = ops.logical_and(valid, labels <= largest)
    return _or_minus_1(enforced(valid, message, labels), ids)


def ids_below(
    labels: Tensor, classes: int | Tensor, what: str, advice: str = "Number the classes from 0."
) -> Tensor:
    """Checks that class ids are below the number of classes. Returns the ids as int32, shape
    `(batch,)`.

    Args:
        labels: Class ids, shape `(batch,)` or `(batch, 1)`.
        classes: Number of classes, as an int. If the number is known only while the graph runs,
            `classes` is a scalar tensor.
        what: Plural noun that states, in the error message, what each class has, such as
            `"proxies"`.
        advice: Advice at the end of the error message if an id is too large.

    Returns:
        Class ids. If XLA compiles the step on TensorFlow, invalid ids become -1.

    Raises:
        TypeError, ValueError: If `class_ids` does not accept the labels, or if an id is not below
            `classes`.
    """
    ids = class_ids(labels)
    values = concrete(ids)
    number = classes if isinstance(classes, int) else concrete(classes)
    message = f"Labels must be class ids below the number of {what}. {advice}"
    if number is not None:
        message = (
            f"Labels must be class ids from 0 to {int(number) - 1}, below the number of {what}. "
            f"{advice}"
        )
    if values is not None and number is not None:
        beyond = values[values >= int(number)]
        if len(beyond):
            raise ValueError(f"{message} Received {np.unique(beyond)[:8].tolist()}.")
        return ids
    return _or_minus_1(enforced(ids < classes, message, ids), ids)


def _or_minus_1(valid, ids):
    """Replaces class ids that are not valid by -1."""
    return ops.where(valid, ids, ops.full_like(ids, -1))


def classes_present(labels: Tensor, classes: int, *, static: bool = False) -> tuple[Tensor, Tensor]:
    """Returns the class ids that appear in a batch, and the index of each row's class among the
    returned ids.

    If shapes are static, as they always are on JAX, the result may contain a class id several
    times. The index of a row's class is then the position of the first copy of the class id.

    Args:
        labels: Class ids, int32, shape `(batch,)`. -1 marks an invalid label.
        classes: Number of all classes.
        static: True if shapes must not depend on values. XLA can compile a step only with static
            shapes.

    Returns:
        Class ids in the batch, int32, shape `(present,)`. Index of each row's class, int32, shape
        `(batch,)`. The index is -1 if the label is invalid.
    """
    ids = ops.maximum(labels, ops.zeros_like(labels))
    present, indices = unique(ids, classes, static)
    return present, ops.where(labels < 0, -1, ops.cast(ops.reshape(indices, (-1,)), "int32"))


def split_pairs(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Splits a batch of pairs into the embeddings of the anchors and the embeddings of their
    positives.

    Args:
        embeddings: Embeddings, shape `(2 pairs, ...)`.
        labels: Class ids, int32, shape `(2 pairs,)`. -1 marks an invalid label.

    Returns:
        Embeddings of the anchors in the order of the batch, shape `(pairs, ...)`. Embeddings of the
        anchors' positives in the same order, same shape. A boolean scalar that is True if the batch
        consists of pairs.

    Raises:
        ValueError: If `anchors_and_positives` does not accept the labels, or if the number of
            labels differs from the number of rows.
    """
    rows, count = embeddings.shape[0], labels.shape[0]
    if None not in (rows, count) and rows != count:
        raise ValueError(f"Each row needs a label. Received {rows} rows and {count} labels.")
    anchors, positives, valid = anchors_and_positives(labels)
    ordered = _in_order(embeddings, ops.concatenate([anchors, positives]))
    return (*ops.split(ordered, 2), valid)


def anchors_and_positives(labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the row numbers of the anchors and of their positives in a batch of pairs.

    Each label appears in two rows. The first row with a label is the anchor, and the second row
    with the label is the positive. The rows may be in any order.

    Args:
        labels: Class ids, int32, shape `(2 pairs,)`. -1 marks an invalid label.

    Returns:
        Row numbers of the anchors, in ascending order, shape `(pairs,)`. Row numbers of the
        anchors' positives, shape `(pairs,)`. A boolean scalar that is False if a label is invalid
        or does not appear exactly twice.

    Raises:
        ValueError: If the number of rows is odd, or if an eager call receives a label that does not
            appear exactly twice. In a compiled step, the backend raises an error for such a label.
            If XLA compiles the step on TensorFlow, no error is raised for such a label.
    """
    rows = labels.shape[0]
    values = concrete(labels)
    if values is not None:
        _check_pairs(values)
    if rows is not None and rows % 2:
        raise ValueError(
            f"A batch of pairs must have an even number of rows. Received {rows}. Draw the batches "
            "with `keras_dml.samplers.NPairSampler`."
        )
    rows = ops.shape(labels)[0]
    even = rows - rows % 2
    order = ops.cast(ops.argsort(labels), "int32")[:even]
    order = ops.reshape(order, (-1, 2))  # (pairs, 2), the two rows of each label
    ids = ops.take(labels, order)
    left, right = ids[:, 0], ids[:, 1]
    valid = ops.all(ops.logical_and(ops.equal(left, right), left >= 0))
    valid = ops.logical_and(valid, ops.all(left[1:] > left[:-1]))
    valid = ops.logical_and(valid, ops.equal(rows, even))
    if values is None:
        valid = enforced(valid, NOT_PAIRS)
    first, second = ops.min(order, axis=1), ops.max(order, axis=1)
    order = ops.argsort(first)
    return ops.take(first, order), ops.take(second, order), valid


def _in_order(x, order):
    """Reorders the rows of `x`. `order` contains each row number once. If the number of rows is
    odd, `order` may omit one row.

    On TensorFlow, this function has a custom gradient. TensorFlow's own gradient adds up the
    gradients of repeated rows, although `order` repeats no row. The summation would take a quarter
    of the N-pair loss's computing time. On JAX, a custom gradient would make forward-mode
    differentiation of the losses impossible.
    """
    if gradients.has_forward_mode():
        return ops.take(x, order, axis=0)

    @ops.custom_gradient
    def in_order(x):
        omitted = ops.shape(x)[0] - ops.shape(order)[0]

        def gradient(upstream):
            rows = ops.take(upstream, ops.argsort(order), axis=0)
            return ops.pad(rows, [[0, omitted]] + [[0, 0]] * (len(x.shape) - 1))

        return ops.take(x, order, axis=0), gradient

    return in_order(x)


def _check_ids(labels, largest, message):
    wide = labels.astype(np.result_type(labels, np.float32))
    valid = (wide >= 0) & (wide <= largest) & (wide == np.floor(wide))
    if not valid.all():
        raise ValueError(f"{message} Received {labels[~valid][:8].tolist()}.")


def _check_pairs(labels):
    ids, counts = np.unique(labels, return_counts=True)
    unpaired = counts != 2
    if unpaired.any():
        label, count = ids[unpaired][0], counts[unpaired][0]
        raise ValueError(
            "Every label in a batch of pairs must appear exactly twice (an anchor and its "
            f"positive). Received label {label} {count} times. Draw the batches with "
            "`keras_dml.samplers.NPairSampler`."
        )
