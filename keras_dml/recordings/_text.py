"""Functions that read recordings from text files with one line per time step."""

import codecs
import functools
import gzip
import pathlib
import re
import zlib
from typing import TYPE_CHECKING

import numpy as np

from keras_dml.recordings import _cells, _layout, _table, _times

if TYPE_CHECKING:
    from keras_dml.recordings._options import Options
    from keras_dml.recordings._recording import Signal

UNNAMED = re.compile(r"(?:Unnamed: [0-9]+)?")  # name that pandas gives to a column without a name
EYELINK = {"RECORDING_SESSION_LABEL", "TIMESTAMP"}  # column names in an EyeLink sample report
MOST_UNPACKED = 2**26  # limit for the bytes of decompressed text
MOST_RATIO = 3  # limit for the compression ratio of files larger than 21 MB
START = 2**16  # number of bytes that determine whether a .txt file is a recording
LEAST_UTF16 = 0.9  # fraction of zero bytes at odd or even places in UTF-16 text of Latin letters
MARKS = (
    (codecs.BOM_UTF8, "utf-8", None),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),  # first, because it begins with the UTF-16 mark
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)


def read(path: pathlib.Path, options: "Options") -> tuple["Signal", float]:
    """Reads a text table with one column per channel and one row per time step.

    Raises:
        ValueError: If the file is not text, or if the names or the rows are ambiguous. The message
            contains the line number.
    """
    return _table.read_signal(read_table(path), options)


def read_table(path: pathlib.Path, advice: str = _table.NOT_A_CHANNEL) -> _table.Table:
    """Returns the columns of a text file as a `Table`.

    Args:
        path: Path of the file.
        advice: Last sentence of the error for text in a column of numbers.
    """
    text, notes = _read_text(path)
    layout = _layout.find(path, text)
    del text
    names, left_out = _without_index(layout)
    if EYELINK <= {*names}:  # only the manual of EyeLink states the unit
        names = tuple("TIMESTAMP (ms)" if name == "TIMESTAMP" else name for name in names)
        layout.notes.append("The times of EyeLink were read as milliseconds.")
    names, columns = _table.shortened(names), layout.columns[left_out:]
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
                f"{_quoted(columns[i].cell(error.row))} is not a number. "
                f"{str(error) or advice}"
            ) from None

    def seconds(i):
        if not cells.is_of_dates(i):
            return None
        present = _Present(columns[i])
        values, wrong = _cells.seconds_of_dates(present)
        is_present = np.fromiter((not _cells.is_missing(text) for text in columns[i]), bool)
        if wrong is not None:
            row = np.flatnonzero(is_present)[wrong]
            raise ValueError(
                f"{path}, {place(row)}: the time {_quoted(columns[i].cell(row))} in column "
                f"{names[i]!r} cannot be read. Times must be numbers or dates such as "
                "2026-01-31T12:00:00.02, and all times must have the format of the first one. "
                "Correct the times, or remove the column and state the sampling rate."
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
        lambda i: [*columns[i]],
        functools.cache(cells.is_boolean),
    )


class _Present:
    """Iterable over the cells of a column, without missing cells."""

    def __init__(self, column):
        self._column = column

    def __iter__(self):
        return (text for text in self._column if not _cells.is_missing(text))


def is_recording(path: pathlib.Path) -> bool:
    """Returns whether a text file is a recording. A `.txt` file must contain rows of numbers."""
    if path.suffix.lower() != ".txt":
        return True
    try:
        return _layout.looks_like_table(_read_start(path))
    except (OSError, ValueError):
        return False


def _without_index(layout):
    """Leaves out the first column if it has no name and counts rows.

    If the first column has no name and contains dates, it becomes the time column.

    Returns:
        Names of the remaining columns, and the number of columns that are left out (0 or 1).
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


def _quoted(text):
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def _read_text(path):
    """Reads the text of a file. The file may be compressed by gzip.

    Args:
        path: Path of a file in UTF-8, UTF-16, UTF-32 or Windows-1252 (Latin-1).

    Returns:
        `(text, notes)`. The notes are sentences that describe assumptions about the file.

    Raises:
        ValueError: If the file is not text, if it is a damaged gzip file, or if it is too large
            after decompression.
    """
    data = _unpacked(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    text, encoding = _decoded(path, data)
    notes = () if encoding is None else (f"The text was read as {encoding}.",)
    if "\0" in text:
        whole = text.rstrip("\0")
        if "\0" in whole:
            line = whole.count("\n", 0, whole.index("\0")) + 1
            raise ValueError(
                f"{path}, line {line} is not text, because it holds a zero byte. Save the file as "
                "CSV in UTF-8."
            )
        text = whole
        notes += ("Zero bytes at the end of the file were left out.",)
    return text, notes


def _read_start(path):
    """Reads the first lines of a text file that is not compressed."""
    with path.open("rb") as file:
        text, _ = _decoded(path, file.read(START))
    return text.rpartition("\n")[0] or text


def _unpacked(path):
    # The size is limited, because a few kilobytes may decompress to gigabytes.
    most = max(MOST_UNPACKED, MOST_RATIO * path.stat().st_size)
    try:
        with gzip.open(path) as file:
            data = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path} is not a complete gzip file: {error}. Compress the csv file again, or use "
            "the uncompressed file."
        ) from None
    if len(data) > most:
        raise ValueError(
            f"{path} has more than {most >> 20} MiB after decompression. Decompress it, or cut the "
            "recording into several files."
        )
    return data


def _decoded(path, data):
    """Decodes bytes to text. Returns the text and the name of the encoding. The name is None for
    UTF-8."""
    for mark, codec, name in MARKS:
        if data.startswith(mark):
            return _strictly(path, data, "utf-8-sig" if name is None else codec), name
    if codec := _unmarked_utf16(data):
        return _strictly(path, data, codec), "UTF-16"
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        if "end of data" in error.reason:  # the logger stopped within a character
            return data[: error.start].decode("utf-8"), None
    try:
        return data.decode("cp1252"), "Windows-1252 (Latin-1)"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "Latin-1"


def _strictly(path, data, codec):
    whole = {"utf-16": 2, "utf-16-le": 2, "utf-16-be": 2, "utf-32": 4}.get(codec, 1)
    try:
        return data[: len(data) // whole * whole].decode(codec)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {error.start} is not valid {codec.upper()}, the encoding "
            "that the first bytes of the file state. Save the file as CSV in UTF-8."
        ) from None


def _unmarked_utf16(data):
    """Detects UTF-16 text without a byte order mark. Returns the codec of the text, or None if the
    encoding is uncertain."""
    first, second = data[:4096:2], data[1:4096:2]
    if len(second) < 2:
        return None
    zeros = first.count(0) / len(first), second.count(0) / len(second)
    if zeros[0] == 0 and zeros[1] >= LEAST_UTF16:
        return "utf-16-le"
    if zeros[1] == 0 and zeros[0] >= LEAST_UTF16:
        return "utf-16-be"
    return None
