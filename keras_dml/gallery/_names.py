"""Names of people and ids of recordings."""

import hashlib

LONGEST = 200  # characters
DIGITS = 16  # of an id


def recording_id(stored):
    """Id of an enrolled recording: the beginning of SHA-256 of its embedding's bytes, as stored."""
    return hashlib.sha256(stored).hexdigest()[:DIGITS]


def check_name(person):
    """Refuses what is no name, `TypeError` or `ValueError`."""
    if not isinstance(person, str):
        raise TypeError(f"`person` must be a name, a string. Received {type(person).__name__}.")
    if not person.strip() or len(person) > LONGEST or not person.isprintable():
        raise ValueError(
            f"`person` must be a name of 1 to {LONGEST} printable characters. Received "
            f"{person[:LONGEST]!r}."
        )
