"""One process at a time: a lock that dies with its process."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None

log = logging.getLogger("tfds_builders")


@contextlib.contextmanager
def alone(path: pathlib.Path, what: str) -> Iterator[bool]:
    """Holds a lock; waits while another process or thread holds it, and logs that.

    The file `path` is there only meanwhile. A file left by a killed process locks nobody out.

    Args:
        path: The file to lock; its folder is made where it is missing.
        what: Work of the other process, for the log.

    Yields:
        Whether the lock is held: False on systems and disks without locks.
    """
    file = _locked(path, what)
    try:
        yield file is not None
    finally:
        if file is not None:
            path.unlink(missing_ok=True)  # before it is unlocked: a waiting run looks again
            os.close(file)


def _locked(path: pathlib.Path, what: str) -> int | None:
    while fcntl is not None:
        file = _opened(path)
        try:
            held = _hold(file, what)
        except BaseException:
            os.close(file)
            raise
        if held and _is_at(path, file):
            return file
        os.close(file)
        if not held:
            path.unlink(missing_ok=True)
            break
    return None


def _opened(path: pathlib.Path, tries: int = 10) -> int:
    """Opens the file; again where another one clears its folder between the two steps."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError:
        if tries == 1:
            raise
        return _opened(path, tries - 1)


def _hold(file: int, what: str) -> bool:
    """Takes the lock, now or as soon as it is free; False where the disk knows no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.warning("Another run %s; waiting for it to end.", what)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _is_at(path: pathlib.Path, file: int) -> bool:
    """Whether the locked file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
