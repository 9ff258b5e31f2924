"""Recordings as text with one line per time step, and tables that list something."""

import codecs
import csv
import functools
import io
import re

import numpy as np

from keras_dml.recordings import _cells, _channels, _dates, _layout, _table, _text, _times

UNNAMED = re.compile(r"(?:Unnamed: [0-9]+)?")  # pandas writes no name, and reads it as this one
EYELINK = {"RECORDING_SESSION_LABEL", "TIMESTAMP"}  # names in a sample report
DELIMITERS = ",;\t"
_OTHER_CODES = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read(path):
    """Reads the table of a text file.

    Returns:
        `Table`. Its notes say what was assumed about the file.

    Raises:
        ValueError: If the file is not text or its names and rows have two readings; the message
            names the line.
    """
    text, notes = _text.read(path)
    layout = _layout.find(path, text)
    del text
    names, left_out = _without_index(layout)
    if EYELINK <= {*names}:  # its reports do not name the unit, by its manual milliseconds
        names = tuple("TIMESTAMP (ms)" if name == "TIMESTAMP" else name for name in names)
        layout.notes.append("The times of EyeLink were read as milliseconds.")
    names, columns = _channels.shortened(names), layout.columns[left_out:]
    cells = _cells.Columns(columns, len(layout.lines))
    check_name = _table.name_check(path, layout.header, names)

    def place(row):
        return f"line {layout.lines[row]}"

    def numbers(i):
        check_name(i)
        try:
            return cells.numbers(i)
        except _cells.NotANumber as error:
            raise ValueError(
                f"{path}, {place(error.row)}, column {names[i]!r}: "
                f"{_shown(columns[i].cell(error.row))} is not a number. {error}"
            ) from None

    def seconds(i):
        if not cells.is_of_dates(i):
            return None
        present = _Present(columns[i])
        values, wrong = _dates.seconds(present)
        is_present = np.fromiter((not _cells.is_missing(text) for text in columns[i]), bool)
        if wrong is not None:
            row = np.flatnonzero(is_present)[wrong]
            raise ValueError(
                f"{path}, {place(row)}: the time {_shown(columns[i].cell(row))} in column "
                f"{names[i]!r} is neither a number nor a date and time such as "
                "2026-01-31T12:00:00.02, in the form of the first. Write one of them, or take the "
                "column out and give the rate."
            )
        times = np.full(len(is_present), np.nan)
        times[is_present] = values
        return times

    notes = (*notes, *layout.notes, *cells.notes)
    return _table.Table(
        path,
        names,
        layout.header,
        place,
        numbers,
        seconds,
        notes,
        layout.rate_hz,
        functools.cache(cells.is_text),
    )


class _Present:
    """Cells of a column that are not missing."""

    def __init__(self, column):
        self._column = column

    def __iter__(self):
        return (text for text in self._column if not _cells.is_missing(text))


def is_table(path):
    """Returns whether a text file has rows of numbers, by its first lines."""
    try:
        return _layout.looks_like_table(_text.start(path))
    except (OSError, ValueError):
        return False


def _without_index(layout):
    """Names of the columns, and the number of first columns that are left out.

    A first column without a name that counts rows is left out. If it holds dates, it is the time.
    """
    names = list(layout.names)
    if len(names) < 2 or not UNNAMED.fullmatch(names[0]):
        return tuple(names), 0
    first = layout.columns[0]
    if len(layout.lines) and _layout.counts(first):
        layout.notes.append("The first column counts rows and was left out.")
        return tuple(names[1:]), 1
    if len(layout.lines) and all(map(_cells.is_date, first)) and not _times.columns(names):
        layout.notes.append("The first column has no name and was read as times.")
        names[0] = "time"
    return tuple(names), 0


def lines_of(path):
    """All lines of a file that are not empty, as many fields in each.

    Returns:
        `(lines, rows)`: the number of each line, and its fields.

    Raises:
        ValueError: If it is empty, no text in UTF-8, or ragged.
    """
    text = _utf8(path)
    start = next((line for line in io.StringIO(text) if line.strip()), "")
    delimiter = max(DELIMITERS, key=start.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines, rows = [], []
    try:
        for row in reader:
            if row and not (len(row) == 1 and row[0].isspace()):  # "" is a missing number
                lines.append(reader.line_num)
                rows.append(row)
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {reader.line_num}: not valid CSV: {error}. Write one line per "
            "step, with its fields separated by commas."
        ) from None
    if not rows:
        raise ValueError(f"{path} is empty: leave it out.")
    rows[0] = [name.strip() for name in rows[0]]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{path}, line {line} has {len(row)} fields, line {lines[0]} names {len(rows[0])} "
                "columns. Each line needs one field a column."
            )
    return lines, rows


def entries_of(path, columns, optional=None):
    """The entries of a table that lists something.

    Args:
        path: The file.
        columns: Names of the columns, of which no field may be empty.
        optional: Name of one that may be missing; others are passed over.

    Returns:
        `(line, entry)` of each line after the first: its number, and its fields by the names of
        their columns.

    Raises:
        ValueError: As `lines_of`; or if a column is missing or there twice, or a field is empty.
    """
    lines, (names, *rows) = lines_of(path)
    if not {*columns} <= {*names} or len({*names}) < len(names):
        wanted = ", ".join(columns) + (f" and, if there are any, {optional}" if optional else "")
        raise ValueError(
            f"{path}, line {lines[0]}: the columns {wanted} are expected, each once. Received "
            f"{', '.join(names)}."
        )
    found = []
    for line, row in zip(lines[1:], rows, strict=True):
        entry = {name: field.strip() for name, field in zip(names, row, strict=True)}
        for name in columns:
            if not entry[name]:
                raise ValueError(f"{path}, line {line}: the {name} is empty.")
        found.append((line, entry))
    return found


def _utf8(path):
    data = path.read_bytes()
    try:
        if data.startswith(_OTHER_CODES):
            raise UnicodeDecodeError("utf-8", data, 0, 2, "UTF-16")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {error.start} is not valid UTF-8. Save the file as CSV in "
            "UTF-8."
        ) from None


def _shown(text):
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
