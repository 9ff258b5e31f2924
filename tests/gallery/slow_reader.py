"""Replaces `keras_dml.gallery.server.worker` by a program that reads some files slowly.

If the name of a file begins with `slow`, the program waits until this file is removed.
"""

import pathlib
import sys
import time
import types

from keras_dml import recordings
from keras_dml.gallery.server import worker

COMMAND = [sys.executable, "-m", "tests.gallery.slow_reader"]


def read_pieces(path, *args, **options):
    path = pathlib.Path(path)
    while path.name.startswith("slow") and path.exists():
        time.sleep(0.05)
    return recordings.read_pieces(path, *args, **options)


if __name__ == "__main__":
    worker.recordings = types.SimpleNamespace(read_pieces=read_pieces)
    worker.main()
