"""A gallery's people, embeddings and thresholds, in a SQLite file or on a PostgreSQL server."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import pathlib
import secrets
import uuid
import warnings

import numpy as np

from keras_dml.gallery import _encryption, _key, _rollback, _seals
from keras_dml.gallery._boundary import Boundary
from keras_dml.gallery._encryption import Keys, NoKeys
from keras_dml.gallery._modes import NotPrivate
from keras_dml.gallery._names import composed, recording_id
from keras_dml.gallery._places import database, hide_password, is_url
from keras_dml.gallery._removal import Removal, number_of
from keras_dml.gallery._results import StoredRecording, Threshold
from keras_dml.gallery._rollback import Counter
from keras_dml.gallery._seals import SealError, Seals
from keras_dml.gallery._sqlite import SQLiteFile
from keras_dml.gallery._tries import Claims

APPLICATION_OF_KEYS = 0x6B646D6B  # "kdmk"
KEYS_SCHEMA = (_encryption.TABLE,)
# A new table is one more statement, in SQLite's words; `_postgres` translates them.
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
    *_seals.TABLES,
)
APART_SCHEMA = (*KEYS_SCHEMA, _rollback.TABLE)
ENCRYPTION = "encryption"  # row of `about`: the mark of an encrypted gallery, or null
NUMBERS = np.dtype("<f4")
NUMBER_BITS = 62  # of a person's number


class Store(Removal):
    """Reads and writes a gallery. Every method is one transaction: it is done whole or not at all,
    and what has returned survives a killed process.

    Args:
        path: Path of the file, created if it does not exist; or the URL of a database.
        key: See `_key.read_key`.
        keys: Path of the file of the people's keys, of an encrypted gallery on a server.

    Raises:
        ValueError: If something else is there, a gallery of another version, a damaged one, or one
            of another key.
        OSError: If it cannot be used.
    """

    def __init__(self, path, key=None, keys=None):
        self._key = _key.read_key(key)
        _key.check_keys(self._key, keys, is_url(path))
        self._keys, self._seals, self._counter = NoKeys(), Seals(), Counter()
        self._given, self._keys_path = path, keys
        self._apart = self._checked = None
        with contextlib.ExitStack() as self._opened:
            self._database = self._entered(database(path, SCHEMA, KEYS_SCHEMA, self._seal_earlier))
            self._open_keys()
            with self._database.reading() as run:
                self._unlock(run)
            self._opened = self._opened.pop_all()

    def _entered(self, opened):
        return self._opened.enter_context(contextlib.closing(opened))

    def _open_keys(self):
        """Opens the file of the people's keys, if there is one, unless it is open."""
        if self._keys_path is not None and self._apart is None:
            self._apart = self._entered(
                SQLiteFile(
                    self._keys_path,
                    APART_SCHEMA,
                    APPLICATION_OF_KEYS,
                    "file of keys",
                    upgrade=lambda run: None,  # the table of counters is empty at first
                )
            )

    def _seal_earlier(self, run):
        """Seals a gallery of an earlier release as it is, within the change of its version."""
        self._open_keys()
        self._unlock(run, path=self._given)
        if self._counter.seen():
            raise ValueError(
                f"{hide_password(self._given)} has no seals, but it had them when this key was "
                "used last. Somebody has changed it: restore a backup."
            )
        self._seals.begin(run)
        if self._seals.has_key:
            warnings.warn(
                f"{hide_password(self._given)} was made by an earlier release and is sealed now: "
                "changes by other programs are noticed from now on, earlier ones are not.",
                stacklevel=4,
            )

    @property
    def path(self):
        """Path of the file, or the URL without its password."""
        return self._database.path

    @property
    def is_server(self):
        """Whether it may hold more than fits in memory: `candidates` finds who is near."""
        return self._database.is_server

    def close(self):
        """Closes the file or the connection."""
        self._opened.close()

    def claims(self, tries):
        """Returns the `Claims` that count rejected claims in this gallery.

        Args:
            tries: `Tries`, or None.
        """
        return Claims(self._database, tries)

    def about(self):
        """What the gallery says of itself, `{name: value}`."""
        with self._database.reading() as run:
            found = _about(run)
        return {name: value for name, value in found.items() if name != ENCRYPTION}

    def describe(self, about, index=None):
        """Writes what is said of a gallery that says nothing yet, and returns what it says.

        Args:
            about: `{name: value}`.
            index: Function that gives the `Index` of the model's embeddings, which a server needs.
        """
        with self._database.writing() as run:
            if not _about(run):
                mark = None if self._key is None else uuid.uuid4().hex
                if mark is not None:
                    Keys(self._key.cipher, mark, self._apart).begin(run)
                for name, value in (about | {ENCRYPTION: mark}).items():
                    run("INSERT INTO about VALUES (?, ?)", (name, json.dumps(value)))
                self._unlock(run)
                self._seals.begin(run)
            self._unlock(run)
            if self.is_server:
                self._database.index_by(run, index)
        return self.about()

    def _unlock(self, run, path=None):
        """Checks the key of a gallery that is described.

        Args:
            run: Function of a statement.
            path: Path of the gallery, for errors; None: that of the open database.
        """
        about = _about(run)
        if not about:
            return
        mark = about.get(ENCRYPTION)
        path = self.path if path is None else hide_password(path)
        _key.check_given(path, mark, self._key)
        if mark is not None and not self.is_encrypted:
            keys = Keys(self._key.cipher, mark, self._apart)
            with self._decrypting(path):
                keys.check(run)
            self._keys, self._seals = keys, Seals(self._key.seals, mark)
            self._counter = self._counter_of(mark)

    def _counter_of(self, mark):
        """The counter outside a gallery; of one that keeps nothing if there is no place for it."""
        if self._apart is not None:
            return Counter(self._apart, mark)
        if self._key.path is None:
            return Counter()
        path = _rollback.beside(self._key.path)
        try:
            file = SQLiteFile(path, (_rollback.TABLE,), APPLICATION_OF_KEYS, "file of counters")
        except NotPrivate:
            raise
        except OSError:  # such as a key on a medium that cannot be written to
            return Counter()
        place = pathlib.Path(self._given).absolute()  # a copy elsewhere may be older
        return Counter(self._entered(file), f"{mark} {place}")

    @contextlib.contextmanager
    def _decrypting(self, path=None):
        try:
            yield
        except _encryption.DecryptionError as error:
            path = self.path if path is None else path
            raise ValueError(f"{path} cannot be decrypted: {error}.") from None

    @contextlib.contextmanager
    def _unchanged(self):
        """Says which gallery has rows that something else has changed."""
        try:
            yield
        except SealError as error:
            raise ValueError(
                f"{self.path} is damaged, or something other than keras-dml has changed it: "
                f"{error}. Do not use it: restore a backup."
            ) from None

    def check(self):
        """Checks that nothing else has changed an encrypted gallery.

        Raises:
            ValueError: If something has, or the gallery is an older copy of itself.
        """
        with self._database.reading() as run:
            number = self._check_rows(run)
            self._check_number(number)
            if not self.is_server:  # whose interrupted removals leave people without keys
                self._check_keys(run)
        self._counter.keep(number)

    def _check_keys(self, run):
        """Raises `ValueError` if the key of a person is gone, so that nobody would miss them."""
        people = dict(run("SELECT id, name FROM people").fetchall())
        with self._decrypting(), self._unchanged():
            keys = self._keys.of(run, people)
            if gone := [name for number, name in people.items() if number not in keys]:
                raise SealError(f"the key of {gone[0]!r} is gone")

    def accept_older(self):
        """Accepts an encrypted gallery although it is an older copy of itself."""
        with self._database.writing() as run:
            number = max(self._check_rows(run), self._counter.seen())
            run("UPDATE state SET number = ?", (number,))
            number = self._seals.sign(run)
        self._counter.keep(number)

    def _check_rows(self, run):
        """Checks the rows of an encrypted gallery: of a file all of them after each change by
        another connection; of a server no templates, which are checked when they are read.

        Returns:
            The number of changes of an encrypted gallery, otherwise 0.
        """
        if not self._seals.has_key:
            return 0
        with self._unchanged():
            number = self._seals.check_state(run)
            changes = 0 if self.is_server else self._database.changes_of_others()
            if changes != self._checked:
                self._seals.check_set(run)
                if not self.is_server:
                    self._seals.check_everybody(run)
                self._checked = changes
        return number

    def _check_number(self, number):
        """Raises `ValueError` if a larger number of changes was seen."""
        if number < self._counter.seen():
            raise ValueError(
                f"{self.path} is an older copy of this gallery: {self._counter.seen()} changes "
                f"were made, and it has {number}. Put the latest one back. If you restored a "
                "backup on purpose, call `accept_older`."
            )

    @contextlib.contextmanager
    def _writing(self):
        """A change of sealed rows, see `writing` of the database."""
        with self._database.writing() as run:
            with self._unchanged():  # of people those who change are checked
                self._check_number(self._seals.check_state(run) if self.is_encrypted else 0)
                yield run
            number = self._seals.sign(run)
        self._counter.keep(number)

    @property
    def is_encrypted(self):
        """True if the embeddings of this gallery are encrypted."""
        return not isinstance(self._keys, NoKeys)

    def remember(self, name, value):
        """Adds a value to what the gallery says of itself, unless it has one of this name.

        Args:
            name: Name of the value.
            value: Anything that JSON holds.
        """
        with self._writing() as run:
            query = "INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
            run(query, (name, json.dumps(value)))

    def people(self):
        """Number of enrolled recordings by person, in the order of the names."""
        query = (
            "SELECT people.name, count(*) FILTER (WHERE templates.enrolled = 1) FROM people LEFT "
            "JOIN templates ON templates.person = people.id GROUP BY people.id ORDER BY people.name"
        )
        with self._database.reading() as run:
            return dict(run(query).fetchall())

    def add(self, person, embeddings, enrolled=True):
        """Adds embeddings of a person.

        Args:
            person: Name.
            embeddings: Shape `(count, ...)`.
            enrolled: Whether they are the person's own; else they are marked as not theirs.

        Returns:
            Recordings of the person enrolled now.
        """
        with self._writing() as run:
            row, key = self._person(run, composed(person))
            self._insert(run, row, key, [(enrolled, _blob(one)) for one in embeddings])
            self._seals.renew(run, row)
            count = "SELECT count(*) FROM templates WHERE person = ? AND enrolled = 1"
            return run(count, (row,)).fetchone()[0]

    def add_all(self, people, enrolled, embeddings):
        """Adds what `templates` of another store gave, but for embeddings that are here already.

        Returns:
            Number of embeddings added by person.
        """
        given, added = {}, {}
        for person, own, embedding in zip(people, enrolled, embeddings, strict=True):
            given.setdefault(composed(person), {})[bool(own), _blob(embedding)] = None
        with self._writing() as run:
            for person, blobs in given.items():
                row, key = self._person(run, person)
                query = "SELECT enrolled, embedding FROM templates WHERE person = ?"
                rows = run(query, (row,)).fetchall()
                with self._decrypting():
                    known = {(bool(own), key.open(sealed, own)) for own, sealed in rows}
                new = [one for one in blobs if one not in known]
                if new:
                    self._insert(run, row, key, new)
                    self._seals.renew(run, row)
                    added[person] = len(new)
        return added

    def _person(self, run, name):
        """Number and key of a person, who is added if there is none of this name.

        Numbers are random: a killed server gives those of a sequence again, and the key that the
        lost enrollment has left in the file of keys would be taken for that of somebody else.
        """
        new = "INSERT INTO people (id, name) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
        run(new, (_new_number(), name))
        (row,) = run("SELECT id FROM people WHERE name = ?", (name,)).fetchone()
        with self._decrypting():
            keys = self._keys.of(run, {row: name})
        if run("SELECT person FROM seals WHERE person = ?", (row,)).fetchone() is not None:
            self._seals.check_people(run, {row: name})
        if not keys:  # a new person, or one whose removal was broken off after their key was gone
            run("DELETE FROM templates WHERE person = ?", (row,))
            keys = {row: self._keys.new(run, row, name)}
        return row, keys[row]

    def _insert(self, run, row, key, blobs):
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        insert = (
            "INSERT INTO templates (person, enrolled, embedding, created) VALUES (?, ?, ?, ?)"
            " RETURNING id"
        )
        for enrolled, blob in blobs:
            values = (row, int(enrolled), key.seal(blob, enrolled), created)
            (template,) = run(insert, values).fetchone()
            if self.is_server and enrolled:
                self._database.index(run, template, row, np.frombuffer(blob, NUMBERS))

    def rename(self, person, name):
        """Gives a person another name.

        The person gets a new number too. A key in a file apart is then valid under both numbers
        until the change is kept, so that a process that is killed leaves a gallery that opens.

        Args:
            person: Name of the person.
            name: The new name.

        Returns:
            Whether there was such a person.

        Raises:
            ValueError: If another person has the new name.
        """
        person, name = composed(person), composed(name)
        with self._writing() as run:
            row = number_of(run, person)
            if row is None:
                return False
            self._seals.check_people(run, {row: person})
            if number_of(run, name) is not None:
                raise ValueError(
                    f"{self.path} has a person named {name!r} already, so {person!r} keeps their "
                    "name. Give a name that nobody has."
                )
            renamed = _new_number()
            run("INSERT INTO people (id, name) VALUES (?, ?)", (renamed, name))
            with self._decrypting():
                self._keys.copy(run, (row, person), (renamed, name))
            for table in ("templates", "tries"):
                run(f"UPDATE {table} SET person = ? WHERE person = ?", (renamed, row))
            if self.is_server:
                run("UPDATE nearest SET person = ? WHERE person = ?", (renamed, row))
            run("DELETE FROM people WHERE id = ?", (row,))
            for number in (row, renamed):
                self._seals.renew(run, number)
            if self._apart is None:
                self._keys.destroy(run, row)
        if self._apart is not None:
            self._keys.destroy(None, row)
        self._database.forget()
        return True

    def stored(self, person, enrolled=True):
        """Lists recordings of a person in the order in which they were stored.

        Args:
            person: Name of the person.
            enrolled: Whether the recordings are the person's; else those marked as not theirs.

        Returns:
            `StoredRecording` of each, or None if the gallery has no such person.
        """
        query = (
            "SELECT created, embedding FROM templates WHERE person = ? AND enrolled = ? ORDER BY id"
        )
        with self._database.reading() as run:
            row = number_of(run, composed(person))
            if row is None:
                return None
            rows = run(query, (row, int(enrolled))).fetchall()
            with self._decrypting():
                keys = self._keys.of(run, {row: composed(person)})
                opened = [(keys[row].open(sealed, enrolled), at) for at, sealed in rows if keys]
        return tuple(StoredRecording(recording_id(blob), created) for blob, created in opened)

    def has(self, person):
        """Returns whether recordings of a person are enrolled."""
        query = (
            "SELECT templates.id FROM templates JOIN people ON people.id = templates.person "
            "WHERE people.name = ? AND templates.enrolled = 1 LIMIT 1"
        )
        with self._database.reading() as run:
            return run(query, (composed(person),)).fetchone() is not None

    def counts(self):
        """Counts what is stored.

        Returns:
            `(enrolled, marked, first)`: number of recordings enrolled, number of recordings marked
            as not a person's, and the time at which the first one was stored, or None.
        """
        query = (
            "SELECT count(*) FILTER (WHERE enrolled = 1), count(*) FILTER (WHERE enrolled = 0), "
            "min(created) FROM templates"
        )
        with self._database.reading() as run:
            return run(query).fetchone()

    def templates(self, people=None):
        """Embeddings of all people, or of some.

        Args:
            people: Names; those of nobody are passed over. None: everybody.

        Returns:
            Names of their people, in order, whether they are enrolled, and the embeddings, float32
            of shape `(count, numbers)`, flat. People whose key was destroyed have none.
        """
        condition, values = "TRUE", ()
        if people is not None:
            condition, *values = self._database.among("people.name", map(composed, people))
        query = (
            "SELECT people.id, people.name, templates.id, enrolled, created, embedding, seal FROM "
            "templates JOIN people ON people.id = templates.person LEFT JOIN seals ON "
            f"seals.person = people.id WHERE {condition} ORDER BY people.name, templates.id"
        )
        with self._database.reading() as run:
            stored = run(query, values).fetchall()
            with self._decrypting():
                keys = self._keys.of(run, {row: name for row, name, *_ in stored})
                rows = [
                    (name, own, keys[row].open(sealed, own))
                    for row, name, _, own, _, sealed, _ in stored
                    if row in keys
                ]
            self._check_rows(run)
            with self._unchanged():
                self._seals.check_templates(*_by_person(stored))
        if len({len(blob) for _, _, blob in rows}) > 1:
            raise ValueError(f"{self.path} holds embeddings of several sizes: it is damaged.")
        names, enrolled, blobs = zip(*rows, strict=True) if rows else ((), (), ())
        numbers = len(blobs[0]) // NUMBERS.itemsize if blobs else 0
        flat = np.frombuffer(b"".join(blobs), NUMBERS).reshape(len(blobs), numbers)
        return list(names), np.array(enrolled, bool), flat

    def candidates(self, embeddings):
        """People near to embeddings, of a gallery on a server, and the number of all."""
        return self._database.candidates(embeddings)

    def changes(self):
        """A number that is another one after any change, by this or another process."""
        with self._database.reading() as run:
            self._check_rows(run)
            return run("SELECT number, seal FROM state").fetchone()

    def thresholds(self):
        """The thresholds that were set, by false accept rate."""
        return self._kept("thresholds", _threshold)

    def set_threshold(self, found):
        """Keeps a `Threshold`, in place of an earlier one of the same rate."""
        self._keep("thresholds", found)

    def boundaries(self):
        """The boundaries that were set, by false match rate."""
        return self._kept("boundaries", lambda values: Boundary(**values))

    def _kept(self, table, made):
        with self._database.reading() as run:
            rows = run(f"SELECT far, found FROM {table} ORDER BY far").fetchall()
            self._check_rows(run)
        found = {}
        for far, text in rows:
            try:
                found[far] = made(json.loads(text))
            except (KeyError, RecursionError, TypeError, ValueError):
                raise ValueError(
                    f"{self.path} holds what is none in the place of its {table} for FAR "
                    f"{100 * far:g} %: it is damaged, or somebody has changed it. Calibrate that "
                    "rate again."
                ) from None
        return found

    def set_boundary(self, found):
        """Keeps a `Boundary`, in place of an earlier one of the same rate."""
        self._keep("boundaries", found)

    def _keep(self, table, found):
        with self._writing() as run:
            run(
                f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT (far) DO UPDATE SET found = "
                "excluded.found",
                (found.far, json.dumps(dataclasses.asdict(found))),
            )


