"""Graphs and files of TensorFlow, which writes both formats.

Every graph checks its inputs. It answers NaN for an input that breaks the contract, and refuses a
shape that it cannot answer for, at run time.
"""

import contextlib
import functools
import re

import numpy as np

from keras_dml._backend import xla
from keras_dml._backend.tensorflow import tensorflow


@contextlib.contextmanager
def writing():
    """Errors of TensorFlow's while it writes files, such as that of a full disk, as `OSError`."""
    try:
        yield
    except tensorflow().errors.OpError as error:
        raise OSError(re.sub(r"{{.*?}} | \[Op:.*\]", "", error.message)) from error


def function(python, signature):
    """A graph of a Python function with these tensors as its arguments, which runs without XLA.

    Args:
        python: From tensors to a dict of tensors.
        signature: List of `tf.TensorSpec`.
    """

    @functools.wraps(python)
    def without_xla(*args, **kwargs):
        with xla.avoided():
            return python(*args, **kwargs)

    return tensorflow().function(without_xla, autograph=False, input_signature=signature)


def of_one(taken, answer, limits):
    """The function of one recording, cut to its length before the first layer; of one matrix or one
    image.

    It answers NaN if `length` is outside of the limits or beyond the signal, or if the input holds
    NaN or infinity before `length`. Another batch size or another number of channels fails at run
    time: the graph has no static shape, so that it sees the shape that the runtime passes on.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.
        answer: Function from a batch and its mask, or None, to a dict of outputs.
        limits: `Limits` of the lengths; None for matrices and images.
    """
    tf = tensorflow()

    def of_array(array):
        has_shape = _has_shape(array, (1, *taken.shape))
        array = tf.reshape(array, (1, *taken.shape))
        valid = tf.logical_and(has_shape, tf.reduce_all(_finite(array)))
        return _nan_unless(valid, answer(_zero_unless(valid, array), None))

    def of_signal(signal, length):
        steps, channels = taken.shape
        time = tf.shape(signal)[1] if steps is None else steps
        has_shape = _has_shape(signal, (1, time, channels))
        signal = tf.reshape(signal, (1, time, channels))
        valid = tf.logical_and(has_shape, _within(limits, length, time))
        if steps is None:
            # enough steps for the model, whatever the caller passes
            signal = tf.pad(signal, ((0, 0), (0, limits.least), (0, 0)))
            signal = signal[:, : tf.where(valid, length, limits.least)]
        valid = tf.logical_and(valid, tf.reduce_all(_finite(signal)))
        return _nan_unless(valid, answer(_zero_unless(valid, signal), None))

    rank = 1 + len(taken.shape)
    specs = [tf.TensorSpec([None] * rank, tf.float32, taken.arguments[0])]
    if limits is None:
        return function(of_array, specs)
    return function(of_signal, [*specs, tf.TensorSpec((), tf.int32, "length")])


def of_batches(taken, answer, limits):
    """The function of recordings padded to one length; of matrices or images.

    It answers NaN for each recording whose length is outside of the limits or beyond the signal, or
    that holds NaN or infinity before its length. The others are not affected.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.
        answer: Function from a batch and its mask, or None, to a dict of outputs.
        limits: `Limits` of the lengths; None for matrices and images.
    """
    tf = tensorflow()

    def of_arrays(arrays):
        valid = _all_of_row(_finite(arrays))
        return _nan_unless(valid, answer(_zero_unless(valid, arrays), None))

    def of_signals(signal, length):
        steps = taken.shape[0]
        batch, time = tf.shape(signal)[0], tf.shape(signal)[1]
        tf.debugging.assert_equal(
            tf.shape(length)[0], batch, "`length` must hold one number for each recording."
        )
        valid = _within(limits, length, time)
        signal = tf.pad(signal, ((0, 0), (0, tf.maximum(limits.least - time, 0)), (0, 0)))
        length = tf.where(valid, length, limits.least)
        mask = tf.sequence_mask(length, tf.shape(signal)[1])
        signal = tf.where(mask[:, :, None], signal, 0.0)
        valid = tf.logical_and(valid, _all_of_row(_finite(signal)))
        signal = tf.ensure_shape(_zero_unless(valid, signal), (None, *taken.shape))
        return _nan_unless(valid, answer(signal, mask if steps is None else None))

    specs = [tf.TensorSpec((None, *taken.shape), tf.float32, taken.arguments[0])]
    if limits is None:
        return function(of_arrays, specs)
    return function(of_signals, [*specs, tf.TensorSpec((None,), tf.int32, "length")])


def of_embeddings(answer, shape, others, rows):
    """The function of embeddings and a gallery or prototypes: one number for each pair, NaN if one
    of the two holds NaN or infinity.

    Args:
        answer: Function from `(n, ...)` and `(m, ...)` to a dict of one output `(n, m)`.
        shape: Shape of an embedding.
        others: Name of the second argument.
        rows: Number of embeddings: 1 for a TFLite file, whose output is `(m,)`; None for any.
    """
    tf = tensorflow()

    def compared(embedding, gallery):
        if rows is not None:
            embedding = tf.reshape(embedding, (rows, *shape))
            gallery = tf.reshape(gallery, (tf.shape(gallery)[0], *shape))
        valid = [_all_of_row(_finite(x)) for x in (embedding, gallery)]
        x, y = _zero_unless(valid[0], embedding), _zero_unless(valid[1], gallery)
        outputs = _nan_unless(tf.logical_and(valid[0][:, None], valid[1][None]), answer(x, y))
        return {name: value if rows is None else value[0] for name, value in outputs.items()}

    sizes = (None, *shape) if rows is None else [None] * (1 + len(shape))
    specs = [tf.TensorSpec(sizes, tf.float32, name) for name in ("embedding", others)]
    return function(compared, specs)


def _has_shape(array, shape):
    tf = tensorflow()
    return tf.reduce_all(tf.equal(tf.shape(array), tf.stack(shape)))


def _within(limits, length, time):
    """Checks that the model takes recordings of these lengths, and the signal is long enough."""
    tf = tensorflow()
    most = time if limits.most is None else tf.minimum(time, limits.most)
    return tf.logical_and(length >= limits.least, length <= most)


def _finite(x):
    # `tf.math.is_finite` has no builtin operator of TFLite
    return tensorflow().abs(x) <= np.finfo(np.float32).max


def _all_of_row(x):
    return tensorflow().reduce_all(x, axis=range(1, len(x.shape)))


def _zero_unless(valid, x):
    """`x` where valid, else zeros: no layer sees NaN, of which integers are made."""
    return _where(valid, x, 0.0)


def _nan_unless(valid, outputs):
    return {name: _where(valid, value, np.nan) for name, value in outputs.items()}


def _where(valid, x, other):
    tf = tensorflow()
    trailing = [1] * (len(x.shape) - len(valid.shape))
    if valid.shape.rank and trailing:
        valid = tf.reshape(valid, (-1, *trailing))
    return tf.where(valid, x, tf.constant(other, x.dtype))
