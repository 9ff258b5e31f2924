"""Checks of paths before they are written to: nothing that this package did not write is
overwritten."""

import fnmatch
import os
import pathlib
import stat

_SAVED_MODEL = "saved_model.pb"
_SAVED_MODEL_MEMBERS = (  # files that TensorFlow writes
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


def replaceable_file(path):
    """Path to write a file to: the given path, or the target of the link there.

    Args:
        path: Path of the file.

    Returns:
        A `pathlib.Path` at which nothing or a regular file exists.

    Raises:
        ValueError: If the path names no file, or a folder, a device, a pipe, a socket or a link to
            one of these or to nothing exists there.
        FileNotFoundError: If its parent folder does not exist.
    """
    path = path_with_name(path)
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


def replaceable_folder(path, what, mark, members):
    """Path to write a folder to, after a check that only a folder of the same kind is replaced.

    Args:
        path: Path of the folder.
        what: Name of the kind of folder in error messages, such as `"SavedModel"`.
        mark: Name of a file that every such folder contains.
        members: Patterns of all paths that such a folder may contain.

    Returns:
        A `pathlib.Path` at which nothing, an empty folder or such a folder exists.

    Raises:
        ValueError: If the path names no folder, or something else exists there.
        FileNotFoundError: If its parent folder does not exist.
    """
    path = path_with_name(path, "folder")
    advice = f"Give a folder that does not exist, is empty or holds a {what}, which is replaced."
    if path.is_symlink():
        raise ValueError(f"{str(path)!r} is a link, so it is left as it is. {advice}")
    if not path.exists():
        return _with_parent(path)
    if not path.is_dir():
        raise ValueError(
            f"{str(path)!r} is {_kind(path)} and not a {what}, so it is left as it is. {advice}"
        )
    if any(path.iterdir()) and not (path / mark).is_file():
        raise ValueError(
            f"{str(path)!r} exists and is not a {what}, so it is left as it is. {advice}"
        )
    found = sorted(one.relative_to(path).as_posix() for one in path.rglob("*"))
    foreign = [one for one in found if not any(fnmatch.fnmatchcase(one, each) for each in members)]
    if foreign:
        raise ValueError(
            f"{str(path)!r} holds {foreign[0]!r}, which is no part of a {what}, so it is left as "
            f"it is. Move that elsewhere. {advice}"
        )
    return path


def replaceable_saved_model(path):
    """Path to write a SavedModel to: a new path, an empty folder, or another SavedModel.

    Raises:
        ValueError: See `replaceable_folder`.
        FileNotFoundError: See `replaceable_folder`.
    """
    return replaceable_folder(path, "SavedModel", _SAVED_MODEL, _SAVED_MODEL_MEMBERS)


def path_with_name(path, what="file"):
    """A path, after a check that it ends in the name of a file or folder.

    Args:
        path: Path of a file or folder.
        what: `"file"`, or `"folder"`, whose path may end in a separator.

    Returns:
        A `pathlib.Path`.

    Raises:
        ValueError: If the path is empty, a root, `.` or `..`, contains a null character, or is
            that of a file and ends in a separator.
    """
    given = os.fsdecode(path)
    if "\0" in given:
        raise ValueError(f"No path holds a null character. Received {given!r}.")
    text = given.rstrip(os.sep + (os.altsep or "")) if what == "folder" else given
    if os.path.basename(text) in ("", os.curdir, os.pardir):
        raise ValueError(f"The path of a {what} must end in its name. Received {given!r}.")
    return pathlib.Path(text)


def _kind(path):
    return _KINDS.get(stat.S_IFMT(path.stat().st_mode), "no regular file")


def _with_parent(path):
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} into; create it first."
        )
    return path
