"""Creates the output folder of a command."""

import contextlib
import os

from keras_dml import _files

RESULTS = {".png", ".svg", ".csv", ".json", ".tflite"}  # suffixes of files written by commands


@contextlib.contextmanager
def create(path):
    """Creates a folder, and checks that result files can be written into the folder.

    If the `with` block fails or is stopped, new folders that are still empty are removed.

    Args:
        path: Path of the folder, a `pathlib.Path`. Missing parent folders are also created.

    Raises:
        OSError: If the folder cannot be created.
        ValueError: If the folder contains an entry that has the suffix of a result file but is not
            a file.
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
            f"The folder {str(path)!r} cannot be created: {error.strerror}. Name another folder "
            "with --out."
        ) from error


def _remove_empty(folder):
    with contextlib.suppress(OSError):  # the folder is not empty, or does not exist
        os.rmdir(folder)
