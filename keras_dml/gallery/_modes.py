"""Checks that only their owner may read the files of a gallery, as ssh does of its keys (POSIX)."""

import os
import warnings

OTHERS = 0o077  # rights of the group and of all others
READING = 0o044


class NotPrivate(PermissionError):
    """A file of secrets that others may use."""


def refuse_if_shared(path, what):
    """Refuses a file of secrets that others may use.

    A file of another owner is not checked: its owner decided who may read it, as of the secrets
    that a container gets.

    Args:
        path: Path of the file, or an open descriptor.
        what: Name of the file in the error. It must not be a path that may be the key itself.

    Raises:
        NotPrivate: If others than the owner may read or write it.
    """
    mode = _own_mode(path)
    if mode & OTHERS:
        raise NotPrivate(
            f"{what} can be used by others than its owner (mode {mode & 0o777:04o}). Run `chmod "
            "600` on it, and make a new key if others may have read it."
        )


def warn_if_shared(path):
    """Warns of a gallery that others may read, as a `UserWarning`.

    Args:
        path: Path of its file.
    """
    mode = _own_mode(path)
    if mode & READING:
        warnings.warn(
            f"{path} can be read by others than its owner (mode {mode & 0o777:04o}), and it holds "
            "personal data. Run `chmod 600` on it.",
            stacklevel=6,
        )


def _own_mode(path):
    """Mode of a file of this user, otherwise 0."""
    if os.name != "posix":
        return 0
    status = os.stat(path)
    return status.st_mode if status.st_uid == os.geteuid() else 0
