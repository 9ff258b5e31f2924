"""Limits on rejected identity claims (rate limiting, lockout with exponential backoff).

An attacker who sees the score of each claim can change a rejected recording until it is accepted
(hill climbing). An evolution strategy needs about 200 answers. This is slow if the attacker sees no
scores and has to wait longer after each rejected claim. The counts are kept in the database of the
gallery, so other processes share them and a restart does not clear them.

Identifications are counted separately from claims, for the nearest person, and their pauses stay
short: strangers who pass a door claim nothing and must not lock out the people whom they resemble.
"""

from __future__ import annotations

import dataclasses
import time

from keras_dml._arrays import positive, whole
from keras_dml._messages import Message
from keras_dml.gallery.names import composed, name_or_none
from keras_dml.gallery.store import Store

LONGEST_CLIENT = 200  # characters
# Rejected claims are forgotten after this many of the longest pauses. An attacker who waits that
# long gets fewer answers than an attacker who claims again after each pause.
FORGOTTEN_AFTER = 24
MOST_DOUBLINGS = 60  # 2.0 ** 60 seconds are longer than any pause


class TooManyTries(RuntimeError):
    """A claim during the pause after rejected claims.

    Attributes:
        seconds: Time until the next claim is answered.
    """

    def __init__(self, seconds: float):
        super().__init__(
            f"Too many claims were rejected. Wait {seconds:.3g} seconds before the next one."
        )
        self.seconds = seconds

    def __reduce__(self):
        return type(self), (self.seconds,)


@dataclasses.dataclass(frozen=True)
class Tries:
    """Limit of rejected claims, and the pauses after them.

    Attributes:
        free: Number of rejected claims, for each person and client, without a pause after them.
        pause: Seconds of the pause after the next rejected claim. Each later rejection doubles it.
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

    def seconds_after(self, failures: int, identified: bool = False) -> float:
        """Returns the length of the pause after a number of rejected claims, in seconds.

        Args:
            failures: Number of rejected claims.
            identified: True for identifications, False for claims.
        """
        if failures <= self.free:
            return 0.0
        doublings = min(failures - self.free - 1, MOST_DOUBLINGS)
        longest = self.longest_identified if identified else self.longest
        return min(longest, self.pause * 2.0**doublings)

    def left(self, failures: int, last: float, now: float, identified: bool = False) -> float:
        """Returns the seconds that are left of a pause.

        Args:
            failures: Number of rejected claims.
            last: Time of the last rejected claim, in seconds.
            now: Current time, in seconds. If the clock was set back, the whole pause is left.
            identified: See `seconds_after`.
        """
        pause = self.seconds_after(failures, identified)
        return min(pause, max(0.0, last + pause - now))


DEFAULT = Tries()


class Claims:
    """Counts of rejected claims in the store of a gallery.

    Args:
        store: Store of the gallery.
        tries: Limit of rejected claims. None: nothing is counted and no claim is refused.
    """

    def __init__(self, store: Store, tries: Tries | None):
        self._store, self._tries = store, tries

    def check(self, person: str, client: str) -> None:
        """Raises `TooManyTries` during a pause of a person and a client.

        Args:
            person: The person claimed.
            client: Name of the client, see `checked_client`.
        """
        name = name_or_none(person)
        if self._tries is None or name is None:
            return
        condition, *values = self._store.among("people.name", [name])
        query = (
            "SELECT failures, failed FROM tries JOIN people ON people.id = tries.person "
            f"WHERE {condition} AND client = ? AND identified = 0"
        )
        with self._store.reading() as run:
            row = run(query, (*values, checked_client(client))).fetchone()
        if row is not None:
            self._refuse(*row, time.time())

    def begin(self, person: str, client: str, identified: bool = False) -> None:
        """Counts a claim as rejected until `accept` is called.

        A claim is counted before it is decided. Otherwise many claims at the same time would be
        answered without a pause.

        Args:
            person: Name of an enrolled person: the person claimed, or the nearest person.
            client: Name of the client.
            identified: True for an identification, False for a claim.

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
        client = checked_client(client)
        with self._store.counting() as run:
            run("DELETE FROM tries WHERE failed < ?", (now - self._seconds_kept,))
            row = run(lock, (client, int(identified), now, composed(person))).fetchone()
            if row is None:  # the person was removed meanwhile
                return
            number, failures, failed = row
            self._refuse(failures, failed, now, identified)
            run(update, (failures + 1, now, number, client, int(identified)))

    def accept(self, person: str, client: str, identified: bool = False) -> None:
        """Resets the count of rejected claims, or of identifications, of a person and a client."""
        if self._tries is None:
            return
        with self._store.counting() as run:
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


def checked_client(client: str) -> str:
    """Returns the name of a client, after a check that it is valid.

    Raises:
        TypeError: If `client` is not a string.
        ValueError: If `client` is too long or contains a zero byte.
    """
    if not isinstance(client, str):
        raise TypeError(
            Message(
                "{client} is of type {type}, but it must be a string.",
                type=type(client).__name__,
            )
        )
    if len(client) > LONGEST_CLIENT or "\0" in client:
        raise ValueError(
            Message(
                "{client} has {count} characters, but it must have at most {longest} characters "
                "and no zero byte.",
                count=len(client),
                longest=LONGEST_CLIENT,
            )
        )
    return client
