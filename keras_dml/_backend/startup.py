"""Hides the notes that TensorFlow prints at start-up.

TensorFlow prints two notes about oneDNN before it sets up its log. TensorFlow 2.21 has no setting
that hides the notes about oneDNN. All later messages follow TF_CPP_MIN_LOG_LEVEL.
"""

import contextlib
import os
import re
import tempfile

from keras_dml._redirection import redirected

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
NOTES = re.compile(
    rb"All log messages before absl::InitializeLog\(\) is called|oneDNN custom operations are on"
)


@contextlib.contextmanager
def notes_hidden():
    """Hides TensorFlow's start-up notes within the block. Other lines on standard error are printed
    at the end of the block.

    If TF_CPP_MIN_LOG_LEVEL is not set, the block sets it to 1 (warnings and errors). If
    TF_CPP_MIN_LOG_LEVEL is 0, all messages are shown.
    """
    if os.environ.setdefault(LEVEL, "1") == "0" or not _is_open(2):
        yield
        return
    with tempfile.TemporaryFile() as caught:
        try:
            with redirected(caught, 2):
                yield
        finally:
            caught.seek(0)
            os.write(2, b"".join(line for line in caught if not NOTES.search(line)))


def _is_open(stream):
    try:
        os.fstat(stream)
    except OSError:
        return False
    return True
