"""A gallery's people, embeddings and thresholds in one SQLite file."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import sqlite3
import threading

import numpy as np

from keras_dml.gallery._results import Threshold

APPLICATION = 0x6B646D6C  # "kdml", the file's application id
VERSION = 1
BUSY_SECONDS = 30.0  # a writer waits for another
SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE templates (id INTEGER PRIMARY KEY, person INTEGER NOT NULL REFERENCES people"
    " ON DELETE CASCADE, enrolled INTEGER NOT NULL, created TEXT NOT NULL, embedding BLOB NOT NULL)"
    " STRICT",
    "CREATE INDEX templates_of_person ON templates (person)",
    "CREATE TABLE thresholds (far REAL PRIMARY KEY, found TEXT NOT NULL) STRICT",
)
NUMBERS = np.dtype("<f4")


class Store:
    """Reads and writes the file. Every method is one transaction: it is done whole or not at all,
    and what has returned survives a killed process.

    Removed rows are overwritten with zeros, and the log of changes is cut after a removal.

    Args:
        path: Path of the file; created if it does not exist.

    Raises:
        ValueError: If there is another file, a gallery of another version, or a damaged one.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))  # new: for its owner alone
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            with self._explained():
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self):
        run = self._connection.execute
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")
        if not self._is_empty():
            self._check_kind()
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA secure_delete = ON")
        run("PRAGMA foreign_keys = ON")
        with self._writing():
            if self._is_empty():  # else another process was first
                run(f"PRAGMA application_id = {APPLICATION}")
                run(f"PRAGMA user_version = {VERSION}")
                for statement in SCHEMA:
                    run(statement)
        self._check_kind()

    def _is_empty(self):
        return not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _check_kind(self):
        run = self._connection.execute
        kind, version = (
            run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if kind != APPLICATION:
            raise ValueError(
                f"{self.path} is a database, but no gallery of keras-dml. Name another file."
            )
        if version != VERSION:
            raise ValueError(
                f"{self.path} is a gallery of version {version}; this release reads {VERSION}. "
                "Open it with the release that wrote it."
            )
        found = run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        if sorted(sql for (sql,) in found) != sorted(SCHEMA):
            raise ValueError(
                f"{self.path} holds tables, views or triggers that are not a gallery's. Somebody "
                "has changed it: do not use it."
            )

    def close(self):
        """Closes the file."""
        self._connection.close()

    def about(self):
        """What the gallery says of itself, `{name: value}`."""
        with self._explained():
            rows = self._connection.execute("SELECT name, value FROM about").fetchall()
        return {name: json.loads(value) for name, value in rows}

    def describe(self, about):
        """Writes what is said of a gallery that says nothing yet, and returns what it says."""
        with self._writing() as run:
            if not run("SELECT count(*) FROM about").fetchone()[0]:
                rows = [(name, json.dumps(value)) for name, value in about.items()]
                self._connection.executemany("INSERT INTO about VALUES (?, ?)", rows)
        return self.about()

    def people(self):
        """Number of enrolled recordings by person, in the order of the names."""
        query = (
            "SELECT people.name, coalesce(sum(templates.enrolled), 0) FROM people LEFT JOIN "
            "templates ON templates.person = people.id GROUP BY people.id ORDER BY people.name"
        )
        with self._explained():
            return dict(self._connection.execute(query).fetchall())

    def add(self, person, embeddings, enrolled=True):
        """Adds embeddings of a person.

        Args:
            person: Name.
            embeddings: Shape `(count, ...)`.
            enrolled: Whether they are the person's own; else they are marked as not theirs.

        Returns:
            Recordings of the person enrolled now.
        """
        blobs = [_blob(one) for one in embeddings]
        with self._writing() as run:
            row = self._row_of(person)
            self._insert([(row, int(enrolled), blob) for blob in blobs])
            count = "SELECT sum(enrolled) FROM templates WHERE person = ?"
            return run(count, (row,)).fetchone()[0]

    def add_all(self, people, enrolled, embeddings):
        """Adds what `templates` of another store gave, but for embeddings that are here already.

        Returns:
            Number of embeddings added by person.
        """
        added = {}
        known = "SELECT 1 FROM templates WHERE person = ? AND enrolled = ? AND embedding = ?"
        with self._writing() as run:
            for person, own, embedding in zip(people, enrolled, embeddings, strict=True):
                found = (self._row_of(person), int(own), _blob(embedding))
                if run(known, found).fetchone() is None:
                    self._insert([found])
                    added[person] = added.get(person, 0) + 1
        return added

    def _row_of(self, person):
        """Number of a person's row, which is added if there is none."""
        run = self._connection.execute
        run("INSERT INTO people (name) VALUES (?) ON CONFLICT DO NOTHING", (person,))
        return run("SELECT id FROM people WHERE name = ?", (person,)).fetchone()[0]

    def _insert(self, rows):
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._connection.executemany(
            "INSERT INTO templates (person, enrolled, embedding, created) VALUES (?, ?, ?, ?)",
            [(*row, created) for row in rows],
        )

    def templates(self):
        """All embeddings.

        Returns:
            Names of their people, whether they are enrolled, and the embeddings, float32 of shape
            `(count, numbers)`, flat.
        """
        query = (
            "SELECT people.name, templates.enrolled, templates.embedding FROM templates JOIN "
            "people ON people.id = templates.person ORDER BY people.name, templates.id"
        )
        with self._explained():
            rows = self._connection.execute(query).fetchall()
        if len({len(blob) for _, _, blob in rows}) > 1:
            raise ValueError(f"{self.path} holds embeddings of several sizes: it is damaged.")
        names, enrolled, blobs = zip(*rows, strict=True) if rows else ((), (), ())
        numbers = len(blobs[0]) // NUMBERS.itemsize if blobs else 0
        flat = np.frombuffer(b"".join(blobs), NUMBERS).reshape(len(blobs), numbers)
        return list(names), np.array(enrolled, bool), flat

    def changes(self):
        """A number that is another one after any change, by this or another process."""
        with self._explained():
            (others,) = self._connection.execute("PRAGMA data_version").fetchone()
        return others, self._connection.total_changes

    def remove(self, person):
        """Removes a person and all that is stored of them; whether there was one."""
        with self._writing() as run:
            found = run("DELETE FROM people WHERE name = ?", (person,)).rowcount
        self._cut_log()
        return bool(found)

    def purge(self):
        """Writes the file anew without free space, and cuts the log."""
        with self._explained():
            self._connection.execute("VACUUM")
        self._cut_log()

    def _cut_log(self):
        with self._explained():
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise TimeoutError(
                f"What was removed from {self.path} is gone from it, but its log could not be cut: "
                f"another process has been reading for {BUSY_SECONDS:g} seconds. Call `purge` when "
                "it has ended."
            )

    def thresholds(self):
        """The thresholds that were set, by false accept rate."""
        with self._explained():
            rows = self._connection.execute("SELECT far, found FROM thresholds ORDER BY far")
            return {far: _threshold(json.loads(found)) for far, found in rows}

    def set_threshold(self, found):
        """Keeps a `Threshold`, in place of an earlier one of the same rate."""
        values = json.dumps({name: getattr(found, name) for name in found.__dataclass_fields__})
        with self._writing() as run:
            run("INSERT OR REPLACE INTO thresholds VALUES (?, ?)", (found.far, values))

    @contextlib.contextmanager
    def _writing(self):
        with self._lock, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _explained(self):
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise _ERRORS.get(type(error), OSError)(_said(self.path, error)) from None


_ERRORS = {
    sqlite3.DatabaseError: ValueError,
    sqlite3.IntegrityError: ValueError,
    sqlite3.ProgrammingError: ValueError,
}


def _blob(embedding):
    return np.ascontiguousarray(embedding, NUMBERS).tobytes()


def _said(path, error):
    if isinstance(error, sqlite3.ProgrammingError):
        return f"The gallery {path} is closed: open it again."
    if isinstance(error, sqlite3.OperationalError):
        return f"{path} cannot be used: {error}. Nothing was changed."
    return f"{path} is no gallery of keras-dml, or it is damaged: {error}."


def _threshold(values):
    intervals = {name: tuple(values[name]) for name in ("far_ci95", "tar_ci95")}
    return Threshold(**values | intervals)
