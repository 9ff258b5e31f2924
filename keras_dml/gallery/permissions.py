"""Checks that only their owner may read the files of a gallery, as ssh checks its keys (POSIX)."""

import os
import warnings

from keras_dml._typing import Path

OTHERS = 0o077  # all rights of the group and of other users
READING = 0o044  # the rights of the group and of other users to read


class NotPrivate(PermissionError):
    """A file of secrets that other users may read or write."""


def refuse_if_shared(path: Path | int, description: str) -> None:
    """Refuses a file of secrets that other users may read or write.

    A file that belongs to another user is not checked, because that user decided who may read it.
    The secrets of a container are such files.

    Args:
        path: Path of the file, or an open descriptor.
        description: Name of the file in the error. It must not be a path that may be the key.

    Raises:
        NotPrivate: If others than the owner may read or write the file.
    """
    mode = _mode_if_owner(path)
    if mode & OTHERS:
        raise NotPrivate(
            f"{description} can be used by users who do not own it (mode {mode & 0o777:04o}). Run "
            "`chmod 600` on it, and make a new key if others may have read it."
        )


def warn_if_shared(path: Path) -> None:
    """Emits a `UserWarning` if other users may read a gallery.

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
    """Returns the mode of a file of the current user, and 0 for any other file."""
    if os.name != "posix":
        return 0
    status = os.stat(path)
    return status.st_mode if status.st_uid == os.geteuid() else 0
