"""A SQLite file that several processes use at once, and that keeps nothing of what was removed."""

import contextlib
import errno
import json
import os
import pathlib
import sqlite3
import threading

from keras_dml.gallery._modes import refuse_if_shared, warn_if_shared

VERSION = 2
LATER = {
    1: {"tries", "seals", "state", "counters"}
}  # tables that files of an earlier version lack; opening adds them
FILES = ("", "-wal", "-shm")  # ends of the names of a file that is open
BUSY_SECONDS = 30.0  # a writer waits for another


def check_kind(run, path, schema, application, what):
    """Checks that a database is of a kind, of this version, and unchanged by others.

    Args:
        run: Function of a statement, which returns a cursor.
        path: Path of the file, for errors.
        schema: Statements that make the tables.
        application: Number that tells such files from those of other programs.
        what: What such a file is called in error messages.

    Returns:
        The version of the file, `VERSION` or one of `LATER`.

    Raises:
        ValueError: If it is another database.
    """
    kind, version = (
        run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if kind != application:
        raise ValueError(f"{path} is a database, but no {what} of keras-dml. Name another file.")
    if version not in (VERSION, *LATER):
        raise ValueError(
            f"{path} is a {what} of version {version}; this release reads {VERSION}. Open it with "
            "the release that wrote it."
        )
    expected = {*schema} - {*_later(schema, version)}
    statements = run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if {sql for (sql,) in statements.fetchall()} != expected:
        raise ValueError(
            f"{path} holds tables, views or triggers that no {what} has. Somebody has changed it: "
            "do not use it."
        )
    return version


def _later(schema, version):
    """Statements of a schema that make the tables which files of a version lack."""
    tables = LATER.get(version, ())
    return [one for one in schema if one.startswith("CREATE TABLE") and one.split()[2] in tables]


class SQLiteFile:
    """A database of known tables. What was written and has returned survives a killed process.

    Removed rows are overwritten with zeros, and the log of changes is cut after a removal.

    Args:
        path: Path of the file; created if it does not exist, for its owner alone.
        schema: Statements that make its tables.
        application: Number that tells such files from those of other programs.
        what: What such a file is called in error messages.
        upgrade: Function of a function of a statement, which is called within the transaction that
            adds the tables which a file of an earlier version lacks; None: the file stays as it is.

    Raises:
        ValueError: If another file is there, one of another version, or a damaged one.
        OSError: If it cannot be used.
    """

    is_server = False

    def __init__(self, path, schema, application, what="gallery", upgrade=None):
        self.path = pathlib.Path(path)
        self._place = self.path.absolute()  # the folder one is in may change
        self._identity = None
        self._upgrade = upgrade
        self._schema, self._application, self._what = schema, application, what
        if self.path.is_dir():
            raise ValueError(
                f"{self.path} is a folder; name a file in it, such as {self.path}/people.db."
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
            if what == "gallery":
                warn_if_shared(self.path)
            else:
                refuse_if_shared(self.path, f"The {what} {self.path}")
            self._finish_removals()
        except BaseException:
            self.close()
            raise

    def _create(self):
        """Makes an empty file for its owner alone, if there is none.

        A file that is there is not opened: closing it would take the locks of SQLite away from
        other connections of this process (POSIX).
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            if os.access(self.path, os.W_OK):
                return
            reason = os.strerror(errno.EACCES)
            kind = PermissionError
        except OSError as error:
            reason, kind = error.strerror, type(error)
        else:
            return
        raise kind(
            f"{self.path} cannot be written: {reason}. A {self._what} is written to also when it "
            "is read: name a file in a folder where you may write."
        )

    def _identities(self, *ends):
        """Device and number of the file and of the files beside it; None of one that is gone."""
        identities = []
        for end in ends:
            try:
                status = os.stat(f"{self._place}{end}")
                identities.append((status.st_dev, status.st_ino))
            except FileNotFoundError:
                identities.append(None)
        return identities

    def _check_place(self, consequence):
        """Raises `OSError` if the files are not those that were opened.

        SQLite goes on with the files that it has open, and what is written to them is lost.

        Args:
            consequence: What it means for the change that was under way, a sentence.
        """
        if self._identity is not None and self._identities(*FILES) != self._identity:
            raise OSError(
                f"{self.path}, or a file beside it that ends in {' or '.join(FILES[1:])}, was "
                f"moved, removed or replaced while the {self._what} was open. {consequence} Open "
                "it again, and replace a gallery only by `restore`."
            )

    def _finish_removals(self):
        """Cuts the log, in which a process that was killed may have left what it had removed; not
        if another process reads just now, which does not wait."""
        run = self._connection.execute
        with self._explained():
            run("PRAGMA busy_timeout = 100")
            try:
                run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError:  # such as a full disk: what is read is right anyway
                pass
            run(f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}")

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
            if self._is_empty():  # else another process was first
                run(f"PRAGMA application_id = {self._application}")
                self._make(self._schema)
            elif self._upgrade is not None and self._check_kind() != VERSION:
                self._make(_later(self._schema, version))
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
        return check_kind(run, self.path, self._schema, self._application, self._what)

    def close(self):
        """Closes the file."""
        self._connection.close()

    @contextlib.contextmanager
    def writing(self):
        """A change, done whole or not at all.

        Yields:
            A function of a statement and the values of its marks, which returns a cursor.
        """
        with self._transaction("BEGIN IMMEDIATE") as run:
            yield run

    def counting(self):
        """A change of what is counted about claims, as `writing`."""
        return self._transaction("BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def reading(self):
        """A view of one moment; yields what `writing` does."""
        with self._transaction("BEGIN") as run:
            yield run

    def among(self, column, values):
        """A condition that a column is one of any number of texts, and the value of its mark."""
        return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(list(values))

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

    def changes_of_others(self):
        """Returns a number that is another one after a change by another connection."""
        with self._lock, self._explained():
            return self._connection.execute("PRAGMA data_version").fetchone()[0]

    @contextlib.contextmanager
    def connection(self):
        """Yields the `sqlite3.Connection`, for SQLite's online backup."""
        with self._lock, self._explained():
            yield self._connection

    def purge(self):
        """Writes the file anew without free space, and cuts the log.

        Returns:
            Where removed templates may still be, sentences: nowhere.
        """
        with self._lock, self._explained():
            self._connection.execute("VACUUM")
        self.forget()
        return ()

    def forget(self):
        """Cuts the log, which holds what was removed.

        Raises:
            TimeoutError: If another process reads it all the time.
            OSError: If the disk is full.
        """
        with self._lock, self._explained():
            try:
                busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError as error:
                raise OSError(
                    f"What was removed from {self.path} is not read any more, but is still in its "
                    f"files: {error}. Call `purge` when there is room on the disk."
                ) from None
        if busy:
            raise TimeoutError(
                f"What was removed from {self.path} is gone from it, but its log could not be cut: "
                f"another process has been reading for {BUSY_SECONDS:g} seconds. Call `purge` when "
                "it has ended."
            )

    @contextlib.contextmanager
    def _explained(self):
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise _ERRORS.get(type(error), OSError)(self._said(error)) from None

    def _said(self, error):
        if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
            return f"{self.path} is closed: open it again."
        if isinstance(error, (sqlite3.OperationalError, sqlite3.ProgrammingError)):
            return f"{self.path} cannot be used: {error}. Nothing was changed."
        return f"{self.path} is no {self._what} of keras-dml, or it is damaged: {error}."


_ERRORS = {
    sqlite3.DatabaseError: ValueError,
    sqlite3.IntegrityError: ValueError,
    sqlite3.ProgrammingError: ValueError,
}
