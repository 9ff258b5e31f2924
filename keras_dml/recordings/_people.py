"""Functions that list which recordings belong to which people, and that read the groups of
people."""

import codecs
import csv
import dataclasses
import io
import os
import pathlib
import unicodedata
from collections.abc import Sequence

from keras_dml._typing import Path
from keras_dml.recordings._formats import is_recording, suffixes

COLUMNS = ("path", "person")
GROUP_COLUMNS = ("person", "group")
SESSION = "session"
DELIMITERS = ",;\t"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclasses.dataclass(frozen=True)
class Listed:
    """Recording that a folder or a table assigns to a person.

    Attributes:
        path: Path of the file.
        person: Name of the person.
        session: Name of the session. None if the person's recordings are not divided into sessions.
    """

    path: pathlib.Path
    person: str
    session: str | None


@dataclasses.dataclass(frozen=True)
class Listing:
    """Recordings that a folder or a table assigns to people.

    Attributes:
        recordings: Recordings, sorted by name.
        skipped: Paths of the other files in the folder.
    """

    recordings: tuple[Listed, ...]
    skipped: tuple[pathlib.Path, ...]

    @property
    def people(self) -> tuple[str, ...]:
        """Names of the people, sorted."""
        return tuple(sorted({recording.person for recording in self.recordings}))


def folder(path: Path) -> Listing:
    """Lists which recordings belong to which people, as stated by a folder or a table. Does not
    read the recordings.

    In a folder, recordings have paths such as `person/recording.csv` or
    `person/session/recording.csv`. Files and folders whose names begin with a dot are skipped. A
    table is a csv file with the columns `path` and `person`, and optionally `session`. The paths in
    a table are relative to the folder of the table.

    Args:
        path: Path of the folder or of the table.

    Returns:
        `Listing`.

    Raises:
        FileNotFoundError: If the folder, the table, or a file in the table does not exist.
        ValueError: If there are no recordings, if a recording lies in a deeper folder, if a line of
            the table contains no path or no person, or if two lines contain the same path.
    """
    if not os.fspath(path):
        raise ValueError("The name of the folder is empty. Use '.' for the current folder.")
    path = pathlib.Path(path)
    if not path.exists():
        raise FileNotFoundError(f"The folder {str(path)!r} does not exist.")
    recordings, skipped = _of_folder(path) if path.is_dir() else (_of_table(path), [])
    if not recordings:
        rest = f" It has {len(skipped)} other files, such as {skipped[0]}." if skipped else ""
        raise ValueError(
            f"{path} holds no recordings of people.{rest} Expected one folder per person, which "
            f"contains files that end in {', '.join(suffixes())}, such as {path}/alice/walk1.csv "
            f"or {path}/alice/monday/walk1.csv."
        )
    recordings.sort(key=lambda file: (file.person, file.session or "", file.path.as_posix()))
    return Listing(tuple(recordings), tuple(sorted(skipped)))


