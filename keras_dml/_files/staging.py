"""Writes files and folders atomically."""

import contextlib
import os
import pathlib
import shutil

from keras_dml._files.paths import replaceable_file
from keras_dml._files.tmp_dirs import REPLACED, tmp_dir


@contextlib.contextmanager
def staged(path, place=replaceable_file):
    """Context manager for writing a file or folder atomically. The block writes to a temporary
    path. When the block ends, the new file or folder replaces `path`.

    The new file or folder gets the permissions of the old file or folder. After an error, `path` is
    unchanged and no temporary files remain. Before the block, the function removes temporary files
    that killed processes left beside `path`. If a process was killed after it had moved the old
    folder away, the function moves this folder back. Temporary files of a process that is still
    writing are not touched.

    Args:
        path: Path of the file or folder to replace.
        place: Function that returns the path to write to, or raises ValueError if the file or
            folder at this path must not be replaced.

    Yields:
        Temporary path on the same file system, to which the block writes the file or folder.

    Raises:
        ValueError: If `place` raises a ValueError before the block or after the block.
        FileNotFoundError: If the parent folder of `path` does not exist.
        OSError: If the disk is full, or if the folder is not writable.
    """
    target = place(path)
    with tmp_dir(target) as folder:
        candidate = folder / pathlib.Path(path).name
        with _errors_name(path):
            yield candidate
            place(path)
            previous = target
            if target.is_dir():
                # A read-only folder cannot be moved. While the candidate is writable, it can be
                # removed after this error.
                previous = folder.parent / REPLACED
                os.rename(target, previous)
            if previous.exists():
                shutil.copymode(previous, candidate)
            os.replace(candidate, target)


def write_text(path, text):
    """Writes a text file in UTF-8 atomically.

    Args:
        path: Path of the file.
        text: Content of the file.

    Raises:
        ValueError: If `replaceable_file` does not allow writing at `path`.
        OSError: If the file cannot be written.
    """
    with staged(path) as candidate:
        candidate.write_text(text, encoding="utf-8")


def size(path):
    """Returns the size of a file, or the total size of all files in a folder, in bytes."""
    path = pathlib.Path(path)
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


@contextlib.contextmanager
def _errors_name(path):
    """Adds the path to the message of an error that names no file, such as the error for a full
    disk.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = [] if error.errno is None else [error.errno]
        reason = f"{str(path)!r} was not written: {error.strerror or error}. No part of it remains."
        raise OSError(*number, reason) from error
