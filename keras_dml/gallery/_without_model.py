"""What needs no model: to list people, remove one and purge, also when the model is lost."""

from __future__ import annotations

import contextlib
import os
import pathlib

from keras_dml.gallery._store import Store


def people(path: str | os.PathLike, *, key=None, keys=None) -> dict[str, int]:
    """Number of enrolled recordings by person, in the order of the names; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If the file is no gallery, or is damaged.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        return store.people()


def remove(path: str | os.PathLike, person: str, *, key=None, keys=None) -> None:
    """Removes a person and all that is stored of them, as `Gallery.remove`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        person: Name of the person.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Raises:
        FileNotFoundError: If there is no gallery.
        KeyError: If nobody of this name is enrolled.
        ValueError: If the file is no gallery, or is damaged.
        TimeoutError: If they were removed, but another process kept the log from being cut.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        if not store.remove(person):
            raise KeyError(
                f"Nobody named {person!r} is in {path}, which has {len(store.people())} people: "
                "`people()` lists them."
            )


def purge(path: str | os.PathLike, *, key=None, keys=None) -> tuple[str, ...]:
    """Writes all anew without free space, as `Gallery.purge`; loads no model.

    Args:
        path: Path of a gallery's file, or the URL of a database.
        key: As in `Gallery`.
        keys: As in `Gallery`.

    Returns:
        Where removed templates may still be, sentences; none of a file.

    Raises:
        FileNotFoundError: If there is no gallery.
        ValueError: If the file is no gallery, or is damaged.
        OSError: If it cannot be used.
    """
    with _opened(path, key, keys) as store:
        return store.purge()


def exists(path: str | os.PathLike) -> bool:
    """Whether there is a file that may be a gallery, and not an empty one; of a URL always."""
    file = pathlib.Path(path)
    return "://" in str(path) or (file.exists() and file.stat().st_size > 0)


def _opened(path, key, keys):
    if not exists(path):
        raise FileNotFoundError(f"There is no gallery {str(path)!r}.")
    return contextlib.closing(Store(path, key, keys))
