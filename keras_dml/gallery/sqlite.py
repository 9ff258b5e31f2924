"""Stores galleries in SQLite files, which several processes may use at the same time.

SQLite overwrites deleted rows with zeros, and the log of changes is truncated after a removal.
"""

import contextlib
import errno
import json
import os
import pathlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from keras_dml._messages import Message, printable
from keras_dml._typing import Path
from keras_dml.gallery.permissions import refuse_if_shared, warn_if_shared
from keras_dml.gallery.store import Run

VERSION = 3
# Maps each earlier version to the tables that files of this version lack. The tables are added when
# the file is opened.
LATER = {
    1: {"tries", "seals", "state", "counters", "sources", "observations"},
    2: {"sources", "observations"},
}
UNSEALED = 1  # version of galleries without seals
FILES = ("", "-wal", "-shm")  # suffixes of the files of an open database
BRIEF_SECONDS = 0.1  # waiting time for another reader if the log can be cut later
BUSY_SECONDS = 30.0  # longest time that a writer waits for another writer

APPLICATION = 0x6B646D6C  # "kdml", SQLite application id of a gallery
APPLICATION_OF_KEYS = 0x6B646D6B  # "kdmk", id of a file of keys or counters
KEYS_TABLE = (
    "CREATE TABLE keys (gallery TEXT NOT NULL, person INTEGER NOT NULL, wrapped BLOB NOT NULL,"
    " PRIMARY KEY (gallery, person)) STRICT"
)
COUNTERS_TABLE = "CREATE TABLE counters (gallery TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT"
# A file whose tables were made by other statements is refused, so these statements must never
# change.
SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE templates (id INTEGER PRIMARY KEY, person INTEGER NOT NULL REFERENCES people"
    " ON DELETE CASCADE, enrolled INTEGER NOT NULL, created TEXT NOT NULL, embedding BLOB NOT NULL)"
    " STRICT",
    "CREATE INDEX templates_of_person ON templates (person)",
    "CREATE TABLE thresholds (far REAL PRIMARY KEY, found TEXT NOT NULL) STRICT",
    "CREATE TABLE boundaries (far REAL PRIMARY KEY, found TEXT NOT NULL) STRICT",
    "CREATE TABLE tries (person INTEGER NOT NULL REFERENCES people ON DELETE CASCADE, client TEXT"
    " NOT NULL, identified INTEGER NOT NULL, failures INTEGER NOT NULL, failed REAL NOT NULL,"
    " PRIMARY KEY (person, client, identified)) STRICT",
    "CREATE TABLE seals (person INTEGER PRIMARY KEY, seal BLOB NOT NULL) STRICT",
    "CREATE TABLE state (number INTEGER NOT NULL, people BLOB NOT NULL, seal BLOB NOT NULL) STRICT",
    "CREATE TABLE sources (template INTEGER PRIMARY KEY REFERENCES templates ON DELETE CASCADE,"
    " day TEXT NOT NULL, device TEXT NOT NULL, proposed INTEGER NOT NULL) STRICT",
    "CREATE TABLE observations (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people ON DELETE"
    " CASCADE, created TEXT NOT NULL, expires TEXT NOT NULL, embedding BLOB NOT NULL) STRICT",
    KEYS_TABLE,
)


# `sqlite3` raises a UnicodeDecodeError if the error message of SQLite quotes damaged text.
ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)


def is_invalid_text(error: Exception) -> bool:
    """Returns True if an error of `sqlite3` reports text in the file that is not valid UTF-8."""
    is_about_a_value = str(error).startswith("Could not decode to UTF-8")
    return is_about_a_value or isinstance(error, UnicodeDecodeError)


def reason(error: object) -> str:
    """Returns the text of a SQLite error. The error may quote text from an untrusted file.

    The result contains no invalid UTF-8, and its control characters are escaped.
    """
    if isinstance(error, Exception) and is_invalid_text(error):
        return "it holds text that is not valid UTF-8"
    return printable(error)


