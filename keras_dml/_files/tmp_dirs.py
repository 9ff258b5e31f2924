"""Temporary folders beside a target, which are removed even if a process is killed."""

import contextlib
import glob
import os
import pathlib
import shutil
import tempfile

try:
    import fcntl
except ImportError:  # Windows has no such locks, so leftovers remain there
    fcntl = None

# A temporary folder beside a target contains a lock, which its process holds; the folder to write
# to; and, while the target is being replaced, the previous folder of the target.
_LOCK, _NEW, REPLACED = "lock", "new", "replaced"
_RANDOM = 8 * "?"  # the random end of a name of `tempfile`


@contextlib.contextmanager
def tmp_dir(target):
    """Creates a temporary folder beside a target, and removes it afterwards.

    Temporary folders that killed processes left for the same target are removed first.

    Args:
        target: A `pathlib.Path` in a folder that exists.

    Yields:
        The path of the folder.
    """
    for left in target.parent.glob(glob.escape(_prefix(target)) + _RANDOM):
        with contextlib.suppress(OSError):  # still in use, or another user's
            _remove_leftover(left, target)
    folder, lock = _new_tmp_dir(target)
    with lock:
        try:
            (folder / _NEW).mkdir()
            yield folder / _NEW
        finally:
            _remove(folder, target)


def _prefix(target):
    return f".{target.name}.incomplete-"


def _new_tmp_dir(target):
    """Creates a temporary folder and its lock, which the system releases when the process ends."""
    while True:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        try:
            return folder, _locked(folder, "xb")
        except (BlockingIOError, FileNotFoundError):
            continue  # another process removed the folder before it was locked
        except OSError:
            return folder, contextlib.nullcontext()  # without locks leftovers are not removed


def _locked(folder, mode):
    """Opens and locks the lock file of a temporary folder.

    Args:
        folder: Path of the folder.
        mode: Mode in which to open the file, `"xb"` to create it.

    Raises:
        BlockingIOError: If a running process holds the lock.
        FileNotFoundError: If the lock file or the folder does not exist.
        OSError: If the system has no locks.
    """
    file = open(folder / _LOCK, mode)
    try:
        if fcntl is None:
            raise OSError("This system has no locks.")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder / _LOCK)  # another process may have removed it before it was locked
    except BaseException:
        file.close()
        raise
    return file


def _remove_leftover(folder, target):
    """Removes the temporary folder of a process that has ended.

    Raises:
        OSError: If the process is still running, or if that cannot be determined.
    """
    try:
        with _locked(folder, "r+b"):
            _remove(folder, target)
    except FileNotFoundError:
        os.rmdir(folder)  # killed before it had a lock, so it is empty


def _remove(folder, target):
    """Removes a temporary folder, and restores the previous target if the folder contains it.

    The lock is deleted last, because `_remove_leftover` expects a folder without a lock to be
    empty. So the next process can remove the folder if this process is killed here.
    """
    replaced = folder / REPLACED
    if replaced.exists() and not os.path.lexists(target):
        os.rename(replaced, target)
    for content in (folder / _NEW, replaced):
        shutil.rmtree(content, ignore_errors=True)
    if {entry.name for entry in folder.iterdir()} <= {_LOCK}:
        shutil.rmtree(folder, ignore_errors=True)
