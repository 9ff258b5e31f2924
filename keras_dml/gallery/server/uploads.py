"""Temporary paths of files that clients sent."""

import contextlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

from keras_dml import recordings

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

MOST_FILES = 20
LONGEST_NAME = 100
PREFIX = "keras-dml-upload-"  # of the names of folders


@contextlib.contextmanager
def paths(
    uploads: Sequence[tuple[str, IO[bytes]]], most: int = MOST_FILES
) -> Iterator[dict[pathlib.Path, str]]:
    """Makes paths for files, in a private folder that is removed after the block.

    The paths are links to open files that have no name, if the system allows such links. So nothing
    of a recording stays on the disk if the process is killed.

    Args:
        uploads: `(name, file)` of each upload. The file is open and has a descriptor.
        most: Number of files that are accepted.

    Yields:
        The names of the uploads, by their paths.

    Raises:
        ValueError: If there are no files, too many files, or a file of an unknown format.
    """
    if not 0 < len(uploads) <= most:
        raise ValueError(f"Send 1 to {most} files. Received {len(uploads)}.")
    names = [_printable(name or "", number) for number, (name, _) in enumerate(uploads, 1)]
    suffixes = [_suffix(name) for name in names]
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, _locked(folder):
        links = [pathlib.Path(folder, f"{i}{suffix}") for i, suffix in enumerate(suffixes)]
        for link, (_, file) in zip(links, uploads, strict=True):
            _link(link, file)
        yield dict(zip(links, names, strict=True))


def sweep() -> None:
    """Removes the folders of killed servers of this user."""
    if fcntl is None:
        return
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # the folder is of another user, or in use
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with _locked(folder):
                shutil.rmtree(folder)


@contextlib.contextmanager
def _locked(folder):
    """Locks a folder for the block, so that no other server sweeps it."""
    if fcntl is None:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def _link(path, file):
    """Makes a link to an open file, or a copy where links are impossible."""
    # `fileno` moves an upload from memory to a disk
    descriptor = pathlib.Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    file.flush()
    if descriptor.exists():
        path.symlink_to(descriptor)
        return
    file.seek(0)
    with path.open("wb") as copy:
        shutil.copyfileobj(file, copy)


def _printable(name, number):
    """Returns the end of the name of an upload, without folders and control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(letter for letter in last if letter.isprintable())
    return visible[-LONGEST_NAME:] or f"file {number}"  # the end holds the suffix


def _suffix(name):
    suffix = pathlib.PurePosixPath(name).suffix.lower()
    if suffix not in recordings.suffixes():
        raise ValueError(
            f"{name} is not a recording: send files that end in {', '.join(recordings.suffixes())}."
        )
    return suffix
