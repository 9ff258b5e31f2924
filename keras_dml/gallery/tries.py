"""Limits rejected identity claims by pauses (rate limiting, lockout with exponential backoff).

An attacker who sees the score of each claim can change a rejected recording step by step until it
is accepted (hill climbing). An attack with an evolution strategy takes about 200 claims. The attack
is slow if the attacker sees no scores and has to wait longer after each rejected claim. The
database of the gallery stores the counts of rejected claims. All processes therefore share the
counts, and a restart does not reset them.

If `identify` rejects a stranger, the rejection is counted for the nearest person. Rejections by
`identify` are counted separately from claims, and cause only short pauses. A stranger who passes a
camera at a door makes no claim, and must not lock out the person whom the stranger resembles.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from keras_dml._arrays import positive, whole
from keras_dml._messages import Message
from keras_dml.gallery.names import composed, name_or_none
from keras_dml.gallery.store import Store

LONGEST_CLIENT = 200  # largest number of characters in a client's name
# Counts of rejected claims are deleted after this number times the longest pause. An attacker who
# waits for the deletion gets fewer decisions than an attacker who claims again after each pause.
FORGOTTEN_AFTER = 24
MOST_DOUBLINGS = 60  # 2.0 ** 60 seconds are longer than any pause


class TooManyTries(RuntimeError):
    """Error for a claim that is made during the pause after rejected claims.

    Attributes:
        seconds: Number of seconds until the pause ends.
    """

    def __init__(self, seconds: float):
        super().__init__(
            f"Too many claims were rejected. Wait {seconds:.3g} seconds before the next claim."
        )
        self.seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.seconds,)


@dataclasses.dataclass(frozen=True)
class Tries:
    """Limit on rejected claims, and lengths of the pauses after rejected claims.

    Attributes:
        free: Number of rejected claims without a pause, per person and client.
        pause: Length of the first pause, in seconds. Each further rejected claim doubles the pause.
        longest: Length of the longest pause after claims, in seconds. Counts of rejected claims are
            deleted if no claim is rejected during 24 times `longest`.
        longest_identified: Length of the longest pause after failed identifications, in seconds.
    """

    free: int = 5
    pause: float = 1.0
    longest: float = 3600.0
    longest_identified: float = 60.0

    def __post_init__(self) -> None:
        whole("free", self.free, minimum=0)
        for name in ("pause", "longest", "longest_identified"):
            positive(name, getattr(self, name))

    def seconds_after(self, failures: int, identified: bool = False) -> float:
        """Returns how many seconds the pause lasts after a number of rejected claims.

        Args:
            failures: Number of rejected claims.
            identified: True if failed identifications were counted, False if rejected claims were
                counted.
        """
        if failures <= self.free:
            return 0.0
        doublings = min(failures - self.free - 1, MOST_DOUBLINGS)
        longest = self.longest_identified if identified else self.longest
        return min(longest, self.pause * 2.0**doublings)

    @property
    def seconds_kept(self) -> float:
        """Number of seconds after which a count of rejected claims is deleted."""
        return FORGOTTEN_AFTER * self.longest

    def left(self, failures: int, last: float, now: float, identified: bool = False) -> float:
        """Returns the number of seconds until a pause ends.

        Args:
            failures: Number of rejected claims.
            last: Time of the last rejected claim, in seconds.
            now: Current time, in seconds. If the clock was set back, the result is at most the
                length of the pause.
            identified: True if failed identifications were counted, False if rejected claims were
                counted.
        """
        pause = self.seconds_after(failures, identified)
        return min(pause, max(0.0, last + pause - now))


DEFAULT = Tries()


class Claims:
    """Counts of rejected claims in the store of a gallery.

    Args:
        store: Store of the gallery.
        tries: Limit on rejected claims. If None, claims are neither counted nor refused.
    """

    def __init__(self, store: Store, tries: Tries | None):
        self._store = store
        self.tries: Tries | None = tries

    def check(self, person: str, client: str) -> None:
        """Raises `TooManyTries` if a client must wait before its next claim to be a person.

        Args:
            person: Name of the claimed person.
            client: Name of the client, see `checked_client`.
        """
        name = name_or_none(person)
        if self.tries is None or name is None:
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

        The claim is counted before anybody learns the decision. An attacker therefore cannot avoid
        the pauses by making many claims at the same time.

        Args:
            person: Name of the claimed person, or of the nearest person in an identification.
            client: Name of the client.
            identified: True for an identification, False for a claim.

        Raises:
            TooManyTries: If the claim is made during a pause. A claim during a pause is not
                counted.
        """
        if self.tries is None:
            return
        now = time.time()
        # On a server, an update locks the row even if no value changes.
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
            run("DELETE FROM tries WHERE failed < ?", (now - self.tries.seconds_kept,))
            row = run(lock, (client, int(identified), now, composed(person))).fetchone()
            if row is None:  # the person was removed meanwhile
                return
            number, failures, failed = row
            self._refuse(failures, failed, now, identified)
            run(update, (failures + 1, now, number, client, int(identified)))

    def accept(self, person: str, client: str, identified: bool = False) -> None:
        """Resets the count of rejected claims for a person and a client.

        Args:
            person: Name of the person.
            client: Name of the client.
            identified: True to reset the count of identifications, False to reset the count of
                claims.
        """
        if self.tries is None:
            return
        with self._store.counting() as run:
            self._forget(run, person, client, identified)

    def conclude(self, person: str, client: str, resets: bool, identified: bool = False) -> None:
        """Counts a decided claim as rejected, or resets the count. Call this method before anybody
        learns the decision.

        The method is one transaction. If `resets` is True and no rejected claim is counted, nothing
        is written to the disk.

        Args:
            person: Name of the claimed person, or of the nearest person in an identification.
            client: Name of the client.
            resets: True to reset the count, False to count the claim as rejected.
            identified: True for an identification, False for a claim.

        Raises:
            TooManyTries: If the claim is made during a pause. The count does not change.
        """
        if not resets:
            self.begin(person, client, identified)
        elif self.tries is not None:
            with self._store.counting() as run:
                for failures, failed in self._forget(run, person, client, identified):
                    self._refuse(failures, failed, time.time(), identified)

    def _forget(self, run, person, client, identified):
        """Deletes the count of rejected claims. Returns a list of the deleted `(failures, last
        failure)`."""
        return run(
            "DELETE FROM tries WHERE client = ? AND identified = ? AND person IN (SELECT id FROM "
            "people WHERE name = ?) RETURNING failures, failed",
            (checked_client(client), int(identified), composed(person)),
        ).fetchall()

    def _refuse(self, failures, failed, now, identified=False):
        seconds = self.tries.left(failures, failed, now, identified)
        if seconds > 0 and now - failed < self.tries.seconds_kept:
            raise TooManyTries(seconds)


def checked_client(client: str) -> str:
    """Checks the name of a client, and returns the name.

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
