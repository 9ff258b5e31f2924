"""Silences messages of TensorFlow's C++ code and warnings during an export."""

import contextlib
import re
import tempfile
import threading
import warnings

from keras_dml._redirection import redirected

# Entry of `warnings.filters` during an export. The entry ignores warnings of TensorFlow, of
# tf2onnx, of Keras, and of this package, whose name also matches the pattern.
FILTER = ("ignore", None, Warning, re.compile("tensorflow|tf2onnx|keras"), 0)

_lock, _writing, _undo = threading.Lock(), 0, contextlib.ExitStack()


@contextlib.contextmanager
def quiet():
    """Discards the output of the process, including the output of C++ code.

    In each call, TensorFlow's converter logs a dozen lines, and no setting turns these lines off.
    The calibration by the converter also emits warnings about the interpreter that runs the model.
    Errors still raise exceptions. All threads of the process share the output streams and the
    filters of warnings. Therefore the first thread that enters this context silences the streams
    and the warnings, and the last thread that leaves the context restores both.
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
    """Adds a warning filter before the `with` block, and removes only this filter afterward.

    `warnings.catch_warnings` would restore the whole list of filters, and would undo the changes
    that other threads made in the meantime.
    """
    filters = warnings.filters
    filters.insert(0, FILTER)
    try:
        yield
    finally:
        # `warnings.filters` is another list while a thread is inside `warnings.catch_warnings`
        for current_filters in (filters, warnings.filters):
            with contextlib.suppress(ValueError):
                current_filters.remove(FILTER)
