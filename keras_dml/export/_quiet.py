"""Keeps the notes of TensorFlow's C++ code off the terminal."""

import contextlib
import os
import sys
import tempfile
import warnings

STREAMS = (1, 2)


@contextlib.contextmanager
def quiet():
    """Sends what the process prints to a file that is thrown away, below Python too; exceptions
    carry the errors.

    The converter logs a dozen lines a call that no setting silences, and its calibration warns of
    its own interpreter.
    """
    _flush()
    kept = [os.dup(stream) for stream in STREAMS]
    with tempfile.TemporaryFile() as sink, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for stream in STREAMS:
                os.dup2(sink.fileno(), stream)
            yield
        finally:
            _flush()
            for stream, copy in zip(STREAMS, kept, strict=True):
                os.dup2(copy, stream)
                os.close(copy)


def _flush():
    sys.stdout.flush()
    sys.stderr.flush()
