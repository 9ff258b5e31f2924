"""Files that appear whole or not at all, in places where nothing else is lost."""

import contextlib
import fnmatch
import glob
import os
import pathlib
import shutil
import stat
import tempfile

try:
    import fcntl
except ImportError:  # Windows has no such locks, so nothing is cleared there
    fcntl = None

# What lies in a room, a temporary folder beside a target: a lock that is held as long as its run
# lives, the folder that is written to, and what was at the target while it is replaced.
_LOCK, _NEW, _REPLACED = "lock", "new", "replaced"
_RANDOM = 8 * "?"  # how `tempfile` ends a name
_SAVED_MODEL = "saved_model.pb"
_OF_SAVED_MODEL = (  # what TensorFlow writes into such a folder
    _SAVED_MODEL,
    "fingerprint.pb",
    "keras_metadata.pb",
    *("assets", "assets/*", "assets.extra", "assets.extra/*", "debug", "debug/*"),
    *("variables", "variables/variables.*", "variables/checkpoint"),
)
_KINDS = {
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFREG: "a file",
    stat.S_IFSOCK: "a socket",
}


def file_place(path):
    """Where a file of this path is written: the path, or where the link there leads to.

    Args:
        path: What a caller gave.

    Returns:
        A `pathlib.Path`; nothing is there, or a regular file.

    Raises:
        ValueError: If the path names no file, or there is a folder, a device, a pipe, a socket or a
            link to one or to nothing.
        FileNotFoundError: If the folder that it lies in does not exist.
    """
    path = named(path)
    is_link = path.is_symlink()
    if is_link and not path.exists():
        raise ValueError(
            f"{str(path)!r} is a link to nothing, so it is left as it is. Give the file itself."
        )
    if path.exists() and not path.is_file():
        raise ValueError(
            f"{str(path)!r} is {_kind(path)}, so it is left as it is. Give the name of a file, one "
            "that does not exist yet or may be replaced."
        )
    return pathlib.Path(os.path.realpath(path)) if is_link else _with_parent(path)


def folder_place(path, what, mark, members):
    """Where a folder of this path is written, after a check that nothing foreign is replaced.

    Args:
        path: What a caller gave.
        what: Name of such a folder, `"SavedModel"`.
        mark: A file that every such folder has.
        members: Patterns of all paths that such a folder may hold.

    Returns:
        A `pathlib.Path`; nothing is there, or an empty folder, or such a one.

    Raises:
        ValueError: If the path names no folder, or something else is there.
        FileNotFoundError: If the folder that it lies in does not exist.
    """
    path = named(path, "folder")
    advice = f"Give a folder that does not exist, is empty or holds a {what}, which is replaced."
    if path.is_symlink():
        raise ValueError(f"{str(path)!r} is a link, so it is left as it is. {advice}")
    if not path.exists():
        return _with_parent(path)
    if not path.is_dir():
        raise ValueError(
            f"{str(path)!r} is {_kind(path)} and is no {what}, so it is left as it is. {advice}"
        )
    if any(path.iterdir()) and not (path / mark).is_file():
        raise ValueError(
            f"{str(path)!r} is there and is no {what}, so it is left as it is. {advice}"
        )
    held = sorted(one.relative_to(path).as_posix() for one in path.rglob("*"))
    foreign = [one for one in held if not any(fnmatch.fnmatchcase(one, each) for each in members)]
    if foreign:
        raise ValueError(
            f"{str(path)!r} holds {foreign[0]!r}, which is no part of a {what}, so it is left as "
            f"it is. Move that elsewhere. {advice}"
        )
    return path


def saved_model_place(path):
    """Where a SavedModel is written: at a new path, in an empty folder, or in place of another.

    Raises:
        ValueError: As `folder_place`.
        FileNotFoundError: As `folder_place`.
    """
    return folder_place(path, "SavedModel", _SAVED_MODEL, _OF_SAVED_MODEL)


def named(path, what="file"):
    """The path of a file or a folder, which ends in its name.

    Args:
        path: What a caller gave.
        what: `"file"`, or `"folder"`, whose path may end in a separator.

    Returns:
        A `pathlib.Path`.

    Raises:
        ValueError: If the path is empty, a root, `.` or `..`, that of a file ends in a separator,
            or it holds a null character.
    """
    given = os.fsdecode(path)
    if "\0" in given:
        raise ValueError(f"No path holds a null character. Received {given!r}.")
    text = given.rstrip(os.sep + (os.altsep or "")) if what == "folder" else given
    if os.path.basename(text) in ("", os.curdir, os.pardir):
        raise ValueError(f"The path of a {what} must end in its name. Received {given!r}.")
    return pathlib.Path(text)


