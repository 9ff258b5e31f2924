"""Limits how often somebody may claim to be a person.

Somebody who sees the score of each claim can change a rejected recording until it is accepted
(hill climbing): an evolution strategy needs about 200 answers. Answers without scores and growing
pauses after rejected claims make this slow. The counts are kept in the database of the gallery, so
that other processes share them and a restart does not clear them.

Identifications count apart from claims, for the nearest person, and their pauses stay short:
strangers who pass a door claim nothing, and must not lock out the people whom they resemble.
"""

from __future__ import annotations

import dataclasses
import time

from keras_dml._arrays import positive, whole
from keras_dml.gallery._names import composed, name_or_none

LONGEST_CLIENT = 200  # characters
# Rejected claims are forgotten after this many of the longest pauses. Somebody who waits for that
# gets fewer answers than somebody who claims again after each pause.
FORGOTTEN_AFTER = 24
MOST_DOUBLINGS = 60  # 2.0 ** 60 seconds are longer than any pause


class TooManyTries(RuntimeError):
    """A claim during the pause after rejected claims.

    Attributes:
        seconds: Time until the next claim is answered.
    """

    def __init__(self, seconds):
        super().__init__(
            f"Too many claims were rejected. Wait {seconds:.3g} seconds before the next one."
        )
        self.seconds = seconds


@dataclasses.dataclass(frozen=True)
class Tries:
    """Limit of rejected claims, and the pauses after them.

    Attributes:
        free: Rejected claims of a person and a client that are followed by no pause.
        pause: Seconds of the pause after the next rejected claim. Each later one doubles it.
        longest: Seconds of the longest pause. Rejected claims are forgotten after 24 times as long.
        longest_identified: Seconds of the longest pause between identifications of strangers who
            are nearest to the same person.
    """

    free: int = 5
    pause: float = 1.0
    longest: float = 3600.0
    longest_identified: float = 60.0

    def __post_init__(self):
        whole("free", self.free, minimum=0)
        for name in ("pause", "longest", "longest_identified"):
            positive(name, getattr(self, name))

    def seconds_after(self, failures, identified=False):
        """Returns the length of the pause after a number of rejected claims, in seconds.

        Args:
            failures: Number of rejected claims.
            identified: Whether they are identifications.
        """
        if failures <= self.free:
            return 0.0
        doublings = min(failures - self.free - 1, MOST_DOUBLINGS)
        longest = self.longest_identified if identified else self.longest
        return min(longest, self.pause * 2.0**doublings)

    def left(self, failures, last, now, identified=False):
        """Returns the seconds that are left of a pause.

        Args:
            failures: Number of rejected claims.
            last: Time of the last one, in seconds.
            now: The time. If the clock was set back, the whole pause is left.
            identified: As in `seconds_after`.
        """
        pause = self.seconds_after(failures, identified)
        return min(pause, max(0.0, last + pause - now))


DEFAULT = Tries()


class Claims:
    """Counts rejected claims in the database of a gallery.

    Args:
        database: `SQLiteFile` or `PostgresDatabase`.
        tries: `Tries`; None: nothing is counted and no claim is refused.
    """

    def __init__(self, database, tries):
        self._database, self._tries = database, tries

    def check(self, person, client):
        """Raises `TooManyTries` during a pause of a person and a client.

        Args:
            person: The person claimed.
            client: Name of the client, see `checked_client`.
        """
        name = name_or_none(person)
        if self._tries is None or name is None:
            return
        condition, *values = self._database.among("people.name", [name])
        query = (
            "SELECT failures, failed FROM tries JOIN people ON people.id = tries.person "
            f"WHERE {condition} AND client = ? AND identified = 0"
        )
        with self._database.reading() as run:
            row = run(query, (*values, checked_client(client))).fetchone()
        if row is not None:
            self._refuse(*row, time.time())

    def begin(self, person, client, identified=False):
        """Counts a claim as rejected, until `accept` says otherwise.

        A claim is counted before it is decided, so that many claims at once are not answered
        without a pause.

        Args:
            person: Name of an enrolled person: the one claimed, or the nearest one.
            client: Name of the client.
            identified: Whether it is an identification.

        Raises:
            TooManyTries: During a pause. The claim is not counted then.
        """
        if self._tries is None:
            return
        now = time.time()
        # An update that changes nothing locks the row on a server.
        lock = (
            "INSERT INTO tries (person, client, identified, failures, failed) "
            "SELECT id, ?, ?, 0, ? FROM people WHERE name = ? "
            "ON CONFLICT (person, client, identified) DO UPDATE SET failures = tries.failures "
            "RETURNING person, failures, failed"
        )
        update = (
            "UPDATE tries SET failures = ?, failed = ? "
            "WHERE person = ? AND client = ? AND identified = ?"
        )
        client, identified = checked_client(client), int(identified)
        with self._database.counting() as run:
            run("DELETE FROM tries WHERE failed < ?", (now - self._seconds_kept,))
            row = run(lock, (client, identified, now, composed(person))).fetchone()
            if row is None:  # the person was removed meanwhile
                return
            number, failures, failed = row
            self._refuse(failures, failed, now, identified)
            run(update, (failures + 1, now, number, client, identified))

    def accept(self, person, client, identified=False):
        """Forgets the rejected claims of a person and a client, or their identifications."""
        if self._tries is None:
            return
        with self._database.counting() as run:
            run(
                "DELETE FROM tries WHERE client = ? AND identified = ? AND person IN (SELECT id "
                "FROM people WHERE name = ?)",
                (checked_client(client), int(identified), composed(person)),
            )

    @property
    def _seconds_kept(self):
        return FORGOTTEN_AFTER * self._tries.longest

    def _refuse(self, failures, failed, now, identified=False):
        seconds = self._tries.left(failures, failed, now, identified)
        if seconds > 0 and now - failed < self._seconds_kept:
            raise TooManyTries(seconds)


def checked_client(client):
    """Returns the name of a client, after a check that it is valid.

    Raises:
        TypeError: If it is not a string.
        ValueError: If it is too long.
    """
    if not isinstance(client, str):
        raise TypeError(f"`client` must be a string. Received {type(client).__name__}.")
    if len(client) > LONGEST_CLIENT or "\0" in client:
        raise ValueError(
            f"`client` must have at most {LONGEST_CLIENT} characters and no zero byte. Received "
            f"{len(client)} characters."
        )
    return client
