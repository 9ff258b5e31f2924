"""Functions that raise errors for full disks and unwritable folders, and that remove empty
folders.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator

_FULL = ("No space left on device", "Disk quota exceeded")  # part of every writer's error


@contextlib.contextmanager
def full_disk_reported(root: pathlib.Path, size: int | None = None) -> Iterator[None]:
    """Context that replaces any error about a full disk by an error that tells users what to do.

    Args:
        root: Folder of the data set.
        size: Number of bytes of the unpacked archive, or None if unknown.

    Raises:
        OSError: If the disk is full. The error states how much space is free and how much is
            needed.
    """
    try:
        yield
    except Exception as error:
        if not any(words in str(error) for words in _FULL):
            raise
        raise OSError(_message(root, size)) from error


def _message(root: pathlib.Path, size: int | None) -> str:
    temporary = pathlib.Path(tempfile.gettempdir())
    free = " and ".join(f"{_free(path) / 1e6:,.0f} MB in {path}" for path in (root, temporary))
    needed = (
        f" The unpacked archive has {size / 1e6:,.0f} MB. Each folder may need that much space."
        if size is not None
        else ""
    )
    return (
        f"The disk is full: {free} (temporary files) are free.{needed} The unfinished files were "
        "removed. Free some space, give another --data-dir, or set TMPDIR to a folder on another "
        "disk."
    )


def _free(folder: pathlib.Path) -> int:
    folder = folder.absolute()
    return shutil.disk_usage(next(p for p in (folder, *folder.parents) if p.exists())).free


def check_writable(folder: pathlib.Path) -> None:
    """Checks that a folder can be created, before a long run starts.

    Raises:
        OSError: If a file already exists at the path of the folder, or if the parent folder is not
            writable.
    """
    folder = folder.absolute()
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return
    if not os.path.lexists(there):  # another run has just removed it
        check_writable(folder)
    elif there.is_dir():
        raise PermissionError(
            f"{there} is not writable, so {folder} cannot be created. Get write permission, or "
            "give another --data-dir."
        )
    else:
        kind = "a file" if there.exists() else "a link to a file that does not exist"
        raise NotADirectoryError(
            f"{there} is {kind}, so the folder {folder} cannot be created. Move {there} away, or "
            "give another --data-dir."
        )


def remove_empty(folders: Iterable[pathlib.Path]) -> None:
    """Removes each given folder that is empty. The function checks the folders in the given
    order.
    """
    for folder in folders:
        with contextlib.suppress(OSError):  # it is not empty, or does not exist
            folder.rmdir()
