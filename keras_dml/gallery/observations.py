"""Keeps observed recordings in a gallery for a limited time, encrypted and only on request.

The observations of an accepted person are encrypted with the key of this person, and the
observations of strangers with the key of the gallery. The encryption covers the time at which an
observation expires, so another program cannot prolong this time. A destroyed observation leaves no
byte in the file of the gallery. Backups keep copies of the observations that the gallery contained.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from keras_dml import _messages
from keras_dml._arrays import number
from keras_dml._messages import Message
from keras_dml.gallery.encryption import DecryptionError
from keras_dml.gallery.names import recording_id

if TYPE_CHECKING:
    from keras_dml.gallery.records import Records

KEEPING = "keeping"  # row of the table `about` with the days of each kind
MOST = {"proposals": 50, "strangers": 1000}  # kept per person, and of all strangers together
MOST_DAYS = 366  # longest time for which a recording is kept


@dataclasses.dataclass(frozen=True)
class Observation:
    """A kept recording.

    Attributes:
        row: Number of the observation in its table.
        id: Id of the recording.
        person: Name of the person as whom the recording was accepted, or None for a stranger.
        created: Time of the observation (ISO 8601, UTC).
        expires: Time at which the observation is destroyed (ISO 8601, UTC).
        embedding: Embedding as a float32 vector.
    """

    row: int
    id: str
    person: str | None
    created: str
    expires: str
    embedding: np.ndarray = dataclasses.field(repr=False, compare=False)


class Observations:
    """Observations of one kind in a gallery.

    Args:
        records: Records of the gallery.
        kind: `"proposals"` for recordings of enrolled people, `"strangers"` for recordings of
            unknown people.
    """

    def __init__(self, records: Records, kind: str):
        self._records, self._kind = records, kind
        self._is_inbox = kind == "strangers"
        self._is_null = "IS NULL" if self._is_inbox else "IS NOT NULL"

    @property
    def days(self) -> float | None:
        """Number of days for which observations are kept. None if no observations are kept."""
        if self._records.is_server or not self._records.is_encrypted:
            return None
        days = (self._records.about().get(KEEPING) or {}).get(self._kind)
        return None if days is None else min(days, MOST_DAYS)  # an earlier release had no limit

    def keep(self, days: float | None) -> None:
        """Sets for how many days new observations are kept.

        Args:
            days: Number of days, at most `MOST_DAYS`. If None, nothing is kept any more, and all
                observations of this kind are destroyed.

        Raises:
            ValueError: If the gallery is not encrypted or is on a server, or if `days` is not above
                0 or is above `MOST_DAYS`.
        """
        if days is not None:
            days = number("days", days)
            if not 0 < days <= MOST_DAYS:
                raise ValueError(
                    Message(
                        "{days} is {value}, but it must be above 0 and at most {most}.",
                        value=f"{days:g}",
                        most=MOST_DAYS,
                    )
                )
            self._check_allowed()
        settings = self._records.about().get(KEEPING) or {}
        self._records.replace_fact(KEEPING, settings | {self._kind: days})
        if days is None:
            with self._records.observing() as run:
                run(f"DELETE FROM observations WHERE person {self._is_null}")
            self._records.cut_log()

    def _check_allowed(self):
        if self._records.is_server:
            raise ValueError(
                "Recordings are kept only in a gallery file. A server would keep destroyed "
                "recordings in its tables and its log. Enroll the people in an encrypted file."
            )
        if not self._records.is_encrypted:
            raise ValueError(
                Message(
                    "{path} is not encrypted, but recordings are kept only in an encrypted "
                    "gallery. Merge the gallery into a new gallery with a key, see {key}.",
                    path=self._records.path,
                )
            )

    def add(self, embeddings: np.ndarray, person: str | None = None) -> None:
        """Keeps embeddings, if the gallery keeps observations of this kind.

        Recordings that are already kept for this person, or for strangers, are ignored. Expired
        observations are destroyed. If there are more than `MOST` observations, the oldest
        observations are destroyed.

        Args:
            embeddings: Embeddings, shape `(count, ...)`.
            person: Name of the person as whom the recordings were accepted, or None.
        """
        days = self.days
        if days is None:
            return
        drop_expired(self._records, wait=False)
        if not len(embeddings):
            return
        time = now()
        created, expires = _text(time), _text(time + datetime.timedelta(days=days))
        with self._records.observing() as run:
            row, key = self._records.observer(run, person)
            if key is None:  # the person was removed meanwhile
                return
            query = "SELECT embedding, created, expires FROM observations WHERE person IS ?"
            rows = run(query, (row,)).fetchall()
            present = {_decrypted(key, *values) for values in rows}
            data_of = (np.ascontiguousarray(each, "<f4").tobytes() for each in embeddings)
            for data in dict.fromkeys(data_of):
                if data in present:
                    continue
                run(
                    "INSERT INTO observations (person, created, expires, embedding) VALUES "
                    "(?, ?, ?, ?)",
                    (row, created, expires, key.encrypt_observation(data, created, expires)),
                )
            evicted = run(
                "DELETE FROM observations WHERE person IS ? AND id NOT IN (SELECT id FROM "
                "observations WHERE person IS ? ORDER BY id DESC LIMIT ?)",
                (row, row, MOST[self._kind]),
            ).rowcount
        if evicted or not self._records.is_log_cut:
            self._records.cut_log(wait=False)

    def list(self) -> tuple[Observation, ...]:
        """Returns the observations in the order in which they were made. Destroys expired ones.

        Observations that another program changed are left out with a `UserWarning`, which contains
        their ids for `destroy`.
        """
        observations, unreadable = self._read()
        if unreadable:
            text = Message(
                "{path} keeps recordings that cannot be read, because another program changed "
                "them. Destroy them by their ids: {ids}.",
                path=self._records.path,
                ids=", ".join(unreadable),
            )
            warnings.warn(text, stacklevel=3)
        return observations

    def _read(self):
        """Returns the observations, and `{id: row}` of the unreadable observations."""
        if not self._records.is_encrypted:
            return (), {}
        drop_expired(self._records)
        query = (
            "SELECT observations.id, people.name, created, expires, embedding FROM observations "
            f"LEFT JOIN people ON people.id = observations.person WHERE person {self._is_null} "
            "ORDER BY observations.id"
        )
        keys, observations, unreadable = {}, [], {}
        with self._records.observing(changes=False) as run:
            for row, person, created, expires, ciphertext in run(query).fetchall():
                if person not in keys:
                    keys[person] = self._records.observer(run, person)[1]
                data = _decrypted(keys[person], ciphertext, created, expires)
                if data is None:
                    unreadable[f"unreadable-{row}"] = row
                    continue
                embedding = np.frombuffer(data, "<f4")
                observations.append(
                    Observation(row, recording_id(data), person, created, expires, embedding)
                )
        return tuple(observations), unreadable

    def find(self, recording: str) -> Observation:
        """Returns the observation with an id.

        Raises:
            KeyError: If no observation has this id.
        """
        for observation in self.list():
            if observation.id == recording:
                return observation
        raise self.unknown(recording)

    def destroy(self, recordings: str | Iterable[str]) -> None:
        """Destroys observations. No byte of the embeddings remains in the file.

        Args:
            recordings: Id of an observation, or several ids.

        Raises:
            KeyError: If an id is unknown. Then nothing is destroyed.
            TimeoutError: If the observations were destroyed, but the log of changes was not
                truncated because another process used the file.
        """
        ids = [recordings] if isinstance(recordings, str) else list(recordings)
        observations, unreadable = self._read()
        rows = [*unreadable.items(), *((each.id, each.row) for each in observations)]
        for unknown in {*ids} - {name for name, _ in rows}:
            raise self.unknown(unknown)
        with self._records.observing() as run:
            for name, row in rows:
                if name in ids:
                    run("DELETE FROM observations WHERE id = ?", (row,))
        self._records.cut_log()

    def unknown(self, recording: str) -> KeyError:
        """Returns the error for an unknown id."""
        return KeyError(
            Message(
                "{path} keeps no recording {id!r} of this kind. {list} shows the ids. Kept "
                "recordings are destroyed when their time is over.",
                path=self._records.path,
                id=recording,
                list=_messages.name("strangers.list()" if self._is_inbox else "proposals.list()"),
            )
        )


def drop_expired(records: Records, wait: bool = True) -> None:
    """Destroys the observations whose time is over.

    Args:
        records: Records of the gallery.
        wait: Whether to raise `TimeoutError` if another process prevents that the log of changes is
            truncated. If False, a later call or the next opening of the gallery truncates the log.
    """
    if records.is_server:  # never contains observations
        return
    times = (_text(now()), _text(now() - datetime.timedelta(days=MOST_DAYS)))
    condition = "WHERE expires <= ? OR created <= ?"  # another program may have changed `expires`
    with records.observing(changes=False) as run:
        query = f"SELECT count(*) FROM observations {condition}"
        (expired,) = run(query, times).fetchone()
    if expired:
        with records.observing() as run:
            run(f"DELETE FROM observations {condition}", times)
        records.cut_log(wait)
    elif not records.is_log_cut:
        records.cut_log(wait=False)


@contextlib.contextmanager
def warn_of_failure() -> Iterator[None]:
    """Turns an error from the `with` block into a `UserWarning`.

    A decision that was already made must not fail because its recording cannot be kept.
    """
    try:
        yield
    except Exception as error:  # such as a full disk, or a person who was removed meanwhile
        text = Message(
            "The decision is made, but its recording is not kept: {reason}",
            reason=_messages.text_of(error),
        )
        warnings.warn(text, stacklevel=4)


def now() -> datetime.datetime:
    """Returns the current time (UTC), from which observations get their times."""
    return datetime.datetime.now(datetime.UTC)


def _decrypted(key, ciphertext, created, expires):
    """Returns the bytes of an embedding, or None if another program changed the row."""
    try:
        return key.decrypt_observation(ciphertext, created, expires)
    except DecryptionError:
        return None


def _text(time):
    return time.isoformat(timespec="seconds")
