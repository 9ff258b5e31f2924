"""The groups that people belong to, by a table."""

from __future__ import annotations

import os
import pathlib
import unicodedata

from keras_dml.recordings import _csv

COLUMNS = ("person", "group")


def groups(path: str | os.PathLike) -> dict[str, str]:
    """The group of each person, such as of age or sensor, by a table.

    Args:
        path: A csv with the columns `person` and `group`.

    Returns:
        Groups by the names of the people, as `Gallery.calibrate` takes them.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no such table, or a line names no person or group, or the person of
            another line.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    found, seen = {}, {}
    for line, row in _csv.entries_of(path, COLUMNS):
        person = unicodedata.normalize("NFC", row["person"])
        if person in seen:
            raise ValueError(
                f"{path}, line {line}: {person!r} stands in line {seen[person]} too. Name each "
                "person once."
            )
        found[person], seen[person] = row["group"], line
    return found
