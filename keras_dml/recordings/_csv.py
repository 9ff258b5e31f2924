"""Recordings as text: a line of column names, then a line a step."""

import codecs
import csv
import io

import numpy as np

from keras_dml.recordings import _table, _times

DELIMITERS = ",;\t"
MISSING = {"", ".", "-", "--", "nan", "na", "n/a", "#n/a", "null", "none"}  # in lower case
_OTHER_CODES = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read(path):
    """The table of a file.

    Raises:
        ValueError: If it is not valid UTF-8, has no line of names, or a row is ragged; the message
            names the line.
    """
    lines, rows = lines_of(path)
    names, header = tuple(rows[0]), f"line {lines[0]}"
    _check_header(path, names, header)
    columns = list(zip(*rows[1:], strict=True)) or [()] * len(names)

    def place(row):
        return f"line {lines[row + 1]}"

    def numbers(i):
        texts = ["nan" if _is_missing(text) else text for text in columns[i]]
        try:
            return np.array(texts, np.float64)
        except ValueError:
            row = next(row for row, text in enumerate(texts) if not _is_number(text))
            raise ValueError(
                f"{path}, {place(row)}, column {names[i]!r}: {_shown(columns[i][row])} is not "
                f"a number. {_advice(columns[i][row])}"
            ) from None

    def seconds(i):
        texts = columns[i]
        first = next((text for text in texts if not _is_missing(text)), "nan")
        if _is_number(first):
            return None
        dates = [None if _is_missing(text) else text for text in texts]
        return _times.seconds_of(path, names[i], dates, place)

    def is_text(i):
        return 2 * sum(map(_is_number, columns[i])) < len(columns[i])

    return _table.Table(path, names, header, place, numbers, seconds, is_text=is_text)


def lines_of(path):
    """All lines of a file that are not empty, as many fields in each.

    Returns:
        `(lines, rows)`: the number of each line, and its fields.

    Raises:
        ValueError: If it is empty, no text in UTF-8, or ragged.
    """
    text = _text(path)
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


def _check_header(path, names, where):
    """Refuses a first line of numbers, and columns without a name or with that of another."""
    if all(_is_number(name) for name in names):
        raise ValueError(
            f"{path}, {where}: names of the columns are expected, such as x,y,z. Received "
            f"{_shown(','.join(names))}. Put a line of names in front."
        )
    for i, name in enumerate(names):
        if not name or name in names[:i]:
            which = f"has the name {name!r} of another" if name else "has no name"
            raise ValueError(
                f"{path}, {where}: column {i + 1} {which}. Give each column a name of its own."
            )


def _text(path):
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


def _is_missing(text):
    return text.strip().casefold() in MISSING


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _advice(text):
    if text.count(",") == 1 and _is_number(text.replace(",", ".")):
        return "Write decimals with a point."
    return "Name the columns that are channels."


def _shown(text):
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
