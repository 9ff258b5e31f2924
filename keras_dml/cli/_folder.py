"""The folder that a command writes into."""

import contextlib
import os

from keras_dml import _files

RESULTS = {".png", ".svg", ".csv", ".json", ".tflite"}  # kinds of files that commands write


@contextlib.contextmanager
def made(path):
    """A folder, made and looked into at once: what cannot be written is told before the work.

    What was made and stays empty, since the command was refused or stopped, is removed.

    Args:
        path: `pathlib.Path`; folders above it are made too.

    Raises:
        OSError: If the folder cannot be made.
        ValueError: If it holds something else where a file of results may be written.
    """
    new = [place for place in (path, *path.parents) if not place.exists()]
    try:
        _make(path)
        for place in path.iterdir():
            if place.suffix in RESULTS:
                _files.file_place(place)
        yield
    except BaseException:
        if new and path.is_dir():
            for place, _, _ in os.walk(path, topdown=False):
                _remove_empty(place)
        for place in new:
            _remove_empty(place)
        raise


def _make(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"There can be no folder {str(path)!r}: {error.strerror}. Name another by --out."
        ) from error


def _remove_empty(place):
    with contextlib.suppress(OSError):  # of a folder that holds something, or is gone
        os.rmdir(place)
