"""Redirects the standard streams of the process. The redirection also catches output of C++
code."""

import contextlib
import os
import sys


@contextlib.contextmanager
def redirected(file, *streams):
    """Redirects standard streams of the process to a file until the end of the block.

    Args:
        file: An open binary file with a descriptor.
        *streams: Numbers of the streams to redirect: 1 for standard output, 2 for standard error.

    Raises:
        OSError: If a stream is closed.
    """
    _flush()
    copies = [os.dup(stream) for stream in streams]
    try:
        for stream in streams:
            os.dup2(file.fileno(), stream)
        yield
    finally:
        _flush()
        for stream, copy in zip(streams, copies, strict=True):
            os.dup2(copy, stream)
            os.close(copy)


def _flush():
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
