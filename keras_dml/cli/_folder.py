"""The folder that a command writes into."""

import contextlib
import os


@contextlib.contextmanager
def made(path):
    """A folder, made at once so that one which cannot be is found before the work.

    What was made and stays empty, since the command was refused or stopped, is removed.

    Args:
        path: `pathlib.Path`; folders above it are made too.

    Raises:
        OSError: If the folder cannot be made.
    """
    new = [place for place in (path, *path.parents) if not place.exists()]
    try:
        _make(path)
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
