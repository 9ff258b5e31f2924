"""Makes and restores backups of galleries in SQLite files, with the online backup of SQLite.

Making or restoring a backup requires neither the model nor the key of the gallery. Encrypted
embeddings stay encrypted in the copy.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3

from keras_dml._files import replaceable_file, staged
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.gallery.maintenance import check_exists
from keras_dml.gallery.records import Records
from keras_dml.gallery.sqlite import (
    APPLICATION,
    ERRORS,
    SCHEMA,
    SQLiteStore,
    check_kind,
    is_invalid_text,
    reason,
)
from keras_dml.gallery.store import is_url


def backup(path: Path, file: Path, *, replace: bool = False) -> None:
    """Copies a gallery to a file, even while other processes use the gallery.

    The copy contains the state of the gallery at one moment. The copy is itself a gallery, and only
    the owner of the file may read it. If people are later removed from the original gallery, they
    remain in the copy. Recordings that `Gallery.proposals` and `Gallery.strangers` keep also remain
    in the copy after their time is over. The next opening of the copy destroys them.

    Args:
        path: Path of the gallery's file. For a gallery on a server, use `pg_dump` instead.
        file: Path of the copy.
        replace: Whether the copy may replace a gallery at `file`.

    Raises:
        FileNotFoundError: If the gallery or the folder of the copy does not exist.
        FileExistsError: If `file` exists and `replace` is False.
        ValueError: If the gallery is on a server or damaged, or if a file at `file` is not a
            gallery.
        OSError: If a file cannot be used.
    """
    _check_file(path, "pg_dump --schema=keras_dml")
    check_exists(path)
    with contextlib.closing(SQLiteStore(path)) as source:
        with source.connection() as connection:
            _copy(connection, path, file, replace)


def restore(
    file: Path,
    path: Path,
    *,
    replace: bool = False,
    key: bytes | Path | None = None,
    keys: Path | None = None,
) -> None:
    """Restores a gallery from a copy that `backup` made.

    If the copy replaces an existing gallery, other processes that use this gallery never see a
    mixture of the old and the new content. People and thresholds that were added after the backup
    are lost. People who were removed after the backup are enrolled again.

    Args:
        file: Path of the copy, which is not changed.
        path: Path of the gallery's file. For a gallery on a server, use `psql` instead.
        replace: Whether the copy may replace a gallery at `path`.
        key: Key of an encrypted gallery, see `Gallery`. If a key is given, `restore` also calls
            `accept_older`. By default, `restore` does not call `accept_older`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the copy or the folder of the gallery does not exist.
        FileExistsError: If `path` exists and `replace` is False.
        ValueError: If the copy is not a gallery or is damaged, if the gallery is on a server, or if
            a file at `path` is not a gallery.
        OSError: If a file cannot be used.
    """
    _check_file(path, "psql")
    _check_file(file, "psql")
    check_exists(file)
    with _opened_to_read(file) as connection:
        _copy(connection, file, path, replace)
    if key is not None:
        accept_older(path, key=key, keys=keys)


def accept_older(path: Path, *, key: bytes | Path, keys: Path | None = None) -> None:
    """Accepts an encrypted gallery that is an older copy, such as a restored backup.

    The number of changes to an encrypted gallery is also stored outside the gallery. The number is
    in a file next to the key file, or in the file with the people's keys. If a gallery states fewer
    changes than the number that is stored outside, other functions refuse the gallery until
    `accept_older` is called.

    Args:
        path: Path of the gallery's file, or the URL of a database.
        key: Key of the gallery, see `Gallery`.
        keys: Path of the file with the people's keys, see `Gallery`.

    Raises:
        FileNotFoundError: If the gallery does not exist.
        ValueError: If the gallery is not encrypted, if it is damaged, or if it has another key.
        OSError: If the gallery cannot be used.
    """
    check_exists(path)
    with contextlib.closing(Records(path, key, keys)) as records:
        records.accept_older()


def _check_file(path, tool):
    if is_url(path):
        raise ValueError(
            "A gallery on a server is backed up and restored by the tools of PostgreSQL. Use "
            f"`{tool}`. If the gallery is encrypted, also copy the file with the people's keys."
        )


@contextlib.contextmanager
def _opened_to_read(path):
    """Checks the file of a gallery and yields a connection that cannot change the file."""
    try:
        address = f"{pathlib.Path(path).absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            check_kind(connection.execute, path, SCHEMA, APPLICATION, "gallery")
            (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise ValueError(f"{path} is damaged: {reason(state)}. Restore another backup.")
            yield connection
    except ERRORS as error:
        if isinstance(error, sqlite3.OperationalError) and not is_invalid_text(error):
            raise OSError(f"{path} cannot be read: {reason(error)}.") from None
        raise ValueError(f"{path} is not a gallery, or it is damaged: {reason(error)}.") from None


def _copy(source, origin, path, replace):
    """Copies a SQLite database to a path.

    Args:
        source: Open `sqlite3.Connection` to the database.
        origin: Path of the database.
        path: Path of the copy.
        replace: Whether the copy may replace a gallery at `path`.
    """
    place = replaceable_file(path)
    if not place.exists():
        with staged(path, _new_file) as candidate:
            os.close(os.open(candidate, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
            try:
                with contextlib.closing(sqlite3.connect(candidate)) as target:
                    source.backup(target)
                    # without this statement, the copy would need a second file for the log
                    target.execute("PRAGMA journal_mode = DELETE")
            except sqlite3.Error as error:
                raise OSError(
                    f"{path} cannot be written: {reason(error)}. Nothing was changed."
                ) from None
        return
    if os.path.samefile(place, origin):
        raise ValueError(f"{path} is the gallery itself. Give the path of another file.")
    if not replace:
        _new_file(path)
    with contextlib.closing(SQLiteStore(place)) as replaced:
        with replaced.connection() as target:
            source.backup(target)
        replaced.purge()


def _new_file(path):
    """Returns `path` as a `pathlib.Path`. Raises `FileExistsError` if the file exists."""
    place = replaceable_file(path)
    if place.exists():
        raise FileExistsError(
            Message(
                "{path} exists and was not changed. Give the path of a new file, or set "
                "{replace=True} to replace the gallery at this path.",
                path=path,
            )
        )
    return place
