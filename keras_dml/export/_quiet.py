"""Keeps the notes of TensorFlow's C++ code off the terminal."""

import contextlib
import re
import tempfile
import threading
import warnings

from keras_dml._backend.streams import redirected

# What Python's filters are told while an export is written: of TensorFlow, of Keras, and of this
# package where it calls them.
UNHEARD = ("ignore", None, Warning, re.compile("tensorflow|keras"), 0)

_lock, _writing, _undo = threading.Lock(), 0, contextlib.ExitStack()


@contextlib.contextmanager
def quiet():
    """Sends what the process prints to a file that is thrown away, below Python too; exceptions
    carry the errors.

    The converter logs a dozen lines a call that no setting silences, and its calibration warns of
    its own interpreter. Streams and filters are those of the process: of several threads the first
    one in silences it, and the last one out ends that.
    """
    global _writing
    with _lock:
        if not _writing:
            _undo.enter_context(_silence())
        _writing += 1
    try:
        yield
    finally:
        with _lock:
            _writing -= 1
            if not _writing:
                _undo.close()


@contextlib.contextmanager
def _silence():
    with tempfile.TemporaryFile() as sink, _unheard(), redirected(sink, 1, 2):
        yield


@contextlib.contextmanager
def _unheard():
    """Takes its own filter away again, and nothing else: `warnings.catch_warnings` puts a whole
    list back, and with it what other threads had set for a while."""
    filters = warnings.filters
    filters.insert(0, UNHEARD)
    try:
        yield
    finally:
        for each in (filters, warnings.filters):  # another list where a thread catches warnings
            with contextlib.suppress(ValueError):
                each.remove(UNHEARD)
