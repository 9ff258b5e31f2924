"""Checks that only the owner may read the files of a gallery (POSIX). ssh checks key files too."""

import os
import warnings

from keras_dml._typing import Path

OTHERS = 0o077  # all permissions of the group and of other users
READING = 0o044  # permissions of the group and of other users to read


class NotPrivate(PermissionError):
    """Error for a file of secrets that other users may read or write."""


def refuse_if_shared(path: Path | int, description: str) -> None:
    """Raises an error if other users may read or write a file of secrets.

    A file that belongs to another user is not checked, because the other user decides who may read
    it. For example, files of secrets in a container belong to another user.

    Args:
        path: Path of the file, or an open file descriptor.
        description: Name of the file in the error message. Do not give a path that may be a key.

    Raises:
        NotPrivate: If users other than the owner may read or write the file.
    """
    mode = _mode_if_owner(path)
    if mode & OTHERS:
        raise NotPrivate(
            f"{description} can be used by users who do not own it (mode {mode & 0o777:04o}). Run "
            "`chmod 600` on it, and make a new key if others may have read it."
        )


def warn_if_shared(path: Path) -> None:
    """Emits a `UserWarning` if other users may read the file of a gallery.

    Args:
        path: Path of the gallery's file.
    """
    mode = _mode_if_owner(path)
    if mode & READING:
        warnings.warn(
            f"{path} holds personal data, but users who do not own it can read it (mode "
            f"{mode & 0o777:04o}). Run `chmod 600` on it.",
            stacklevel=8,
        )


def _mode_if_owner(path):
    """Returns the mode of a file that belongs to the current user, and 0 for other files."""
    if os.name != "posix":
        return 0
    status = os.stat(path)
    return status.st_mode if status.st_uid == os.geteuid() else 0