def groups(path: Path) -> dict[str, str]:
    """Reads the group of each person from a table. A group can be an age group or a kind of sensor.

    Args:
        path: Path of a csv file with the columns `person` and `group`.

    Returns:
        Dictionary from the name of each person to the person's group. `Gallery.calibrate` accepts
        this dictionary.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file lacks one of the columns, if a line contains no person or no group,
            or if two lines contain the same person.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"The file {str(path)!r} does not exist.")
    group_of, line_of = {}, {}
    for line, row in _entries(path, GROUP_COLUMNS):
        person = unicodedata.normalize("NFC", row["person"])
        if person in line_of:
            raise ValueError(
                f"{path}, line {line}: {person!r} is also in line {line_of[person]}. Name each "
                "person once."
            )
        group_of[person], line_of[person] = row["group"], line
    return group_of


def _of_folder(root):
    """Returns the recordings in a folder, and the other files in the folder."""
    skipped, people = _content(root)
    recordings = []
    for person in people:
        files, sessions = _content(person)
        candidates = [(file, None) for file in files]
        for session in sessions:
            files, folders = _content(session)
            if folders:
                raise ValueError(
                    f"{folders[0]} is too deep in the folder. The path of a recording must be "
                    f"{root}/PERSON/FILE or {root}/PERSON/SESSION/FILE. Move the files up, or give "
                    f"a table with the columns {', '.join(COLUMNS)}."
                )
            candidates += [(file, _name(session)) for file in files]
        for file, session in candidates:
            if is_recording(file):
                recordings.append(Listed(file, _name(person), session))
            else:
                skipped.append(file)
    return recordings, skipped


def _content(root):
    """Returns the files and the subfolders in a folder. Follows symbolic links."""
    entries = [entry for entry in root.iterdir() if not entry.name.startswith(".")]
    return (
        [entry for entry in entries if entry.is_file()],
        [entry for entry in entries if entry.is_dir()],
    )


def _name(path):
    return unicodedata.normalize("NFC", path.name)  # macOS stores accents as separate characters


def _of_table(path):
    """Returns the recordings that a table lists."""
    if path.suffix.lower() != ".csv":
        raise ValueError(
            f"{path} is neither a folder of people nor a table. A table is a .csv file with the "
            f"columns {', '.join(COLUMNS)} and, if there are sessions, {SESSION}."
        )
    recordings, line_of = [], {}
    for line, row in _entries(path, COLUMNS, SESSION):
        file = path.parent / row["path"]
        if file in line_of:
            raise ValueError(
                f"{path}, line {line}: {row['path']} is also in line {line_of[file]}. Name each "
                "file once."
            )
        if not file.is_file():
            raise FileNotFoundError(f"{path}, line {line}: the file {str(file)!r} does not exist.")
        line_of[file] = line
        person = unicodedata.normalize("NFC", row["person"])
        recordings.append(Listed(file, person, row.get(SESSION) or None))
    return recordings


def _entries(
    path: pathlib.Path, columns: Sequence[str], optional: str | None = None
) -> list[tuple[int, dict[str, str]]]:
    """Reads the entries of a table.

    Args:
        path: Path of the csv file.
        columns: Names of the required columns. No field in these columns may be empty.
        optional: Name of a column that may be missing. Columns that are neither required nor
            optional are ignored.

    Returns:
        List of `(line, entry)` for each line after the first. `line` is the line number, and
        `entry` is a dictionary from column names to fields.

    Raises:
        ValueError: If the file is empty or is not valid CSV in UTF-8, if its lines have different
            numbers of fields, if a required column is missing or appears twice, or if a field in a
            required column is empty.
    """
    lines, (names, *rows) = _rows(path)
    if not {*columns} <= {*names} or len({*names}) < len(names):
        wanted = ", ".join(columns) + (f" and, if there are any, {optional}" if optional else "")
        raise ValueError(
            f"{path}, line {lines[0]}: the columns are {', '.join(names)}, but the file must have "
            f"the columns {wanted}, each column once."
        )
    entries = []
    for line, row in zip(lines[1:], rows, strict=True):
        entry = {name: field.strip() for name, field in zip(names, row, strict=True)}
        for name in columns:
            if not entry[name]:
                raise ValueError(f"{path}, line {line}: the {name} is empty.")
        entries.append((line, entry))
    return entries


def _rows(path):
    """Returns the line number and the fields of each nonempty line in a table."""
    text = _utf8(path)
    start = next((line for line in io.StringIO(text) if line.strip()), "")
    delimiter = max(DELIMITERS, key=start.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines, rows = [], []
    try:
        for row in reader:
            if row and not (len(row) == 1 and row[0].isspace()):
                lines.append(reader.line_num)
                rows.append(row)
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {reader.line_num}: not valid CSV: {error}. Write one entry per line, "
            "with its fields separated by commas."
        ) from None
    if not rows:
        raise ValueError(f"{path} is empty. Leave it out.")
    rows[0] = [name.strip() for name in rows[0]]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{path}, line {line} has {len(row)} fields, but line {lines[0]} names "
                f"{len(rows[0])} columns. Write one field per column in each line."
            )
    return lines, rows


def _utf8(path):
    """Returns the text of a file in UTF-8."""
    data = path.read_bytes()
    try:
        if data.startswith(UTF16):
            raise UnicodeDecodeError("utf-8", data, 0, 2, "UTF-16")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {error.start} is not valid UTF-8. Save the file as CSV in "
            "UTF-8."
        ) from None
