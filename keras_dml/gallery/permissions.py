"""Checks that only the owner may read the files of a gallery (POSIX). ssh checks key files in the
same way."""

import os
import warnings

from keras_dml._typing import Path

OTHERS = 0o077  # all permissions of the group and of other users
READING = 0o044  # permissions of the group and of other users to read


class NotPrivate(PermissionError):
    """Error for a file with secrets that other users may read or write."""


def refuse_if_shared(path: Path | int, description: str) -> None:
    """Raises an error if other users may read or write a file that contains secrets.

    A file that does not belong to the current user is not checked, because its owner decides who
    may read it. For example, files with secrets that are mounted in a container may belong to
    another user.

    Args:
        path: Path of the file, or an open file descriptor.
        description: Name of the file in the error message. `description` must not contain the path
            if the user may have given a key instead of a path.

    Raises:
        NotPrivate: If users other than the owner may read or write the file.
    """
    mode = _mode_if_owner(path)
    if mode & OTHERS:
        raise NotPrivate(
            f"{description} has the mode {mode & 0o777:04o}, so users other than its owner can use "
            "it. Run `chmod 600` on it, and make a new key if other users may have read this key."
        )


def warn_if_shared(path: Path) -> None:
    """Emits a `UserWarning` if other users may read the file of a gallery.

    Args:
        path: Path of the gallery's file.
    """
    mode = _mode_if_owner(path)
    if mode & READING:
        warnings.warn(
            f"{path} holds personal data, but has the mode {mode & 0o777:04o}, so users other than "
            "its owner can read it. Run `chmod 600` on it.",
            stacklevel=8,
        )


def _mode_if_owner(path):
    """Returns the mode of a file, or 0 if the file does not belong to the current user."""
    if os.name != "posix":
        return 0
    status = os.stat(path)
    return status.st_mode if status.st_uid == os.geteuid() else 0