def check_kind(run: Run, path: Path, schema: Sequence[str], application: int, kind: str) -> int:
    """Checks that a SQLite database has the expected application id, version and tables.

    Args:
        run: Function that executes a statement.
        path: Path of the file, for error messages.
        schema: Statements that make the tables.
        application: Application id that the file must have.
        kind: Name for this kind of file, used in error messages.

    Returns:
        The version of the file, which is `VERSION` or a key of `LATER`.

    Raises:
        ValueError: If the database is of another kind or version, or has other tables.
    """
    application_id, version = (
        run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application_id != application:
        raise ValueError(f"{path} is a database, but not a {kind} of keras-dml. Name another file.")
    if version not in (VERSION, *LATER):
        raise ValueError(
            f"{path} is a {kind} of version {version}, but this release reads version {VERSION}. "
            "Open it with the release that wrote it."
        )
    expected = {*schema} - {*_later(schema, version)}
    statements = run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if {sql for (sql,) in statements.fetchall()} != expected:
        raise ValueError(
            f"{path} holds tables, views or triggers that a {kind} does not have. Another program "
            "has changed it. Do not use it."
        )
    return version


def _later(schema, version):
    """Returns SQL statements that create the tables missing in files of an earlier version."""
    tables = LATER.get(version, ())
    return [
        statement
        for statement in schema
        if statement.startswith("CREATE TABLE") and statement.split()[2] in tables
    ]


class SQLiteFile:
    """SQLite file that contains the tables of a gallery, of keys or of counters.

    Args:
        path: Path of the file. If the file does not exist, it is created and is readable only by
            its owner.
        schema: Statements that create the tables.
        application: SQLite application id that marks this kind of file.
        kind: Name for this kind of file, used in error messages.
        upgrade: Function that upgrades files of earlier versions. The argument of `upgrade` is a
            `Run`. The function runs in the transaction that adds missing seals. If None, files of
            earlier versions are not changed.

    Raises:
        ValueError: If the file is of another kind or version, or is damaged.
        OSError: If the file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        schema: Sequence[str],
        application: int,
        kind: str,
        upgrade: Callable[[Run], None] | None = None,
    ):
        self.path: pathlib.Path = pathlib.Path(path)
        self._place = self.path.absolute()  # the working folder may change
        self._identity = None
        self._upgrade = upgrade
        self._schema, self._application, self._kind = schema, application, kind
        if self.path.is_dir():
            raise ValueError(
                f"{self.path} is a folder. Name a file in it, such as {self.path}/people.db."
            )
        self._create()
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            before = self._identities("")
            with self._explained():
                self._open()
            self._identity = self._identities(*FILES)
            if self._identity[0] != before[0]:
                raise OSError(f"{self.path} was replaced while it was opened. Open it again.")
            self._check_permissions()
            self._finish_removals()
        except BaseException:
            self.close()
            raise

    def _check_permissions(self):
        refuse_if_shared(self.path, f"The {self._kind} {self.path}")

    def _create(self):
        """Creates an empty file that only its owner can read, if the file does not exist.

        This method does not open an existing file. Opening and closing the file would release the
        locks that SQLite holds for other connections of this process (POSIX).
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            if os.access(self.path, os.W_OK):
                return
            reason, error_type = os.strerror(errno.EACCES), PermissionError
        except OSError as error:
            reason, error_type = error.strerror, type(error)
        else:
            return
        raise error_type(
            f"{self.path} cannot be written: {reason}. Even reading a {self._kind} writes to its "
            "file. Name a file in a folder where you may write."
        )

    def _identities(self, *suffixes):
        """Returns `(device, inode)` of the file with each suffix, or None if the file is
        missing."""
        identities = []
        for suffix in suffixes:
            try:
                status = os.stat(f"{self._place}{suffix}")
                identities.append((status.st_dev, status.st_ino))
            except FileNotFoundError:
                identities.append(None)
        return identities

    def _check_place(self, consequence):
        """Raises `OSError` if the files at the path are not the files that were opened.

        Without this check, SQLite would continue to write to files that are no longer at the path,
        and the changes would be lost.

        Args:
            consequence: Sentence for the error message that states what happened to the current
                change.
        """
        if self._identity is not None and self._identities(*FILES) != self._identity:
            raise OSError(
                Message(
                    "While the {kind} was open, {path} or its file with the ending {suffixes} was "
                    "moved, removed or replaced. {consequence} Open the {kind} again, and replace "
                    "a gallery only by {restore()}.",
                    path=self.path,
                    suffixes=" or ".join(FILES[1:]),
                    kind=self._kind,
                    consequence=consequence,
                )
            )

    def _finish_removals(self):
        """Truncates the log of changes, in which a killed process may have left deleted rows.

        This method does not wait for other processes that read the file.
        """
        with contextlib.suppress(OSError):  # such as a full disk, which does not affect reading
            self.cut_log(wait=False)

    def _open(self):
        run = self._connection.execute
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")
        version = VERSION if self._is_empty() else self._check_kind()
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA secure_delete = ON")
        run("PRAGMA temp_store = MEMORY")  # no copies elsewhere on the disk
        run("PRAGMA foreign_keys = ON")
        with self.writing():
            if self._is_empty():  # another process may have created the tables
                run(f"PRAGMA application_id = {self._application}")
                self._make(self._schema)
            elif self._upgrade is not None and (version := self._check_kind()) != VERSION:
                self._make(_later(self._schema, version))
                if version == UNSEALED:
                    self._upgrade(run)
        self._check_kind()

    def _make(self, statements):
        for statement in statements:
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _is_empty(self):
        return not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _check_kind(self):
        run = self._connection.execute
        return check_kind(run, self.path, self._schema, self._application, self._kind)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def writing(self) -> AbstractContextManager[Run]:
        """Opens a transaction for writing. If the `with` block fails, the file is not changed."""
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[Run]:
        """Opens a transaction that reads the state of the file at one moment."""
        return self._transaction("BEGIN")

    @contextlib.contextmanager
    def _transaction(self, begin):
        with self._lock, self._explained():
            self._connection.execute(begin)
            try:
                self._check_place("Nothing was changed.")
                yield self._connection.execute
                self._check_place("Nothing was changed.")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            self._check_place("The last change may be lost.")

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Yields the `sqlite3.Connection`, which the online backup of SQLite needs."""
        with self._lock, self._explained():
            yield self._connection

    def purge(self) -> tuple[str, ...]:
        """Rewrites the file without unused space, and truncates the log of changes.

        Returns:
            An empty tuple, because deleted rows do not remain anywhere.
        """
        with self._lock, self._explained():
            self._connection.execute("VACUUM")
        self.cut_log()
        return ()

    def cut_log(self, wait: bool = True) -> None:
        """Truncates the log of changes, which contains deleted rows.

        Args:
            wait: Whether to wait `BUSY_SECONDS` for other processes, or only `BRIEF_SECONDS`.

        Raises:
            TimeoutError: If another process reads the file during the whole waiting time.
            OSError: If the disk is full.
        """
        seconds = BUSY_SECONDS if wait else BRIEF_SECONDS
        run = self._connection.execute
        with self._lock, self._explained():
            try:
                run(f"PRAGMA busy_timeout = {round(1000 * seconds)}")
                busy, *_ = run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError as error:
                raise OSError(
                    Message(
                        "The data are removed from {path}, but its files on the disk still hold "
                        "the data: {reason}. Use {purge()} when there is room on the disk.",
                        path=self.path,
                        reason=reason(error),
                    )
                ) from None
            finally:
                run(f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}")
        if busy:
            raise TimeoutError(
                Message(
                    "The data are removed from {path}, but its log still holds the data, because "
                    "another process has been reading for {seconds:g} seconds. Use {purge()} when "
                    "the other process has ended.",
                    path=self.path,
                    seconds=seconds,
                )
            )

    @contextlib.contextmanager
    def _explained(self):
        """Turns SQLite errors from the `with` block into errors that name the file and a remedy."""
        try:
            yield
        except ERRORS as error:
            raise _type_of(error)(self._message(error)) from None

    def _message(self, error):
        if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
            return f"{self.path} is closed. Open it again."
        if isinstance(error, _ERRORS_OF_USE) and not is_invalid_text(error):
            return f"{self.path} cannot be used: {reason(error)}. Nothing was changed."
        return f"{self.path} is not a {self._kind} of keras-dml, or it is damaged: {reason(error)}."


def _type_of(error):
    """Returns the type of the error that replaces an error of `sqlite3`."""
    return ValueError if is_invalid_text(error) else _TYPES.get(type(error), OSError)


_ERRORS_OF_USE = (sqlite3.OperationalError, sqlite3.ProgrammingError)
_TYPES = {
    sqlite3.DatabaseError: ValueError,
    sqlite3.IntegrityError: ValueError,
    sqlite3.ProgrammingError: ValueError,
}


class SQLiteStore(SQLiteFile):
    """A gallery in a SQLite file, see `store.Store`.

    Args:
        path: Path of the file.
        upgrade: Function for files of earlier versions, see `SQLiteFile`.
    """

    is_server = False
    removal = "remove the file"

    def __init__(self, path: Path, upgrade: Callable[[Run], None] | None = None):
        super().__init__(path, SCHEMA, APPLICATION, "gallery", upgrade)

    def _check_permissions(self):
        warn_if_shared(self.path)

    def counting(self) -> AbstractContextManager[Run]:
        """Opens a transaction that changes counts of rejected claims. Equal to `writing`."""
        return self.writing()

    def among(self, column: str, values: Iterable[str]) -> tuple[str, str]:
        """Returns an SQL condition and the value for the `?` in the condition. The condition is
        true if the text in a column is one of `values`."""
        return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(list(values))

    def changes_by_others(self) -> int:
        """Returns a number that changes whenever another connection changes the file."""
        with self._lock, self._explained():
            return self._connection.execute("PRAGMA data_version").fetchone()[0]

    def prepare_index(self, run: Run, make_index: Callable[..., Any]) -> None:
        """Does nothing, because a file has no index. All templates of a file fit into memory."""

    def add_to_index(self, run: Run, template: int, person: int, embedding: np.ndarray) -> None:
        """Does nothing, because a file has no index."""

    def renumber_in_index(self, run: Run, person: int, number: int) -> None:
        """Does nothing, because a file has no index."""

    def candidates(self, embeddings: np.ndarray) -> None:
        """Returns None, because a file has no index and all templates must be compared."""
        return None
