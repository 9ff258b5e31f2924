"""Graphs and files of TensorFlow, which writes both formats."""

import contextlib
import functools
import re

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
