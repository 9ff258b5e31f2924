"""Seals of the rows of a gallery: rows that something else has changed are noticed.

With a key, a seal is an HMAC-SHA256 under a key that HKDF derives from the gallery's key, so that
nobody without the key can change, drop, double or swap rows. Without a key it is a checksum, which
notices damage. Each person has a seal over their number, name and templates. One more seal, of the
table `state`, covers the model, the thresholds, the boundaries, the number of changes and the sum
of the seals of all people. The sum stands for the set of people (MSet-Add-Hash of Clarke2003), so
that a change of one person reads nothing of the others.

Not sealed: the vectors of a server's index, the keys of people, which AES-GCM authenticates, and
the counts of tries. A whole older copy of a gallery has valid seals, see `_rollback`.
"""

import hmac
import json

BITS = 256  # of a seal
TABLES = (
    "CREATE TABLE seals (person INTEGER PRIMARY KEY, seal BLOB NOT NULL) STRICT",
    "CREATE TABLE state (number INTEGER NOT NULL, people BLOB NOT NULL, seal BLOB NOT NULL) STRICT",
)
PUBLIC = b"keras-dml"  # in the place of a key: seals are checksums
EVERYBODY = "SELECT person, id, enrolled, created, embedding FROM templates ORDER BY id"
ROWS = "SELECT id, enrolled, created, embedding FROM templates WHERE person = ? ORDER BY id"


class SealError(ValueError):
    """Rows are not as they were written."""


class Seals:
    """Writes and checks the seals of a gallery. Each method runs within a transaction.

    Args:
        key: The key of the seals, 32 bytes; None: a gallery without a key.
        gallery: What tells the gallery from any other, a string; None without a key.
    """

    def __init__(self, key=None, gallery=None):
        self._key, self._gallery = key, gallery

    @property
    def has_key(self):
        """True if a seal cannot be made without the key."""
        return self._key is not None

    def begin(self, run):
        """Seals all rows as they are, whatever the seals were."""
        run("DELETE FROM seals")
        run("DELETE FROM state")
        for person, name in run("SELECT id, name FROM people").fetchall():
            run("INSERT INTO seals VALUES (?, ?)", (person, self._seal_of(run, person, name)))
        total = _sum(seal for (seal,) in run("SELECT seal FROM seals").fetchall())
        run("INSERT INTO state VALUES (0, ?, ?)", (_bytes(total), b""))
        self.sign(run)

    def renew(self, run, person):
        """Seals the rows of a person again after a change of them, or of their removal.

        Args:
            run: Function of a statement.
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
            seal = self._seal_of(run, person, row[0])
            total += int.from_bytes(seal, "big")
            run("INSERT INTO seals VALUES (?, ?)", (person, seal))
        run("UPDATE state SET people = ?", (_bytes(total),))

    def sign(self, run):
        """Counts a change and seals the state of the gallery after it.

        Returns:
            The number of changes.
        """
        if _state(run) is None:
            run("INSERT INTO state VALUES (0, ?, ?)", (_bytes(0), b""))
        number, people, _ = _state(run)
        run(
            "UPDATE state SET number = ?, seal = ?",
            (number + 1, self._signed(run, number + 1, people)),
        )
        return number + 1

    def check_state(self, run):
        """Checks the model, thresholds, boundaries and the number of changes.

        Returns:
            The number of changes, 0 if nothing was ever written.

        Raises:
            SealError: If something else has changed them.
        """
        state = _state(run)
        if state is None:
            if self.has_key and _about(run):
                raise SealError("its seal is gone")
            return 0
        number, people, seal = state
        if not hmac.compare_digest(seal, self._signed(run, number, people)):
            raise SealError("its model, a threshold, a boundary or its number of changes")
        return number

    def check_set(self, run):
        """Checks that nobody was dropped, added or put back; reads no template.

        Raises:
            SealError: If something else has changed the people.
        """
        state = _state(run)
        seals = dict(run("SELECT person, seal FROM seals").fetchall())
        people = {number for (number,) in run("SELECT id FROM people").fetchall()}
        total = _bytes(0) if state is None else state[1]
        if people != seals.keys() or total != _bytes(_sum(seals.values())):
            raise SealError("a person was dropped, added or put back")

    def check_everybody(self, run):
        """Checks the number, name and templates of all people, see `check_people`."""
        people = dict(run("SELECT id, name FROM people").fetchall())
        rows = {person: [] for person in people}
        for person, *row in run(EVERYBODY):
            rows.setdefault(person, []).append(row)
        self.check_templates(people, rows, dict(run("SELECT person, seal FROM seals").fetchall()))

    def check_people(self, run, people):
        """Checks the number, name and templates of people.

        Args:
            run: Function of a statement.
            people: Names by number, `{number: name}`.

        Raises:
            SealError: If something else has changed them.
        """
        for person, name in people.items():
            row = run("SELECT seal FROM seals WHERE person = ?", (person,)).fetchone()
            rows = run(ROWS, (person,)).fetchall()
            self.check_templates({person: name}, {person: rows}, {person: row and row[0]})

    def check_templates(self, people, rows, seals):
        """Checks the templates of people as `check_people`, after they were read.

        Args:
            people: Names by number, `{number: name}`.
            rows: `(id, enrolled, created, embedding)` of each person's templates in the order of
                their ids, by number.
            seals: Seal of each person, by number; None for a person without a seal.
        """
        for person, name in people.items():
            seal = self._seal(person, name, rows[person])
            if seals[person] is None or not hmac.compare_digest(seals[person], seal):
                raise SealError(f"the recordings of {name!r}")

    def _seal_of(self, run, person, name):
        return self._seal(person, name, run(ROWS, (person,)).fetchall())

    def _seal(self, person, name, rows):
        mac = self._mac("person", person, name)
        for number, enrolled, created, embedding in rows:
            mac.update(_said(number, bool(enrolled), created, len(embedding)))
            mac.update(embedding)
        return mac.digest()

    def _signed(self, run, number, people):
        """Seal of the state of a gallery. Without a key nobody is kept from changing what is read
        as text, and a checksum of it would refuse what is repaired by hand."""
        texts = []
        if self.has_key:
            texts.append(sorted(_about(run).items()))
            for table in ("thresholds", "boundaries"):
                texts.append(run(f"SELECT far, found FROM {table} ORDER BY far").fetchall())
        return self._mac("state", number, bytes(people).hex(), texts).digest()

    def _mac(self, *said):
        mac = hmac.new(PUBLIC if self._key is None else self._key, digestmod="sha256")
        mac.update(_said(self._gallery, *said))
        return mac


def _about(run):
    return dict(run("SELECT name, value FROM about").fetchall())


def _said(*values):
    return json.dumps(values).encode() + b"\n"


def _state(run):
    rows = run("SELECT number, people, seal FROM state").fetchall()
    if len(rows) > 1:
        raise SealError("its number of changes")
    return rows[0] if rows else None


def _sum(seals):
    return sum(int.from_bytes(seal, "big") for seal in seals)


def _bytes(total):
    return (total % 2**BITS).to_bytes(BITS // 8, "big")
