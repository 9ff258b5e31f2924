"""Reads and writes the people, templates (stored embeddings) and thresholds of a gallery.

A store holds the records. This module encrypts the templates and seals all records before the store
writes them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import pathlib
import secrets
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.gallery import encryption, sqlite
from keras_dml.gallery.boundary import Boundary
from keras_dml.gallery.encryption import Keys, NoKeys
from keras_dml.gallery.names import composed, recording_id
from keras_dml.gallery.observations import drop_expired
from keras_dml.gallery.permissions import NotPrivate
from keras_dml.gallery.results import Source, StoredRecording, Threshold
from keras_dml.gallery.seals import Counter, SealError, Seals, counters_path
from keras_dml.gallery.store import hide_password, is_url, open_store
from keras_dml.gallery.tries import Claims, Tries

if TYPE_CHECKING:
    from keras_dml.gallery.index import Index
    from keras_dml.gallery.store import Run

ENCRYPTION = "encryption"  # row of `about` that holds the mark of an encrypted gallery, or null
NUMBERS = np.dtype("<f4")
NUMBER_BITS = 62  # size of the number of a person


class Records:
    """The records of a gallery.

    Every method is one transaction. If a method fails, it changes nothing. After a method has
    returned, its changes remain even if the process is killed.

    Args:
        path: Path of the file, or the URL of a database. A file that does not exist is created.
        key: Key of the gallery, see `encryption.read_key`.
        keys: Path of the file with the people's keys, for an encrypted gallery on a server.

    Raises:
        ValueError: If `path` is not a gallery, or if the gallery has another version, is damaged or
            has another key.
        OSError: If the gallery cannot be used.
    """

    def __init__(self, path: Path, key: bytes | Path | None = None, keys: Path | None = None):
        self._key = encryption.read_key(key)
        encryption.check_keys(self._key, keys, is_url(path))
        self._keys, self._seals, self._counter = NoKeys(), Seals(), Counter()
        self._given_path, self._keys_path = path, keys
        self._keys_file = self._checked = None
        self.is_log_cut = True  # False if the log may contain deleted rows
        with contextlib.ExitStack() as self._opened:
            self._store = self._close_later(open_store(path, self._seal_earlier))
            self._open_keys()
            with self._store.reading() as run:
                self._unlock(run)
            self._opened = self._opened.pop_all()

    def _close_later(self, resource):
        return self._opened.enter_context(contextlib.closing(resource))

    def _open_keys(self):
        """Opens the file with the people's keys, if its path was given and the file is not open
        yet."""
        if self._keys_path is not None and self._keys_file is None:
            self._keys_file = self._close_later(
                sqlite.SQLiteFile(
                    self._keys_path,
                    (sqlite.KEYS_TABLE, sqlite.COUNTERS_TABLE),
                    sqlite.APPLICATION_OF_KEYS,
                    "file of keys",
                    upgrade=lambda run: None,  # a new table of counters is empty
                )
            )

    def _seal_earlier(self, run):
        """Seals a gallery of an earlier release. Runs in the transaction that adds new tables."""
        self._open_keys()
        self._unlock(run, path=self._given_path)
        if self._counter.seen():
            raise ValueError(
                f"{hide_password(self._given_path)} has no seals, but it had seals when this key "
                "was last used. Somebody has changed it. Restore a backup."
            )
        self._seals.begin(run)
        if self._seals.has_key:
            warnings.warn(
                f"{hide_password(self._given_path)} was made by an earlier release and is sealed "
                "now. From now on, changes by other programs are detected. Earlier changes by "
                "other programs are not detected.",
                stacklevel=8,
            )

    @property
    def path(self) -> Path:
        """Path of the file, or the URL without the password."""
        return self._store.path

    @property
    def removal(self) -> str:
        """Instruction to remove the whole gallery, for error messages."""
        return self._store.removal

    def close(self) -> None:
        """Closes the file or the connection."""
        self._opened.close()

    def claims(self, tries: Tries | None) -> Claims:
        """Returns the `Claims` that count rejected claims in this gallery."""
        return Claims(self._store, tries)

    def about(self) -> dict[str, Any]:
        """Returns the rows of the table `about`, `{name: value}`."""
        with self._store.reading() as run:
            facts = _about(run)
        return {name: value for name, value in facts.items() if name != ENCRYPTION}

    def describe(
        self, about: dict[str, Any], make_index: Callable[[], Index | None] | None = None
    ) -> dict[str, Any]:
        """Writes the table `about` of a new gallery. Does not change an existing gallery.

        Args:
            about: Facts about the gallery, `{name: value}`.
            make_index: Function that returns the `Index` of the model's embeddings. A gallery on a
                server needs `make_index`.

        Returns:
            The rows of the table `about`, `{name: value}`.
        """
        with self._store.writing() as run:
            if not _about(run):
                mark = None if self._key is None else uuid.uuid4().hex
                if mark is not None:
                    Keys(self._key.cipher, mark, self._keys_file).begin(run)
                for name, value in (about | {ENCRYPTION: mark}).items():
                    run("INSERT INTO about VALUES (?, ?)", (name, json.dumps(value)))
                self._unlock(run)
                self._seals.begin(run)
            self._unlock(run)
            self._store.prepare_index(run, make_index)
        return self.about()

    def _unlock(self, run, path=None):
        """Checks the key of the gallery, and uses this key from now on. Does nothing for a new
        gallery.

        Args:
            run: Function that executes a statement.
            path: Path of the gallery for error messages. Default: the path of the open store.
        """
        about = _about(run)
        if not about:
            return
        mark = about.get(ENCRYPTION)
        path = self.path if path is None else hide_password(path)
        encryption.check_given(path, mark, self._key)
        if mark is not None and not self.is_encrypted:
            keys = Keys(self._key.cipher, mark, self._keys_file)
            with self._decrypting(path):
                keys.check(run)
            self._keys, self._seals = keys, Seals(self._key.seals, mark)
            self._counter = self._open_counter(mark)

    def _open_counter(self, mark):
        """Returns the `Counter` of changes. Without a key file or file of keys, the counter stores
        nothing."""
        if self._keys_file is not None:
            return Counter(self._keys_file, mark)
        if self._key.path is None:
            return Counter()
        path = counters_path(self._key.path)
        try:
            file = sqlite.SQLiteFile(
                path, (sqlite.COUNTERS_TABLE,), sqlite.APPLICATION_OF_KEYS, "file of counters"
            )
        except NotPrivate:
            raise
        except OSError:  # such as a key on a read-only disk
            return Counter()
        place = pathlib.Path(self._given_path).absolute()  # a copy of the gallery may be older
        return Counter(self._close_later(file), f"{mark} {place}")

    @contextlib.contextmanager
    def _decrypting(self, path=None):
        """Turns a `DecryptionError` from the `with` block into a `ValueError` that names the
        gallery."""
        try:
            yield
        except encryption.DecryptionError as error:
            path = self.path if path is None else path
            raise ValueError(f"{path} cannot be decrypted: {error}.") from None

    @contextlib.contextmanager
    def _unchanged(self):
        """Turns a `SealError` from the `with` block into a `ValueError` that names the gallery."""
        try:
            yield
        except SealError as error:
            raise ValueError(
                f"{self.path} is damaged, or something other than keras-dml has changed it: "
                f"{error}. Do not use it. Restore a backup."
            ) from None

    def check(self) -> None:
        """Checks that no other program has changed an encrypted gallery.

        Raises:
            ValueError: If another program has changed the gallery, or if the gallery is an older
                copy.
        """
        with self._store.reading() as run:
            number = self._check_rows(run)
            self._check_number(number)
            if not self._store.is_server:  # on a server, a removal destroys the key first
                self._check_keys(run)
        self._counter.keep(number)
        drop_expired(self, wait=False)

    def _check_keys(self, run):
        """Raises `ValueError` if a person has no key, because the gallery would ignore this
        person's templates."""
        people = dict(run("SELECT id, name FROM people").fetchall())
        with self._decrypting(), self._unchanged():
            keys = self._keys.keys_of(run, people)
            if gone := [name for number, name in people.items() if number not in keys]:
                raise SealError(f"the key of {gone[0]!r} is missing")

    def accept_older(self) -> None:
        """Accepts an encrypted gallery although it is an older copy."""
        with self._store.writing() as run:
            number = max(self._check_rows(run), self._counter.seen())
            run("UPDATE state SET number = ?", (number,))
            number = self._seals.sign(run)
        self._counter.keep(number)

    def _check_rows(self, run):
        """Checks the seals on the rows of an encrypted gallery.

        In a gallery file, the method checks all rows after each change by another connection. On a
        server, the method does not check templates, because the method `templates` checks them.

        Returns:
            Number of changes that were made to the gallery. 0 if the gallery is not encrypted.
        """
        if not self._seals.has_key:
            return 0
        with self._unchanged():
            number = self._seals.check_state(run)
            changes = self._store.changes_by_others()
            if changes != self._checked:
                self._seals.check_set(run)
                if not self._store.is_server:
                    self._seals.check_everybody(run)
                self._checked = changes
        return number

    def _check_number(self, number):
        """Raises `ValueError` if the number of changes in the gallery file is below the counter
        that is stored outside the file."""
        if number < self._counter.seen():
            raise ValueError(
                Message(
                    "{path} is an older copy of this gallery, because it contains only {number} of "
                    "the {seen} changes. Restore the latest copy. If you restored a backup on "
                    "purpose, use {accept_older()}.",
                    path=self.path,
                    number=number,
                    seen=self._counter.seen(),
                )
            )

    @contextlib.contextmanager
    def _writing(self):
        """Opens a transaction that changes sealed rows, see `Store.writing`."""
        with self._store.writing() as run:
            with self._unchanged():  # the methods check the seals of the people whom they change
                self._check_number(self._seals.check_state(run) if self.is_encrypted else 0)
                yield run
            number = self._seals.sign(run)
        self._counter.keep(number)

    @property
    def is_encrypted(self) -> bool:
        """True if the gallery has a key, so that embeddings are encrypted."""
        return not isinstance(self._keys, NoKeys)

    def remember(self, name: str, value: Any) -> None:
        """Adds a fact to the table `about`, unless the table has a fact with this name.

        Args:
            name: Name of the fact.
            value: Value that JSON can represent.
        """
        with self._writing() as run:
            query = "INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
            run(query, (name, json.dumps(value)))

    def replace_fact(self, name: str, value: Any) -> None:
        """Stores a fact in the table `about`, and replaces the earlier value.

        Args:
            name: Name of the fact.
            value: Value that JSON can represent.
        """
        with self._writing() as run:
            run(
                "INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = "
                "excluded.value",
                (name, json.dumps(value)),
            )

    @contextlib.contextmanager
    def observing(self, changes: bool = True) -> Iterator[Run]:
        """Opens a transaction for the table `observations`, which no seal covers.

        Args:
            changes: Whether the transaction changes the table.
        """
        with self._store.writing() if changes else self._store.reading() as run:
            with self._decrypting():
                yield run

    def observer(self, run: Run, person: str | None) -> tuple[int | None, Any]:
        """Returns the number of a person and the key for observations of this person.

        Args:
            run: Function that executes a statement.
            person: Name of the person, or None for strangers.

        Returns:
            `(number, key)`. The number is None for strangers. The key is None if the person does
            not exist.
        """
        if person is None:
            return None, self._keys.of_strangers()
        number = _number_of(run, composed(person))
        keys = {} if number is None else self._keys.keys_of(run, {number: composed(person)})
        return number, keys.get(number)

    def cut_log(self, wait: bool = True) -> None:
        """Truncates the log of changes, see `Store.cut_log`.

        If this fails, `is_log_cut` is False until a later call succeeds.

        Args:
            wait: Whether to wait for other processes, and to raise `TimeoutError` if they prevent
                that the log is truncated.
        """
        self.is_log_cut = False
        try:
            self._store.cut_log(wait)
        except TimeoutError:
            if wait:
                raise
        else:
            self.is_log_cut = True

    @property
    def is_server(self) -> bool:
        """True if the gallery is on a server."""
        return self._store.is_server

    def people(self) -> dict[str, int]:
        """Returns `{person: number of enrolled recordings}`, sorted by name."""
        query = (
            "SELECT people.name, count(*) FILTER (WHERE templates.enrolled = 1) FROM people LEFT "
            "JOIN templates ON templates.person = people.id GROUP BY people.id ORDER BY people.name"
        )
        with self._store.reading() as run:
            return dict(run(query).fetchall())

    def add(
        self,
        person: str,
        embeddings: np.ndarray,
        enrolled: bool = True,
        sources: Sequence[Source | None] | None = None,
        observed: Sequence[int] = (),
    ) -> int:
        """Adds embeddings of a person.

        Args:
            person: Name of the person.
            embeddings: Embeddings, shape `(count, ...)`.
            enrolled: True to enroll the recordings, False to store them as imposter recordings.
            sources: `Source` of each recording, or None for a recording of today by an unknown
                device.
            observed: Numbers of observations that are deleted in the same transaction.

        Returns:
            Number of enrolled recordings of the person.
        """
        sources = [None] * len(embeddings) if sources is None else sources
        with self._writing() as run:
            number, key = self._add_person(run, composed(person))
            rows = [
                (enrolled, _as_bytes(embedding), source)
                for embedding, source in zip(embeddings, sources, strict=True)
            ]
            self._insert(run, number, key, rows)
            self._seals.renew(run, number)
            for row in observed:
                run("DELETE FROM observations WHERE id = ?", (row,))
            count = "SELECT count(*) FROM templates WHERE person = ? AND enrolled = 1"
            (total,) = run(count, (number,)).fetchone()
        if observed:
            self.cut_log()
        return total

    def add_all(
        self,
        people: Sequence[str],
        enrolled: Iterable[bool],
        embeddings: np.ndarray,
        sources: Sequence[Source | None] | None = None,
    ) -> dict[str, int]:
        """Adds templates that this gallery does not contain yet.

        Args:
            people: Name of the person of each template.
            enrolled: True for enrolled templates, False for templates that `reject` stored.
            embeddings: Embeddings, shape `(count, ...)`.
            sources: `Source` of each template, see `add`.

        Returns:
            `{person: number of added templates}`.
        """
        rows_by_person, added = {}, {}
        sources = [None] * len(people) if sources is None else sources
        for person, is_enrolled, embedding, source in zip(
            people, enrolled, embeddings, sources, strict=True
        ):
            rows = rows_by_person.setdefault(composed(person), {})
            rows[bool(is_enrolled), _as_bytes(embedding)] = source
        query = "SELECT enrolled, embedding FROM templates WHERE person = ?"
        with self._writing() as run:
            for person, rows in rows_by_person.items():
                number, key = self._add_person(run, person)
                stored = run(query, (number,)).fetchall()
                with self._decrypting():
                    present = {
                        (bool(is_enrolled), key.decrypt(ciphertext, is_enrolled))
                        for is_enrolled, ciphertext in stored
                    }
                if new := [(*row, rows[row]) for row in rows if row not in present]:
                    self._insert(run, number, key, new)
                    self._seals.renew(run, number)
                    added[person] = len(new)
        return added

    def _add_person(self, run, name):
        """Returns the number and the key of a person. Adds the person if the name is new.

        The numbers of people are random. With consecutive numbers, a server could give the same
        number to another person after a crash. The crash may undo an enrollment, but leave the
        enrolled person's key in the file of keys. The key would then belong to the wrong person.
        """
        new = "INSERT INTO people (id, name) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
        run(new, (_new_number(), name))
        (number,) = run("SELECT id FROM people WHERE name = ?", (name,)).fetchone()
        with self._decrypting():
            keys = self._keys.keys_of(run, {number: name})
        if run("SELECT person FROM seals WHERE person = ?", (number,)).fetchone() is not None:
            self._seals.check_people(run, {number: name})
        if not keys:  # a new person, or a removal that was interrupted after the key was destroyed
            run("DELETE FROM templates WHERE person = ?", (number,))
            keys = {number: self._keys.new(run, number, name)}
        return number, keys[number]

    def _insert(self, run, number, key, rows):
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        insert = (
            "INSERT INTO templates (person, enrolled, embedding, created) VALUES (?, ?, ?, ?)"
            " RETURNING id"
        )
        for enrolled, embedding, source in rows:
            values = (number, int(enrolled), key.encrypt(embedding, enrolled), created)
            (template,) = run(insert, values).fetchone()
            if source is not None:
                values = (template, source.day, source.device, int(source.proposed))
                run("INSERT INTO sources VALUES (?, ?, ?, ?)", values)
            if enrolled:
                vector = np.frombuffer(embedding, NUMBERS)
                self._store.add_to_index(run, template, number, vector)

    def remove(self, person: str) -> bool:
        """Removes a person and all records of the person. Returns True if the person existed."""
        with self._writing() as run:
            number = _number_of(run, composed(person))
            if number is not None:
                self._erase(run, number)
        self.cut_log()
        return number is not None

    def forget(self, person: str, recordings: Sequence[str], enrolled: bool = True) -> list[str]:
        """Removes recordings of a person. If no enrolled recording remains, the person is also
        removed.

        Args:
            person: Name of the person.
            recordings: Ids of the recordings.
            enrolled: True for enrolled recordings, False for recordings that `reject` stored.

        Returns:
            The unknown ids, which match no recording of the person. If an id is unknown, nothing is
            removed.
        """
        query = "SELECT id, embedding FROM templates WHERE person = ? AND enrolled = ?"
        with self._writing() as run:
            number = _number_of(run, composed(person))
            if number is not None:
                self._seals.check_people(run, {number: composed(person)})
            with self._decrypting():
                people = {} if number is None else {number: composed(person)}
                key = self._keys.keys_of(run, people).get(number) if people else None
                stored = run(query, (number, int(enrolled))).fetchall() if key else []
                ids = {
                    template: recording_id(key.decrypt(ciphertext, enrolled))
                    for template, ciphertext in stored
                }
            if missing := [name for name in recordings if name not in ids.values()]:
                return missing
            removed = [template for template, name in ids.items() if name in recordings]
            for template in removed:
                run("DELETE FROM templates WHERE id = ?", (template,))
            if enrolled and len(removed) == len(stored):
                self._erase(run, number)
            else:
                self._seals.renew(run, number)
        self.cut_log()
        return []

    def _erase(self, run, number):
        self._keys.destroy(run, number)
        run("DELETE FROM people WHERE id = ?", (number,))
        self._seals.renew(run, number)

    def rename(self, person: str, name: str) -> bool:
        """Gives a person another name.

        The person also gets a new number. Until the transaction has ended, the file of keys
        contains the person's key under the old number and under the new number. If the process is
        killed, the gallery can therefore still be opened.

        Args:
            person: Name of the person.
            name: New name.

        Returns:
            True if the person existed.

        Raises:
            ValueError: If another person has the new name.
        """
        person, name = composed(person), composed(name)
        with self._writing() as run:
            number = _number_of(run, person)
            if number is None:
                return False
            self._seals.check_people(run, {number: person})
            if _number_of(run, name) is not None:
                raise ValueError(
                    f"{self.path} already has a person named {name!r}, so {person!r} was not "
                    "renamed. Give a name that nobody has."
                )
            renamed = _new_number()
            run("INSERT INTO people (id, name) VALUES (?, ?)", (renamed, name))
            with self._decrypting():
                self._keys.copy(run, (number, person), (renamed, name))
            for table in ("templates", "tries", "observations"):
                run(f"UPDATE {table} SET person = ? WHERE person = ?", (renamed, number))
            self._store.renumber_in_index(run, number, renamed)
            run("DELETE FROM people WHERE id = ?", (number,))
            for each in (number, renamed):
                self._seals.renew(run, each)
            if self._keys_file is None:
                self._keys.destroy(run, number)
        if self._keys_file is not None:
            self._keys.destroy(None, number)
        self.cut_log()
        return True

    def stored(self, person: str, enrolled: bool = True) -> tuple[StoredRecording, ...] | None:
        """Lists recordings of a person in the order in which they were stored.

        Args:
            person: Name of the person.
            enrolled: True for enrolled recordings, False for recordings that `reject` stored.

        Returns:
            A `StoredRecording` for each recording, or None if the person does not exist.
        """
        query = (
            "SELECT created, embedding, day, device, proposed FROM templates LEFT JOIN sources ON "
            "sources.template = templates.id WHERE person = ? AND enrolled = ? ORDER BY id"
        )
        with self._store.reading() as run:
            number = _number_of(run, composed(person))
            if number is None:
                return None
            rows = run(query, (number, int(enrolled))).fetchall()
            with self._decrypting():
                key = self._keys.keys_of(run, {number: composed(person)}).get(number)
                rows = [] if key is None else rows
                ids = [recording_id(key.decrypt(row[1], enrolled)) for row in rows]
        return tuple(
            StoredRecording(name, created, _source(created, *source))
            for name, (created, _, *source) in zip(ids, rows, strict=True)
        )

    def sources(self) -> dict[str, list[Source]]:
        """Returns the `Source` of each enrolled recording, `{person: sources}`, without reading
        embeddings. The recordings are in the order in which they were stored."""
        query = (
            "SELECT people.name, created, day, device, proposed FROM templates JOIN people ON "
            "people.id = templates.person LEFT JOIN sources ON sources.template = templates.id "
            "WHERE enrolled = 1 ORDER BY people.name, templates.id"
        )
        sources = {}
        with self._store.reading() as run:
            for name, *values in run(query).fetchall():
                sources.setdefault(name, []).append(_source(*values))
        return sources

    def dates(self, person: str) -> set[str]:
        """Returns the dates (UTC) of a person's enrolled and proposed recordings.

        The date of an enrolled recording is its label, if the label is an ISO 8601 date or time,
        and otherwise the date of its enrollment. The dates of proposals are the dates on which
        they were kept.

        Args:
            person: Name of the person.
        """
        enrolled = (
            "SELECT created, day FROM templates LEFT JOIN sources ON sources.template = "
            "templates.id WHERE person = ? AND enrolled = 1"
        )
        with self._store.reading() as run:
            number = _number_of(run, composed(person))
            rows = run(enrolled, (number,)).fetchall()
            query = "SELECT created FROM observations WHERE person = ?"
            proposed = {created[:10] for (created,) in run(query, (number,)).fetchall()}
        return proposed | {_date(created, day) for created, day in rows}

    def has(self, person: str) -> bool:
        """Returns whether at least one recording of a person is enrolled."""
        query = (
            "SELECT templates.id FROM templates JOIN people ON people.id = templates.person "
            "WHERE people.name = ? AND templates.enrolled = 1 LIMIT 1"
        )
        with self._store.reading() as run:
            return run(query, (composed(person),)).fetchone() is not None

    def counts(self) -> tuple[int, int, str | None]:
        """Counts the recordings of all people.

        Returns:
            `(enrolled, marked, first)`: the number of enrolled recordings, the number of recordings
            that `reject` stored, and the time when the first recording was stored, or None.
        """
        query = (
            "SELECT count(*) FILTER (WHERE enrolled = 1), count(*) FILTER (WHERE enrolled = 0), "
            "min(created) FROM templates"
        )
        with self._store.reading() as run:
            return run(query).fetchone()

    def templates(
        self, people: Iterable[str] | None = None
    ) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Returns the templates of people.

        Args:
            people: Names of the people. Unknown names are ignored. Default: all people.

        Returns:
            `(names, enrolled, embeddings)`. `names` contains the name of the person of each
            template, in sorted order. `enrolled` is True for enrolled templates. `embeddings`
            contains the templates as float32 vectors, shape `(count, numbers)`. Templates of people
            whose key was destroyed are left out.
        """
        condition, values = "TRUE", ()
        if people is not None:
            condition, *values = self._store.among("people.name", map(composed, people))
        query = (
            "SELECT people.id, people.name, templates.id, enrolled, created, embedding, day, "
            "device, proposed, seal FROM templates JOIN people ON people.id = templates.person "
            "LEFT JOIN sources ON sources.template = templates.id LEFT JOIN seals ON seals.person "
            f"= people.id WHERE {condition} ORDER BY people.name, templates.id"
        )
        with self._store.reading() as run:
            stored = run(query, values).fetchall()
            with self._decrypting():
                keys = self._keys.keys_of(run, {number: name for number, name, *_ in stored})
                rows = [
                    (name, is_enrolled, keys[number].decrypt(ciphertext, is_enrolled))
                    for number, name, _, is_enrolled, _, ciphertext, *_ in stored
                    if number in keys
                ]
            self._check_rows(run)
            with self._unchanged():
                self._seals.check_templates(*_by_person(stored))
        if len({len(data) for _, _, data in rows}) > 1:
            raise ValueError(
                f"{self.path} is damaged, because it holds embeddings of several sizes. Restore a "
                "backup."
            )
        names, enrolled, embeddings = zip(*rows, strict=True) if rows else ((), (), ())
        numbers = len(embeddings[0]) // NUMBERS.itemsize if embeddings else 0
        flat = np.frombuffer(b"".join(embeddings), NUMBERS).reshape(len(embeddings), numbers)
        return list(names), np.array(enrolled, bool), flat

    def candidates(self, embeddings: np.ndarray) -> tuple[list[str], int] | None:
        """Finds the people whose templates are near to embeddings, see `Store.candidates`."""
        return self._store.candidates(embeddings)

    def changes(self) -> tuple[Any, ...] | None:
        """Returns a value that changes whenever this process or another process changes the
        gallery."""
        with self._store.reading() as run:
            self._check_rows(run)
            return run("SELECT number, seal FROM state").fetchone()

    def thresholds(self) -> dict[float, Threshold]:
        """Returns the calibrated thresholds, `{false accept rate: Threshold}`."""
        return self._limits("thresholds", _threshold)

    def set_threshold(self, threshold: Threshold) -> None:
        """Stores a threshold and replaces the earlier threshold for its false accept rate."""
        self._set_limit("thresholds", threshold)

    def remove_threshold(self, far: float) -> None:
        """Removes the threshold for a false accept rate, if it exists."""
        with self._writing() as run:
            run("DELETE FROM thresholds WHERE far = ?", (far,))

    def boundaries(self) -> dict[float, Boundary]:
        """Returns the decision thresholds of `listen`, `{false match rate: Boundary}`."""
        return self._limits("boundaries", lambda values: Boundary(**values))

    def set_boundary(self, boundary: Boundary) -> None:
        """Stores a `Boundary` and replaces the earlier `Boundary` for its false match rate."""
        self._set_limit("boundaries", boundary)

    def _limits(self, table, parse):
        with self._store.reading() as run:
            rows = run(f"SELECT far, found FROM {table} ORDER BY far").fetchall()
            self._check_rows(run)
        limits = {}
        for far, text in rows:
            try:
                limits[far] = parse(json.loads(text))
            except (KeyError, RecursionError, TypeError, ValueError):
                raise ValueError(
                    f"{self.path} holds invalid {table} for FAR {100 * far:g} %. The gallery is "
                    "damaged, or somebody has changed it. Calibrate again for this rate."
                ) from None
        return limits

    def _set_limit(self, table, limit):
        with self._writing() as run:
            run(
                f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT (far) DO UPDATE SET found = "
                "excluded.found",
                (limit.far, json.dumps(dataclasses.asdict(limit))),
            )

    def purge(self) -> tuple[str, ...]:
        """Destroys expired observations, and rewrites all tables so that no deleted rows remain in
        them, see `Store.purge`."""
        drop_expired(self)
        return self._store.purge()


def _about(run: Run) -> dict[str, Any]:
    """Returns the rows of the table `about`, `{name: value}`. Empty for a new gallery.

    Raises:
        ValueError: If the table is damaged.
    """
    facts = {}
    for name, text in run("SELECT name, value FROM about"):
        try:
            facts[name] = json.loads(text)
        except (RecursionError, TypeError, ValueError):
            raise _damaged_about(name) from None
    for name in ("model", "fingerprint") if facts else ():
        if not isinstance(facts.get(name), str):
            raise _damaged_about(name)
    return facts


def _damaged_about(name):
    return ValueError(
        f"The gallery has no valid value in the row {name[:40]!r} of its table `about`. The "
        "gallery is damaged, or somebody has changed it. Restore a backup by `keras-dml restore`."
    )


def _by_person(stored):
    """Returns three dictionaries, which map the number of each person to the name, the template
    rows and the seal."""
    names, rows, seals = {}, {}, {}
    for number, name, *row, seal in stored:
        names[number], seals[number] = name, seal
        rows.setdefault(number, []).append(row)
    return names, rows, seals


def _number_of(run, name):
    """Returns the number of the person with this name, or None. The name must be an output of
    `composed`."""
    row = run("SELECT id FROM people WHERE name = ?", (name,)).fetchone()
    return row and row[0]


def _new_number():
    return 1 + secrets.randbits(NUMBER_BITS)


def _source(created, day, device, proposed):
    """Returns the `Source` of a template from its row of `sources`, whose values may be None."""
    return Source(created[:10]) if day is None else Source(day, device, bool(proposed))


def _date(created, day):
    """Returns the date (UTC) of a recording from its time of enrollment and its label or None."""
    try:
        time = datetime.datetime.fromisoformat(day or "")
    except ValueError:  # such as "morning"
        return created[:10]
    time = time if time.tzinfo is None else time.astimezone(datetime.UTC)
    return time.date().isoformat()


def _as_bytes(embedding):
    return np.ascontiguousarray(embedding, NUMBERS).tobytes()


def _threshold(values):
    intervals = {name: tuple(values[name]) for name in ("far_ci95", "tar_ci95")}
    return Threshold(**values | intervals | {"value": float(values["value"])})
