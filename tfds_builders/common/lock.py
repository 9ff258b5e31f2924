"""File locks, so that only one process at a time writes a data set. When a process ends, its locks
are released.
"""

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
    """Context that holds the lock of a folder while a process writes files into the folder. The
    context first removes files that were left by killed runs.

    Args:
        folder: Final path of the data set, which ends in `<name>/<config>/<version>`. At the end,
            the context removes the folders `<config>` and `<name>` if they are empty.
        work: Description of what this process does. Other processes log the description while they
            wait for the lock.

    Raises:
        OSError: If the folder cannot be created.
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
    """Removes unfinished folders that were left by killed runs."""
    for incomplete in folder.parent.glob(f"{constants.INCOMPLETE_PREFIX}*_{folder.name}"):
        shutil.rmtree(incomplete, ignore_errors=True)


def _remove_empty(config: pathlib.Path) -> None:
    """Removes the folders of a config and of its data set if they are empty."""
    dataset = config.parent
    with contextlib.suppress(OSError):  # a folder that is not empty stays
        config.rmdir()
        if [child.name for child in dataset.iterdir()] == [".config"]:
            shutil.rmtree(dataset / ".config")
        dataset.rmdir()


@contextlib.contextmanager
def alone(path: pathlib.Path, work: str) -> Iterator[bool]:
    """Context that holds a lock on a file.

    If another process or thread holds the lock, the context logs a message and waits. The file
    `path` exists only while a process holds the lock or waits for it. The file of a killed process
    does not block other processes.

    Args:
        path: The file to lock. The folder of the file is created if it does not exist.
        work: Description of the work for which a process holds the lock. The context logs the
            description while it waits for the lock.

    Yields:
        True if the context holds the lock, or False if the system or the disk does not support
        locks.
    """
    file = _locked(path, work)
    try:
        yield file is not None
    finally:
        if file is not None:
            # Remove the file before the lock is released: a waiting run then checks whether the
            # path still belongs to the locked file.
            path.unlink(missing_ok=True)
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
    """Creates the folder and opens the file. If another process removes the folder before the file
    is opened, the function tries again.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError:
        if tries == 1:
            raise
        return _opened(path, tries - 1)


def _lock(file: int, work: str) -> bool:
    """Waits for the lock and takes it. Returns False if the disk does not support locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.warning("Another run %s. This run waits until that run ends.", work)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _is_at(path: pathlib.Path, file: int) -> bool:
    """Returns whether the file at the path is still the locked file."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
