"""Seals the rows of a gallery to detect changes by other programs.

If the gallery has a key, HKDF derives a seal key from the key of the gallery. Each seal is then an
HMAC-SHA256 with the seal key. The gallery then detects if somebody without the key changes,
deletes, duplicates or swaps rows. If the gallery has no key, a seal is a checksum that only detects
damage.

The seal of a person covers the person's number, name and templates (stored embeddings). Another
seal, in the table `state`, covers the model, the thresholds, the number of changes and the sum of
the seals of all people. The sum represents the set of people (MSet-Add-Hash of Clarke2003). If one
person changes, the sum can be updated without reading the rows of other people.

Seals cover neither the vectors in the index of a server nor the counts of rejected claims. Seals do
not cover the keys of people either, because AES-GCM authenticates these keys.

An older copy of a whole gallery has valid seals. To detect an older copy (rollback), a `Counter`
also stores the number of changes outside the gallery.
"""

import hmac
import json
import pathlib
from typing import TYPE_CHECKING, Any

from keras_dml._typing import Path

if TYPE_CHECKING:
    from keras_dml.gallery.sqlite import SQLiteFile
    from keras_dml.gallery.store import Run

BITS = 256  # size of a seal
PUBLIC = b"keras-dml"  # public key of seals in a gallery without a key, where seals are checksums
SOURCES = "LEFT JOIN sources ON sources.template = templates.id"
COLUMNS = "id, enrolled, created, embedding, day, device, proposed"  # columns that a seal covers
ALL_TEMPLATES = f"SELECT person, {COLUMNS} FROM templates {SOURCES} ORDER BY id"
TEMPLATES = f"SELECT {COLUMNS} FROM templates {SOURCES} WHERE person = ? ORDER BY id"
COUNTERS_SUFFIX = ".counters"  # suffix of the file of counters next to a key file


class SealError(ValueError):
    """Error for rows of a gallery that another program has changed."""


class Seals:
    """Computes, stores and checks the seals of a gallery. Call each method in a transaction.

    Args:
        key: Key for the seals, 32 bytes. None if the gallery has no key.
        gallery: Text that identifies the gallery. None if the gallery has no key.
    """

    def __init__(self, key: bytes | None = None, gallery: str | None = None):
        self._key, self._gallery = key, gallery

    @property
    def has_key(self) -> bool:
        """True if the gallery has a key, so that only owners of the key can make seals."""
        return self._key is not None

    def begin(self, run: "Run") -> None:
        """Seals all rows in their current state, and replaces all earlier seals."""
        run("DELETE FROM seals")
        run("DELETE FROM state")
        for person, name in run("SELECT id, name FROM people").fetchall():
            run("INSERT INTO seals VALUES (?, ?)", (person, self._seal_rows(run, person, name)))
        total = _sum(seal for (seal,) in run("SELECT seal FROM seals").fetchall())
        run("INSERT INTO state VALUES (0, ?, ?)", (_bytes(total), b""))
        self.sign(run)

    def renew(self, run: "Run", person: int) -> None:
        """Seals the rows of a person again after they were changed or removed.

        Args:
            run: Function that executes a statement.
            person: Number of the person.
        """
        if _state(run) is None:
            run("INSERT INTO state VALUES (0, ?, ?)", (_bytes(0), b""))
        total = int.from_bytes(_state(run)[1], "big")
        earlier = run("SELECT seal FROM seals WHERE person = ?", (person,)).fetchone()
        if earlier is not None:
            total -= int.from_bytes(earlier[0], "big")
            run("DELETE FROM seals WHERE person = ?", (person,))
        row = run("SELECT name FROM people WHERE id = ?", (person,)).fetchone()
        if row is not None:
            seal = self._seal_rows(run, person, row[0])
            total += int.from_bytes(seal, "big")
            run("INSERT INTO seals VALUES (?, ?)", (person, seal))
        run("UPDATE state SET people = ?", (_bytes(total),))

    def sign(self, run: "Run") -> int:
        """Increases the number of changes by 1, and seals the new state of the gallery.

        Returns:
            The number of changes.
        """
        if _state(run) is None:
            run("INSERT INTO state VALUES (0, ?, ?)", (_bytes(0), b""))
        number, people, _ = _state(run)
        run(
            "UPDATE state SET number = ?, seal = ?",
            (number + 1, self._seal_state(run, number + 1, people)),
        )
        return number + 1

    def check_state(self, run: "Run") -> int:
        """Checks the model, all thresholds and the number of changes.

        Returns:
            The number of changes, 0 for a new gallery.

        Raises:
            SealError: If another program has changed the model, a threshold or the number of
                changes.
        """
        state = _state(run)
        if state is None:
            if self.has_key and _about(run):
                raise SealError("the seal of the gallery is missing")
            return 0
        number, people, seal = state
        if not hmac.compare_digest(seal, self._seal_state(run, number, people)):
            raise SealError(
                "the seal of the gallery does not match the stored model, limits and number of "
                "changes"
            )
        return number

    def check_set(self, run: "Run") -> None:
        """Checks, without reading templates, that no other program has deleted, added or restored a
        person.

        Raises:
            SealError: If another program has changed the set of people.
        """
        state = _state(run)
        seals = dict(run("SELECT person, seal FROM seals").fetchall())
        people = {number for (number,) in run("SELECT id FROM people").fetchall()}
        total = _bytes(0) if state is None else state[1]
        if people != seals.keys() or total != _bytes(_sum(seals.values())):
            raise SealError("a person of the gallery was deleted, added or restored")

    def check_everybody(self, run: "Run") -> None:
        """Checks the numbers, names and templates of all people, see `check_people`."""
        people = dict(run("SELECT id, name FROM people").fetchall())
        rows = {person: [] for person in people}
        for person, *row in run(ALL_TEMPLATES):
            rows.setdefault(person, []).append(row)
        self.check_templates(people, rows, dict(run("SELECT person, seal FROM seals").fetchall()))

    def check_people(self, run: "Run", people: dict[int, str]) -> None:
        """Checks the numbers, names and templates of people.

        Args:
            run: Function that executes a statement.
            people: Name of each person, `{number: name}`.

        Raises:
            SealError: If another program has changed a number, a name or a template.
        """
        for person, name in people.items():
            row = run("SELECT seal FROM seals WHERE person = ?", (person,)).fetchone()
            rows = run(TEMPLATES, (person,)).fetchall()
            self.check_templates({person: name}, {person: rows}, {person: row and row[0]})

    def check_templates(
        self, people: dict[int, str], rows: dict[int, list[Any]], seals: dict[int, bytes | None]
    ) -> None:
        """Checks the numbers, names and templates of people whose rows were already read.

        Args:
            people: Name of each person, `{number: name}`.
            rows: Templates of each person, `{number: rows}`. A row contains `COLUMNS`, and the rows
                are sorted by id. The last three values are None if the day and the device of the
                recording are unknown.
            seals: Seal of each person, `{number: seal}`. The seal is None if the person has no
                seal.

        Raises:
            SealError: If another program has changed a number, a name or a template.
        """
        for person, name in people.items():
            seal = self._seal(person, name, rows[person])
            if seals[person] is None or not hmac.compare_digest(seals[person], seal):
                raise SealError(f"the recordings of {name!r} do not match the seal of this person")

    def _seal_rows(self, run, person, name):
        return self._seal(person, name, run(TEMPLATES, (person,)).fetchall())

    def _seal(self, person, name, rows):
        mac = self._mac("person", person, name)
        for number, enrolled, created, embedding, *source in rows:
            # seals of galleries without sources are those of earlier releases
            source = [] if source == [None] * len(source) else source
            mac.update(_encoded(number, bool(enrolled), created, len(embedding), *source))
            mac.update(embedding)
        return mac.digest()

    def _seal_state(self, run, number, people):
        """Returns the seal that covers the state of a gallery.

        In a gallery without a key, the seal does not cover the model and the thresholds. A checksum
        would not protect the model and the thresholds, because everybody can compute a checksum. In
        addition, a check of the model and the thresholds would fail after the owner corrected a
        stored text by hand.
        """
        texts = []
        if self.has_key:
            texts.append(sorted(_about(run).items()))
            for table in ("thresholds", "boundaries"):
                texts.append(run(f"SELECT far, found FROM {table} ORDER BY far").fetchall())
        return self._mac("state", number, bytes(people).hex(), texts).digest()

    def _mac(self, *values):
        mac = hmac.new(PUBLIC if self._key is None else self._key, digestmod="sha256")
        mac.update(_encoded(self._gallery, *values))
        return mac