@contextlib.contextmanager
def staged(path, place=file_place):
    """A place beside `path` to write to; what is there when the block ends well takes the place of
    `path`, with the permissions of what it replaces.

    After an error nothing is left of it, and what `path` held is untouched. What a killed run left
    beside `path` is cleared first, and a folder that it had only half replaced is put back; what
    another process is writing now stays.

    Args:
        path: A file, or a folder.
        place: Function that says where `path` is written, and refuses what must not be replaced.

    Yields:
        A path that does not exist yet, in a temporary folder on the same file system.

    Raises:
        ValueError: If `place` refuses, at the beginning or at the end.
        FileNotFoundError: If the folder that `path` lies in does not exist.
        OSError: If the disk is full, or the folder cannot be written to.
    """
    target = place(path)
    with tmp_dir(target) as folder:
        candidate = folder / pathlib.Path(path).name
        with _told(path):
            yield candidate
            place(path)
            if target.exists():
                shutil.copymode(target, candidate)
            if target.is_dir():
                os.rename(target, folder.parent / _REPLACED)
            os.replace(candidate, target)


@contextlib.contextmanager
def tmp_dir(target):
    """A temporary folder beside a target, for what shall be renamed to it.

    Args:
        target: A `pathlib.Path` in a folder that exists.

    Yields:
        The folder. Nothing is left of it afterwards, nor of those that killed runs left for the
        same target.
    """
    for left in target.parent.glob(glob.escape(_prefix(target)) + _RANDOM):
        with contextlib.suppress(OSError):  # a run is writing in it now, or it is another user's
            _clear_left(left, target)
    folder, lock = _new_room(target)
    with lock:
        try:
            (folder / _NEW).mkdir()
            yield folder / _NEW
        finally:
            _clear(folder, target)


def write_text(path, text):
    """Writes a text file in UTF-8, whole or not at all.

    Raises:
        ValueError: If `path` is no place for a file.
        OSError: If it cannot be written.
    """
    with staged(path) as candidate:
        candidate.write_text(text, encoding="utf-8")


def size(path):
    """Bytes of a file, or of all files under a folder."""
    path = pathlib.Path(path)
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def _kind(path):
    return _KINDS.get(stat.S_IFMT(path.stat().st_mode), "no regular file")


def _with_parent(path):
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} into; make it first."
        )
    return path


@contextlib.contextmanager
def _told(path):
    """Names the target in errors that name no file, as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = [] if error.errno is None else [error.errno]
        reason = f"{str(path)!r} was not written: {error.strerror or error}. Nothing of it is left."
        raise OSError(*number, reason) from error


def _prefix(target):
    return f".{target.name}.incomplete-"


def _new_room(target):
    """A room of this process, and its lock, which the system opens when the process ends."""
    while True:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        try:
            return folder, _locked(folder, "xb")
        except (BlockingIOError, FileNotFoundError):
            continue  # another run took it, still without a lock, for one that was left
        except OSError:
            return folder, contextlib.nullcontext()  # without locks nothing is cleared here


def _locked(folder, mode):
    """The lock of a room.

    Raises:
        BlockingIOError: If a run that lives has it.
        FileNotFoundError: If the room has none, or is gone.
        OSError: If there are no locks on this system.
    """
    file = open(folder / _LOCK, mode)
    try:
        if fcntl is None:
            raise OSError("There are no locks on this system.")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder / _LOCK)  # another run may have taken it away before it was locked
    except BaseException:
        file.close()
        raise
    return file


def _clear_left(folder, target):
    """Clears a room whose run has ended.

    Raises:
        OSError: If it has not, or what ended cannot be known.
    """
    try:
        with _locked(folder, "r+b"):
            _clear(folder, target)
    except FileNotFoundError:
        os.rmdir(folder)  # killed before it had a lock, so it is empty


def _clear(folder, target):
    """Deletes a temporary folder, after what was moved out of the target's path is back there.

    The lock goes last: a folder without one is taken for empty, so that a run which is killed in
    here leaves a folder that the next run can clear.
    """
    replaced = folder / _REPLACED
    if replaced.exists() and not os.path.lexists(target):
        os.rename(replaced, target)
    for content in (folder / _NEW, replaced):
        shutil.rmtree(content, ignore_errors=True)
    if {entry.name for entry in folder.iterdir()} <= {_LOCK}:
        shutil.rmtree(folder, ignore_errors=True)
