"""Names of people and ids of recordings."""

import hashlib
import numbers
import unicodedata

import numpy as np

LONGEST = 200  # characters
DIGITS = 16  # of an id


def recording_id(stored):
    """Id of an enrolled recording: the beginning of SHA-256 of its embedding's bytes, as stored."""
    return hashlib.sha256(stored).hexdigest()[:DIGITS]


def composed(person):
    """A name in Unicode's composed form: typed, or of a folder of macOS, it is the same person's.
    What is no name stays as it is."""
    return unicodedata.normalize("NFC", person) if isinstance(person, str) else person


def checked_people(people, count):
    """The person of each recording as an array, composed names that can be put in order.

    Args:
        people: A name or number for each recording.
        count: Number of recordings.

    Raises:
        TypeError: If one is neither a name nor a number, or some are names and others numbers.
        ValueError: If there is not one a recording.
    """
    array = np.asarray(people)
    if array.shape != (count,):
        raise ValueError(
            f"`people` must name the person of each of the {count} recordings. Received shape "
            f"{array.shape}."
        )
    kinds = {_kind(name) for name in np.asarray(people, object).tolist()}
    if len(kinds) > 1 or not kinds <= {"str", "number"}:
        raise TypeError(
            f"`people` must be names, or numbers, not both. Received {', '.join(sorted(kinds))}."
        )
    return np.array([composed(str(name)) for name in array]) if kinds == {"str"} else array


def _kind(name):
    kinds = {str: "str", numbers.Real: "number"}
    return next(
        (said for kind, said in kinds.items() if isinstance(name, kind)), type(name).__name__
    )


def checked_name(person, argument="person"):
    """Returns a name, `composed`, after a check that it is valid.

    Args:
        person: The name.
        argument: Name of the argument, for errors.

    Raises:
        TypeError: If it is not a string.
        ValueError: If it is empty, too long, not printable, or has spaces at its ends.
    """
    if not isinstance(person, str):
        raise TypeError(f"`{argument}` must be a name, a string. Received {type(person).__name__}.")
    if not person.strip() or len(person) > LONGEST or not person.isprintable():
        raise ValueError(
            f"`{argument}` must be a name of 1 to {LONGEST} printable characters. Received "
            f"{person[:LONGEST]!r}."
        )
    if person != person.strip():  # it would be somebody else, whom nobody can tell apart in print
        raise ValueError(
            f"`{argument}` must be a name without spaces at its ends. Received {person!r}."
        )
    return composed(person)


def name_or_none(person):
    """Returns a name, `composed`, or None if nobody can have it, see `checked_name`."""
    try:
        return checked_name(person)
    except (TypeError, ValueError):
        return None