def _about(run):
    """What a gallery says of itself; empty for a new one.

    Raises:
        ValueError: If it is damaged.
    """
    values = {}
    for name, text in run("SELECT name, value FROM about"):
        try:
            values[name] = json.loads(text)
        except (RecursionError, TypeError, ValueError):
            raise _damaged_about(name) from None
    for name in ("model", "fingerprint") if values else ():
        if not isinstance(values.get(name), str):
            raise _damaged_about(name)
    return values


def _damaged_about(name):
    return ValueError(
        f"The gallery says nothing valid in the row {name[:40]!r} of its table `about`: it is "
        "damaged, or somebody has changed it. Restore a backup by `keras-dml restore`."
    )


def _by_person(stored):
    """Returns names, template rows and seals by the number of each person, for `Seals`."""
    names, rows, seals = {}, {}, {}
    for person, name, *row, seal in stored:
        names[person], seals[person] = name, seal
        rows.setdefault(person, []).append(row)
    return names, rows, seals


def _new_number():
    return 1 + secrets.randbits(NUMBER_BITS)


def _blob(embedding):
    return np.ascontiguousarray(embedding, NUMBERS).tobytes()


def _threshold(values):
    intervals = {name: tuple(values[name]) for name in ("far_ci95", "tar_ci95")}
    return Threshold(**values | intervals | {"value": float(values["value"])})
