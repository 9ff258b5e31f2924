"""Checks output paths, so that the package overwrites only its own earlier output."""

import fnmatch
import os
import pathlib
import stat

_SAVED_MODEL = "saved_model.pb"
_SAVED_MODEL_MEMBERS = (  # files that TensorFlow writes
    _SAVED_MODEL,
    "fingerprint.pb",
    "keras_metadata.pb",
    "assets",
    "assets/*",
    "assets.extra",
    "assets.extra/*",
    "debug",
    "debug/*",
    "variables",
    "variables/variables.*",
    "variables/checkpoint",
)
_ONNX = "embed.onnx"
_ONNX_MEMBERS = (_ONNX, "distance.onnx", "score.onnx", "classify.onnx")
_BUNDLE = "bundle.json"
_BUNDLE_MEMBERS = (  # files that `keras_dml.export.bundle` writes
    _BUNDLE,
    "model.tflite",
    "golden.npz",
    "golden",
    "golden/*",
    "check.py",
    "[Ee]xample.*",
    "__pycache__",
    "__pycache__/*",
)
_C_LIBRARY = "kd_model.h"
_C_LIBRARY_MEMBERS = (  # files that `keras_dml.export.microcontroller` writes
    "README.md",
    "golden.h",
    "selftest.c",
    "trunk.tflite",
    "kd.h",
    "kd_internal.h",
    "kd_tables.h",
    _C_LIBRARY,
    "kd_check.c",
    "kd_embed.c",
    "kd_front.c",
    "kd_gallery.c",
    "kd_tables.c",
    "kd_trunk.c",
    # Files of a compiler
    "selftest",
    "selftest.exe",
    "*.o",
)
# Folders of the kernel. These folders contain links to files that a program has open, such as
# /dev/stdout.
_KERNEL = ("/dev", "/proc", "/sys")
_MEMORY = "/dev/shm"  # an ordinary file system that is kept in memory
_MOST_LINKS = 40  # largest number of links in one path, as in Linux
_KINDS = {
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFREG: "a file",
    stat.S_IFSOCK: "a socket",
}


def replaceable_file(path):
    """Checks that a file can be written at a path. Returns the path, or the target if the path is a
    link.

    Args:
        path: Path of the file to write.

    Returns:
        A `pathlib.Path` at which no file or a regular file exists.

    Raises:
        ValueError: If the path does not end in a name, or is a broken link. If a folder, device,
            pipe or socket exists at the path or at the target of a link. If the path leads through
            a folder of the kernel, such as `/dev`, directly or by a link.
        FileNotFoundError: If the parent folder does not exist.
    """
    path = path_with_name(path)
    is_link = path.is_symlink()
    if is_link and not path.exists():
        raise ValueError(
            f"{str(path)!r} is a link to nothing, because its target does not exist. The link was "
            "not changed. Pass the path of a file."
        )
    if path.exists() and not path.is_file():
        raise ValueError(
            f"{str(path)!r} is {_kind(path)}, so it was not changed. Give the path of a file that "
            "does not exist yet or may be replaced."
        )
    _check_outside_kernel(path)
    return pathlib.Path(os.path.realpath(path)) if is_link else _with_parent(path)


def replaceable_folder(path, what, mark, members):
    """Checks that a folder can be written at a path, and returns the path. Only an empty folder or
    a folder of the same kind may be replaced.

    Args:
        path: Path of the folder to write.
        what: Word for this kind of folder in error messages, such as `"SavedModel"`.
        mark: Name of a file that every folder of this kind contains.
        members: Patterns of all paths that a folder of this kind may contain.

    Returns:
        A `pathlib.Path` at which no file, an empty folder or a folder of this kind exists.

    Raises:
        ValueError: If the path does not end in a name, or if it leads through a folder of the
            kernel, such as `/dev`. If the path belongs to a file or to a folder of another kind.
        FileNotFoundError: If the parent folder does not exist.
    """
    path = path_with_name(path, "folder")
    advice = (
        f"Give a folder that does not exist, an empty folder, or a {what} that may be replaced."
    )
    if path.is_symlink():
        raise ValueError(f"{str(path)!r} is a link, so it was not changed. {advice}")
    _check_outside_kernel(path)
    if not path.exists():
        return _with_parent(path)
    if not path.is_dir():
        raise ValueError(
            f"{str(path)!r} is {_kind(path)} and not a {what}, so it was not changed. {advice}"
        )
    if any(path.iterdir()) and not (path / mark).is_file():
        raise ValueError(
            f"{str(path)!r} exists and is not a {what}, so it was not changed. {advice}"
        )
    contents = sorted(member.relative_to(path).as_posix() for member in path.rglob("*"))
    foreign = [
        name for name in contents if not any(fnmatch.fnmatchcase(name, part) for part in members)
    ]
    if foreign:
        raise ValueError(
            f"{str(path)!r} holds {foreign[0]!r}, which is not part of a {what}. Nothing was "
            f"changed. Move {foreign[0]!r} elsewhere. {advice}"
        )
    return path


