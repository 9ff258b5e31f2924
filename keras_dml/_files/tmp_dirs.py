"""Creates a temporary folder next to the file or folder that is written, and removes temporary
folders of killed processes.
"""

import contextlib
import glob
import os
import pathlib
import shutil
import tempfile

try:
    import fcntl
except ImportError:  # on Windows, without these locks, leftovers remain
    fcntl = None

# A temporary folder contains a lock file, which the writing process locks, and a folder for the new
# output. While the target is being replaced, the temporary folder also contains the previous
# target.
_LOCK, _NEW, REPLACED = "lock", "new", "replaced"
_RANDOM = 8 * "?"  # pattern of the random end of names that `tempfile` creates


@contextlib.contextmanager
def tmp_dir(target):
    """Creates a temporary folder beside a target, and removes the temporary folder after the block.

    If killed processes left temporary folders for the same target, these folders are removed first.

    Args:
        target: Path that will be written, a `pathlib.Path` in a folder that exists.

    Yields:
        Path of the temporary folder.
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
    """Creates a temporary folder and a lock, which the operating system releases when the process
    ends."""
    while True:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        try:
            return folder, _locked(folder, "xb")
        except (BlockingIOError, FileNotFoundError):
            continue  # another process removed the folder before it was locked
        except OSError:
            return folder, contextlib.nullcontext()  # without locks, leftovers stay


def _locked(folder, mode):
    """Opens and locks the lock file of a temporary folder.

    Args:
        folder: Path of the folder.
        mode: Mode in which the lock file is opened. `"xb"` creates the file.

    Raises:
        BlockingIOError: If a running process holds the lock.
        FileNotFoundError: If the lock file or the folder does not exist.
        OSError: If the operating system does not support file locks.
    """
    file = open(folder / _LOCK, mode)
    try:
        if fcntl is None:
            raise OSError("This system has no file locks.")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder / _LOCK)  # another process may have removed the file before it was locked
    except BaseException:
        file.close()
        raise
    return file


def _remove_leftover(folder, target):
    """Removes the temporary folder of a process that has ended.

    Raises:
        OSError: If the process is still running, or if the function cannot determine whether the
            process is running.
    """
    try:
        with _locked(folder, "r+b"):
            _remove(folder, target)
    except FileNotFoundError:
        os.rmdir(folder)  # the process was killed before it had a lock


def _remove(folder, target):
    """Removes a temporary folder. If the folder contains the old file or folder that was to be
    replaced, the function first moves it back to `target`.

    The lock is deleted last, because `_remove_leftover` expects that a folder without a lock is
    empty. If this process is killed during the removal, another process can therefore still remove
    the folder.
    """
    replaced = folder / REPLACED
    if replaced.exists() and not os.path.lexists(target):
        os.rename(replaced, target)
    for content in (folder / _NEW, replaced):
        shutil.rmtree(content, ignore_errors=True)
    if {entry.name for entry in folder.iterdir()} <= {_LOCK}:
        shutil.rmtree(folder, ignore_errors=True)
