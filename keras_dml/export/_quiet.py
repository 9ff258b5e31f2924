"""Silences the messages of TensorFlow's C++ code and the warnings of an export."""

import contextlib
import re
import tempfile
import threading
import warnings

from keras_dml._backend.streams import redirected

# Entry of `warnings.filters` while an export is written: it ignores warnings of TensorFlow, of
# Keras, and of this package, whose name also matches.
FILTER = ("ignore", None, Warning, re.compile("tensorflow|keras"), 0)

_lock, _writing, _undo = threading.Lock(), 0, contextlib.ExitStack()


@contextlib.contextmanager
def quiet():
    """Discards the output of the process, including the output of C++ code.

    The converter logs a dozen lines per call that no setting silences, and its calibration warns
    about its own interpreter. Errors still raise exceptions. Streams and filters belong to the
    whole process: the first thread that enters silences them, and the last thread that leaves
    restores them.
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
    with tempfile.TemporaryFile() as sink, _ignored_warnings(), redirected(sink, 1, 2):
        yield


@contextlib.contextmanager
def _ignored_warnings():
    """Adds a filter of warnings and afterwards removes only this filter.

    `warnings.catch_warnings` would restore the whole list, and with it filters that other threads
    have set and removed since.
    """
    filters = warnings.filters
    filters.insert(0, FILTER)
    try:
        yield
    finally:
        # the list is another one while a thread catches warnings
        for current_filters in (filters, warnings.filters):
            with contextlib.suppress(ValueError):
                current_filters.remove(FILTER)