def _about(run):
    return dict(run("SELECT name, value FROM about").fetchall())


def _encoded(*values):
    return json.dumps(values).encode() + b"\n"


def _state(run):
    rows = run("SELECT number, people, seal FROM state").fetchall()
    if len(rows) > 1:
        raise SealError("the number of changes of the gallery is stored twice")
    return rows[0] if rows else None


def _sum(seals):
    return sum(int.from_bytes(seal, "big") for seal in seals)


def _bytes(total):
    return (total % 2**BITS).to_bytes(BITS // 8, "big")


class Counter:
    """Counter that is stored outside a gallery to detect whether an older copy replaced the gallery
    (rollback).

    The counter stores the largest number of changes that the gallery has had. For a gallery on a
    server, the counter is in the file with the people's keys. For a gallery in a file, the counter
    is in a file next to the key file. If the key comes from the environment, from a keyring or from
    bytes, no counter exists, and an older copy is not detected.

    Args:
        database: File with the table `counters`. If None, nothing is stored.
        gallery: Text that identifies the gallery.
    """

    def __init__(self, database: "SQLiteFile | None" = None, gallery: str | None = None):
        self._database, self._gallery = database, gallery

    def seen(self) -> int:
        """Returns the largest number of changes that was stored, or 0."""
        if self._database is None:
            return 0
        with self._database.reading() as run:
            query = "SELECT number FROM counters WHERE gallery = ?"
            row = run(query, (self._gallery,)).fetchone()
        return 0 if row is None else row[0]

    def keep(self, number: int) -> None:
        """Stores a number of changes, unless a larger number is already stored."""
        if self._database is None or number <= self.seen():
            return
        with self._database.writing() as run:
            run(
                "INSERT INTO counters VALUES (?, ?) ON CONFLICT (gallery) DO UPDATE SET number = "
                "max(number, excluded.number)",
                (self._gallery, number),
            )


def counters_path(key_file: Path) -> pathlib.Path:
    """Returns the path of the counters file, which is next to a key file."""
    return pathlib.Path(f"{key_file}{COUNTERS_SUFFIX}")
