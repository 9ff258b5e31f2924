"""Locks: one process at a time writes a data set. A lock ends with its process."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import shutil
from collections.abc import Iterator

from tensorflow_datasets.core import constants

from tfds_builders.common.disk import check_writable

try:
    import fcntl
except ImportError:  # Windows does not have it
    fcntl = None

log = logging.getLogger("tfds_builders")


@contextlib.contextmanager
def writing(folder: pathlib.Path, work: str) -> Iterator[None]:
    """Holds the lock of a folder while it is written, and removes the files of killed runs.

    Args:
        folder: `<name>/<config>/<version>` in its final place. The two folders above it are removed
            at the end if they are empty.
        work: Work of this process, for the log of processes that wait.

    Raises:
        OSError: If the folder cannot be made.
    """
    check_writable(folder.parent)
    lock = folder.with_name(f".{folder.name}.lock")
    try:
        with alone(lock, work) as is_locked:
            if is_locked:
                _remove_incomplete(folder)
            yield
    finally:
        _remove_empty(folder.parent)


def _remove_incomplete(folder: pathlib.Path) -> None:
    """Removes the half-written folders of killed runs."""
    for incomplete in folder.parent.glob(f"{constants.INCOMPLETE_PREFIX}*_{folder.name}"):
        shutil.rmtree(incomplete, ignore_errors=True)


def _remove_empty(config: pathlib.Path) -> None:
    """Removes the folders of a config and of its data set if nothing is prepared there."""
    dataset = config.parent
    with contextlib.suppress(OSError):  # a folder that is not empty stays
        config.rmdir()
        if [child.name for child in dataset.iterdir()] == [".config"]:
            shutil.rmtree(dataset / ".config")
        dataset.rmdir()


@contextlib.contextmanager
def alone(path: pathlib.Path, work: str) -> Iterator[bool]:
    """Holds a lock. While another process or thread holds it, logs that and waits.

    The file `path` exists only while a process holds or wants the lock. A file that a killed
    process left does not block others.

    Args:
        path: The file to lock; its folder is made if it does not exist.
        work: Work of the other process, for the log.

    Yields:
        Whether the lock is held: False on systems and disks without locks.
    """
    file = _locked(path, work)
    try:
        yield file is not None
    finally:
        if file is not None:
            path.unlink(missing_ok=True)  # before the unlock: a waiting run checks the name again
            os.close(file)


def _locked(path: pathlib.Path, work: str) -> int | None:
    while fcntl is not None:
        file = _opened(path)
        try:
            is_locked = _lock(file, work)
        except BaseException:
            os.close(file)
            raise
        if is_locked and _is_at(path, file):
            return file
        os.close(file)
        if not is_locked:
            path.unlink(missing_ok=True)
            break
    return None


def _opened(path: pathlib.Path, tries: int = 10) -> int:
    """Opens the file; tries again if another process removes its folder between the two steps."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError:
        if tries == 1:
            raise
        return _opened(path, tries - 1)


def _lock(file: int, work: str) -> bool:
    """Takes the lock, now or as soon as it is free; returns False if the disk has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.warning("Another run %s; waiting for it to end.", work)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _is_at(path: pathlib.Path, file: int) -> bool:
    """Returns whether the locked file still has its name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
