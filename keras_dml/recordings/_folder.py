"""The recordings of people: a folder, or a table of paths."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import unicodedata

from keras_dml.recordings import _csv
from keras_dml.recordings._read import is_recording, suffixes

COLUMNS = ("path", "person")
SESSION = "session"


@dataclasses.dataclass(frozen=True)
class Listed:
    """A file of a person.

    Attributes:
        path: The file.
        person: Name of the person.
        session: Name of the session; None where none is told.
    """

    path: pathlib.Path
    person: str
    session: str | None


@dataclasses.dataclass(frozen=True)
class Listing:
    """Files of people, in the order of their names.

    Attributes:
        recordings: `Listed` of each.
        skipped: Files of the folder that are none: of another kind, or of no person.
    """

    recordings: tuple[Listed, ...]
    skipped: tuple[pathlib.Path, ...]

    @property
    def people(self) -> tuple[str, ...]:
        """Names of the people, sorted."""
        return tuple(sorted({one.person for one in self.recordings}))


def folder(path: str | os.PathLike) -> Listing:
    """The recordings of a folder `person/recording.csv` or `person/session/recording.csv`, or of a
    table.

    A table is a csv with the columns `path` and `person`, and `session` where there are any; its
    paths are relative to its own folder. Files are listed, not read. Names that begin with a dot
    are passed over.

    Args:
        path: The folder, or the table.

    Returns:
        `Listing`.

    Raises:
        FileNotFoundError: If there is no such folder or table, or a file that it names is missing.
        ValueError: If there are no recordings, they lie deeper, or a line of the table names no
            path or person, or the path of another line.
    """
    if not os.fspath(path):
        raise ValueError("The name of the folder is empty; '.' is the folder one is in.")
    path = pathlib.Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no folder {str(path)!r}.")
    listed, skipped = _of_folder(path) if path.is_dir() else (_of_table(path), [])
    if not listed:
        others = f" It has {len(skipped)} other files, such as {skipped[0]}." if skipped else ""
        raise ValueError(
            f"{path} holds no recordings of people.{others} A folder a person is expected, with "
            f"files in it that end in {', '.join(suffixes())}: {path}/alice/walk1.csv, or "
            f"{path}/alice/monday/walk1.csv."
        )
    order = sorted(listed, key=lambda one: (one.person, one.session or "", one.path.as_posix()))
    return Listing(tuple(order), tuple(sorted(skipped)))


def _of_folder(root):
    files, people = _entries(root)
    listed, skipped = [], files
    for person in people:
        name = _name(person)
        own, sessions = _entries(person)
        found = [(one, None) for one in own]
        for session in sessions:
            within, deeper = _entries(session)
            if deeper:
                raise ValueError(
                    f"{deeper[0]} lies too deep: recordings are {root}/PERSON/FILE or "
                    f"{root}/PERSON/SESSION/FILE. Move the files up, or give a table with the "
                    f"columns {', '.join(COLUMNS)}."
                )
            found += [(one, _name(session)) for one in within]
        for one, session in found:
            if is_recording(one):
                listed.append(Listed(one, name, session))
            else:
                skipped.append(one)
    return listed, skipped


def _entries(root):
    """Files and folders in a folder; links count as what they lead to."""
    shown = [entry for entry in root.iterdir() if not entry.name.startswith(".")]
    return [one for one in shown if one.is_file()], [one for one in shown if one.is_dir()]


def _name(path):
    return unicodedata.normalize("NFC", path.name)  # macOS keeps accents apart


def _of_table(path):
    if path.suffix.lower() != ".csv":
        raise ValueError(
            f"{path} is neither a folder of people nor a table: a .csv with the columns "
            f"{', '.join(COLUMNS)} and, if there are any, {SESSION}."
        )
    listed, seen = [], {}
    for line, row in _csv.entries_of(path, COLUMNS, SESSION):
        file = path.parent / row["path"]
        if file in seen:
            raise ValueError(
                f"{path}, line {line}: {row['path']} stands in line {seen[file]} too. Name each "
                "file once."
            )
        if not file.is_file():
            raise FileNotFoundError(f"{path}, line {line}: there is no file {str(file)!r}.")
        seen[file] = line
        person = unicodedata.normalize("NFC", row["person"])
        listed.append(Listed(file, person, row.get(SESSION) or None))
    return listed
