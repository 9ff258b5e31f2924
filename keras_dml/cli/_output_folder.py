"""The folder that a command writes into."""

import contextlib
import os

from keras_dml import _files

RESULTS = {".png", ".svg", ".csv", ".json", ".tflite"}  # suffixes of files that commands write


@contextlib.contextmanager
def created(path):
    """Creates a folder and checks, before the work, that results can be written into it.

    Folders that were created and stay empty, since the command failed or was stopped, are removed.

    Args:
        path: `pathlib.Path`; parents are created too.

    Raises:
        OSError: If the folder cannot be created.
        ValueError: If it holds something else where a file of results may be written.
    """
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        _create(path)
        for file in path.iterdir():
            if file.suffix in RESULTS:
                _files.replaceable_file(file)
        yield
    except BaseException:
        if new and path.is_dir():
            for folder, _, _ in os.walk(path, topdown=False):
                _remove_empty(folder)
        for folder in new:
            _remove_empty(folder)
        raise


def _create(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"There can be no folder {str(path)!r}: {error.strerror}. Name another by --out."
        ) from error


def _remove_empty(folder):
    with contextlib.suppress(OSError):  # it holds something, or is gone
        os.rmdir(folder)
