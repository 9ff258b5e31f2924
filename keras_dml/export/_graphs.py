"""Graphs and files of TensorFlow, which writes both formats."""

import contextlib
import functools
import re

from keras_dml import inputs
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


def of_one(taken, answer):
    """The function of one recording, cut to its length before the first layer; of one matrix or one
    image.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.
        answer: Function from a batch and its mask, or None, to a dict of outputs.
    """
    if taken.arguments != inputs.Signals.arguments:
        return _of_arrays(taken, answer, 1)
    tf, (steps, channels) = tensorflow(), taken.shape

    def cut(signal, length):
        signal = signal[:, :length]
        if steps is not None:  # another length fails here, at run time
            signal = tf.reshape(signal, (1, steps, channels))
        return answer(signal, None)

    signal = tf.TensorSpec((1, steps, channels), tf.float32, "signal")
    return function(cut, [signal, tf.TensorSpec((), tf.int32, "length")])


def of_batches(taken, answer):
    """The function of recordings padded to one length, which refuses lengths that do not fit; of
    matrices or images.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.
        answer: Function from a batch and its mask, or None, to a dict of outputs.
    """
    if taken.arguments != inputs.Signals.arguments:
        return _of_arrays(taken, answer, None)
    tf, (steps, channels) = tensorflow(), taken.shape

    def masked(signal, length):
        time = tf.shape(signal)[1]
        shortest = time if steps is not None else 1
        tf.debugging.assert_greater_equal(
            length, shortest, "A `length` is too short for the model."
        )
        tf.debugging.assert_less_equal(length, time, "A `length` is beyond the end of `signal`.")
        return answer(signal, None if steps is not None else tf.sequence_mask(length, time))

    signal = tf.TensorSpec((None, steps, channels), tf.float32, "signal")
    return function(masked, [signal, tf.TensorSpec((None,), tf.int32, "length")])


def _of_arrays(taken, answer, rows):
    (name,) = taken.arguments
    spec = tensorflow().TensorSpec((rows, *taken.shape), "float32", name)
    return function(lambda array: answer(array, None), [spec])
