"""A program that reads files as `keras_dml.gallery.server.worker` does, but waits for slow files.

Reading a file whose name begins with `slow` lasts until the file is removed.
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
    worker.recordings = types.SimpleNamespace(
        import_libraries=recordings.import_libraries, read_pieces=read_pieces
    )
    worker.main()