def replaceable_saved_model(path):
    """Checks that a path does not exist, is an empty folder or is a SavedModel, and returns the
    path.

    Raises:
        ValueError: See `replaceable_folder`.
        FileNotFoundError: See `replaceable_folder`.
    """
    return replaceable_folder(path, "SavedModel", _SAVED_MODEL, _SAVED_MODEL_MEMBERS)


def replaceable_onnx(path):
    """Checks that a path does not exist, is an empty folder or is a folder of ONNX files that
    `keras_dml.export.onnx` wrote, and returns the path.

    Raises:
        ValueError: See `replaceable_folder`.
        FileNotFoundError: See `replaceable_folder`.
    """
    return replaceable_folder(path, "folder of ONNX files", _ONNX, _ONNX_MEMBERS)


def replaceable_bundle(path):
    """Checks that a path does not exist, is an empty folder or is a bundle that
    `keras_dml.export.bundle` wrote, and returns the path.

    Raises:
        ValueError: See `replaceable_folder`.
        FileNotFoundError: See `replaceable_folder`.
    """
    return replaceable_folder(path, "bundle for a device", _BUNDLE, _BUNDLE_MEMBERS)


def replaceable_c_library(path):
    """Checks that a path does not exist, is an empty folder or is a C library that an export wrote,
    and returns the path.

    Raises:
        ValueError: See `replaceable_folder`.
        FileNotFoundError: See `replaceable_folder`.
    """
    return replaceable_folder(path, "C library of keras-dml", _C_LIBRARY, _C_LIBRARY_MEMBERS)


def path_with_name(path, what="file"):
    """Checks that a path ends in the name of a file or folder, and returns the path.

    Args:
        path: Path of a file or folder.
        what: `"file"` or `"folder"`. The path of a folder may end in a separator.

    Returns:
        A `pathlib.Path`.

    Raises:
        ValueError: If the path is empty, `.`, `..` or a root folder, if it contains a null
            character, or if `what` is `"file"` and the path ends in a separator.
    """
    decoded = os.fsdecode(path)
    if "\0" in decoded:
        raise ValueError(f"A path must not contain a null character. Received {decoded!r}.")
    text = decoded.rstrip(os.sep + (os.altsep or "")) if what == "folder" else decoded
    if os.path.basename(text) in ("", os.curdir, os.pardir):
        raise ValueError(f"The path of a {what} must end in a name. Received {decoded!r}.")
    return pathlib.Path(text)


def _check_outside_kernel(path):
    """Raises `ValueError` if a path leads through a folder of the kernel.

    For example, `/dev/stdout` and `/proc/self/fd/1` are links to the file to which a shell
    redirects the output. A caller who passes `/dev/stdout` wants to write to the output, and does
    not want to replace the file that receives the output.
    """
    folder = next((place for place in _places(path) if place in _KERNEL), None)
    if folder is not None:
        raise ValueError(
            f"{str(path)!r} leads through {folder}, which belongs to the system. This path was not "
            "changed. Give the path of a file or folder elsewhere."
        )


def _places(path):
    """Iterates over all parent folders of a path and all links in the path, except folders in
    `/dev/shm`.
    """
    path = path if path.is_absolute() else pathlib.Path.cwd() / path
    rest = [*reversed(path.parts)]
    place, links = rest.pop(), 0
    while rest:
        place = os.path.normpath(os.path.join(place, rest.pop()))  # `place` contains no link
        if os.path.islink(place) and links < _MOST_LINKS:
            rest += reversed(pathlib.Path(os.readlink(place)).parts)
            place, links = os.path.dirname(place), links + 1
        elif not (rest and os.path.join(place, rest[-1]) == _MEMORY):
            yield place


def _kind(path):
    """Describes in words what exists at a path, such as a folder or a device."""
    return _KINDS.get(stat.S_IFMT(path.stat().st_mode), "no regular file")


def _with_parent(path):
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"The folder {str(path.parent)!r} for {path.name!r} does not exist. Create it first."
        )
    return path
