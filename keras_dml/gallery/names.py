"""Checks the names of people and computes the ids of recordings."""

import hashlib
import numbers
import unicodedata
from typing import Any

import numpy as np

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike

LONGEST = 200  # characters of a name
DIGITS = 16  # hexadecimal digits of an id


def recording_id(embedding: bytes) -> str:
    """Computes the id of a recording. The id is the beginning of the SHA-256 digest of the
    embedding.

    Args:
        embedding: Bytes of the embedding as the gallery stores them, little-endian float32.
    """
    return hashlib.sha256(embedding).hexdigest()[:DIGITS]


def composed(person: Any) -> Any:
    """Returns a name in Unicode's composed form (NFC). Returns other objects unchanged.

    A keyboard writes "é" as one character, but macOS writes "é" as two characters in the names of
    folders. A name with either spelling of "é" must denote the same person.
    """
    return unicodedata.normalize("NFC", person) if isinstance(person, str) else person


def checked_people(people: ArrayLike, count: int) -> np.ndarray:
    """Returns the people as an array that can be sorted, with names in composed form.

    Args:
        people: Name or number of the person of each recording.
        count: Number of recordings.

    Raises:
        TypeError: If an element is neither a name nor a number, or if names and numbers are mixed.
        ValueError: If the number of elements is not `count`.
    """
    array = np.asarray(people)
    if array.shape != (count,):
        raise ValueError(
            Message(
                "{people} has shape {shape}, but it must name the person of each of the {count} "
                "recordings.",
                shape=array.shape,
                count=count,
            )
        )
    kinds = {_kind(name) for name in np.asarray(people, object).tolist()}
    if len(kinds) > 1 or not kinds <= {"str", "number"}:
        raise TypeError(
            Message(
                "{people} holds {kinds}, but it must hold either names or numbers, not both.",
                kinds=", ".join(sorted(kinds)),
            )
        )
    return np.array([composed(str(name)) for name in array]) if kinds == {"str"} else array


def _kind(name):
    if isinstance(name, str):
        return "str"
    return "number" if isinstance(name, numbers.Real) else type(name).__name__


def checked_name(person: str, argument: str = "person") -> str:
    """Checks a name and returns it in composed form, see `composed`.

    Args:
        person: The name.
        argument: Name of the argument in error messages.

    Raises:
        TypeError: If `person` is not a string.
        ValueError: If `person` is empty or too long, if a character is not printable, or if
            `person` begins or ends with a space.
    """
    if not isinstance(person, str):
        raise TypeError(
            Message(
                "{argument} is of type {type}, but it must be a name (a string).",
                argument=_messages.name(argument),
                type=type(person).__name__,
            )
        )
    if not person.strip() or len(person) > LONGEST or not person.isprintable():
        raise ValueError(
            Message(
                "{argument} is {name!r}, but it must be a name of 1 to {longest} printable "
                "characters.",
                argument=_messages.name(argument),
                name=person[:LONGEST],
                longest=LONGEST,
            )
        )
    if person != person.strip():  # when printed, such a name looks like another name
        raise ValueError(
            Message(
                "{argument} is {name!r}, but a name must not begin or end with a space.",
                argument=_messages.name(argument),
                name=person,
            )
        )
    return composed(person)


def name_or_none(person: Any) -> str | None:
    """Returns a name in composed form, or None if it is invalid, see `checked_name`."""
    try:
        return checked_name(person)
    except (TypeError, ValueError):
        return None
