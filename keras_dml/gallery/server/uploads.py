"""Files that were sent, for as long as they are read."""

import contextlib
import os
import pathlib
import shutil
import tempfile

from keras_dml import recordings

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

MOST_FILES = 20
LONGEST_NAME = 100
PREFIX = "keras-dml-upload-"  # of folders


@contextlib.contextmanager
def paths(uploads, most=MOST_FILES):
    """Makes paths for files, in a folder for this user alone that is removed after the block.

    No file with content has a name if the system allows it: the paths are links to files that
    are open and removed, so nothing of a recording stays if the process is killed.

    Args:
        uploads: `(name, file)` of each, where `file` is open and has a descriptor.
        most: Number of files that are accepted.

    Yields:
        The name that each was sent under, by its path here.

    Raises:
        ValueError: If there are no files, too many, or one of a kind that is not read.
    """
    if not 0 < len(uploads) <= most:
        raise ValueError(f"Send 1 to {most} files. Received {len(uploads)}.")
    names = [_shown(name or "", number) for number, (name, _) in enumerate(uploads, 1)]
    suffixes = [_suffix(name) for name in names]
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, _locked(folder):
        links = [pathlib.Path(folder, f"{i}{suffix}") for i, suffix in enumerate(suffixes)]
        for link, (_, file) in zip(links, uploads, strict=True):
            _link(link, file)
        yield dict(zip(links, names, strict=True))


def sweep():
    """Removes the folders of servers of this user that were killed."""
    if fcntl is None:
        return
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # of another user, or in use
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with _locked(folder):
                shutil.rmtree(folder)


@contextlib.contextmanager
def _locked(folder):
    """Holds a folder for the block, so that no other server sweeps it."""
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
    """Makes a path for an open file."""
    descriptor = pathlib.Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")  # writes it to a disk
    file.flush()
    if descriptor.exists():
        path.symlink_to(descriptor)
        return
    file.seek(0)
    with path.open("wb") as copy:
        shutil.copyfileobj(file, copy)


def _shown(name, number):
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(letter for letter in last if letter.isprintable())
    return visible[-LONGEST_NAME:] or f"file {number}"  # its end says the kind


def _suffix(name):
    suffix = pathlib.PurePosixPath(name).suffix.lower()
    if suffix not in recordings.suffixes():
        raise ValueError(
            f"{name} is not a recording: send files that end in {', '.join(recordings.suffixes())}."
        )
    return suffix
