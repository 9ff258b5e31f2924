"""Makes temporary paths for files that clients sent."""

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
PREFIX = "keras-dml-upload-"  # prefix of the names of folders


@contextlib.contextmanager
def paths(
    uploads: Sequence[tuple[str, IO[bytes]]], most: int = MOST_FILES
) -> Iterator[dict[pathlib.Path, str]]:
    """Makes paths for uploaded files in a private folder. The folder is removed after the `with`
    block.

    If the system allows it, the uploads are open files without names, and the paths are links to
    these files. If the process is killed, no part of a file without a name remains on the disk.

    Args:
        uploads: Pair `(name, file)` for each upload, with the name of the file and the file. The
            files must be open and have descriptors.
        most: Largest accepted number of files.

    Yields:
        Name of the upload for each path, `{path: name}`.

    Raises:
        ValueError: If the number of files is 0 or larger than `most`, or if the format of a file is
            unknown.
    """
    if not 0 < len(uploads) <= most:
        raise ValueError(f"Received {len(uploads)} files. Send 1 to {most} files.")
    names = [_printable(name or "", number) for number, (name, _) in enumerate(uploads, 1)]
    suffixes = [_suffix(name) for name in names]
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, _locked(folder):
        links = [pathlib.Path(folder, f"{i}{suffix}") for i, suffix in enumerate(suffixes)]
        for link, (_, file) in zip(links, uploads, strict=True):
            _link(link, file)
        yield dict(zip(links, names, strict=True))


def sweep() -> None:
    """Removes folders that remained after a server of this user was killed."""
    if fcntl is None:
        return
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # the folder belongs to another user or is in use
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with _locked(folder):
                shutil.rmtree(folder)


@contextlib.contextmanager
def _locked(folder):
    """Locks a folder during the `with` block, so that `sweep` in another server does not remove
    it."""
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
    """Makes a link to an open file. Makes a copy if the system does not allow links to open
    files."""
    # calling `fileno` moves an upload from memory to the disk
    descriptor = pathlib.Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    file.flush()
    if descriptor.exists():
        path.symlink_to(descriptor)
        return
    file.seek(0)
    with path.open("wb") as copy:
        shutil.copyfileobj(file, copy)


def _printable(name, number):
    """Returns the shortened name of an upload, without folders and control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(letter for letter in last if letter.isprintable())
    return visible[-LONGEST_NAME:] or f"file {number}"  # keeps the suffix


def _suffix(name):
    suffix = pathlib.PurePosixPath(name).suffix.lower()
    if suffix not in recordings.suffixes():
        raise ValueError(
            f"{name} is not a recording. Send files that end in {', '.join(recordings.suffixes())}."
        )
    return suffix
