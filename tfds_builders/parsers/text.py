"""Functions that read ASCII text and tables of numbers.

Parsers of text formats use these functions. PyArrow reads tables at 100 MB/s or more. If PyArrow
refuses a table, slower functions read the table or find the line with the error.
"""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np
import pyarrow
from pyarrow import csv

from tfds_builders.common.errors import FormatError, quoted

_LARGEST = float(np.finfo(np.float32).max)
_BLOCK = 1 << 20  # bytes above which Arrow starts threads; for fewer bytes, threads cost more time
_BOM = b"\xef\xbb\xbf"
_COMMENT = re.compile(rb"^#[^\r\n]*", re.MULTILINE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_text(file: BinaryIO, name: str, comments: bool = False) -> str:
    """Reads ASCII text as `str`. See `read_ascii`."""
    return read_ascii(file, name, comments).decode("ascii")


def read_ascii(file: BinaryIO, name: str, comments: bool = False) -> bytes:
    """Reads the bytes of ASCII text, removes a byte order mark, and changes line ends to LF.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        comments: Whether lines that begin with `#` are comments. Comments may have any encoding.
            The function replaces comments by empty lines.

    Raises:
        FormatError: If the text contains a NUL byte or a byte that is not ASCII, for example
            because it is in UTF-16.
    """
    data = file.read().removeprefix(_BOM)
    if comments:
        data = _COMMENT.sub(b"", data)
    if not data.isascii() or b"\0" in data:
        at = next(i for i, byte in enumerate(data) if byte > 127 or byte == 0)
        raise FormatError(
            name, f"byte {at}", f"the file contains the byte 0x{data[at]:02x}", "plain ASCII text",
            "The file is damaged or saved in another encoding. Unpack it again from the archive.",
        )  # fmt: skip
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def check_end(text: str | bytes, name: str, fix: str) -> None:
    """Checks that the last line has a line end. Without a line end, the last number may be
    incomplete.

    Args:
        text: Text that `read_text` or `read_ascii` returned.
        name: Name of the file, for error messages.
        fix: Last sentence of the error message, which tells users what to do.

    Raises:
        FormatError: If the last line does not have a line end.
    """
    if isinstance(text, bytes):
        if text.endswith(b"\n"):
            return
        text = text.decode()
    if not text.endswith("\n"):
        line = text.count("\n") + 1
        last = text[text.rfind("\n") + 1 :]
        raise FormatError(
            name, f"line {line}", f"the file ends with {quoted(last[-40:])}", "a line end", fix
        )


def is_number(text: str) -> bool:
    """Returns whether a text is a finite decimal number in the range of float32.

    Texts with underscores, `nan` and `inf` are not numbers.
    """
    return _NUMBER.fullmatch(text) is not None and abs(float(text)) <= _LARGEST


def read_columns(
    table: bytes | memoryview, names: list[str], types: dict[str, type], *, separator: str
) -> dict[str, np.ndarray] | None:
    """Reads columns of numbers or words with PyArrow.

    Args:
        table: ASCII text.
        names: Names of all columns, in their order.
        types: Mapping that names the columns to read, and gives the type of each column: a NumPy
            type or `str`.
        separator: The character between two columns.

    Returns:
        Dictionary from the names of the columns to the columns. None if a line does not have one
        value per column, or if a value does not have the type of its column. `nan` and `inf` are
        valid floats.
    """
    arrow_types = {
        name: pyarrow.string() if dtype is str else pyarrow.from_numpy_dtype(dtype)
        for name, dtype in types.items()
    }
    try:
        columns = csv.read_csv(
            pyarrow.BufferReader(table),
            csv.ReadOptions(column_names=names, use_threads=len(table) > _BLOCK),
            csv.ParseOptions(delimiter=separator, quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=arrow_types, include_columns=list(types), null_values=[]
            ),
        )
    except pyarrow.ArrowInvalid:
        return None
    return {name: columns[name].to_numpy() for name in types}


def numbers(
    lines: list[str], columns: int, *, name: str, first_line: int, separator: str | None, fix: str
) -> np.ndarray:
    """Reads lines of numbers into a table. Each line must have the same number of columns.

    Args:
        lines: The lines, without line ends.
        columns: Required number of columns.
        name: Name of the file, for error messages.
        first_line: Number of the first line in the file, for error messages.
        separator: The character between two numbers, or None for spaces and tabs.
        fix: Last sentence of the error message, which tells users what to do.

    Returns:
        The numbers as float32, shape (lines, columns).

    Raises:
        FormatError: If a line does not have `columns` columns, or if a value is not a finite
            number.
    """
    table = _by_arrow(lines, columns, separator)
    if table is None:
        table = _by_numpy(lines, columns, separator)
    if table is None:
        raise _first_error(lines, columns, name, first_line, separator, fix)
    return table


def finite_table(columns: list[np.ndarray]) -> np.ndarray | None:
    """Joins columns into a float32 table of shape (lines, columns). Returns None if a value is not
    finite.
    """
    with np.errstate(over="ignore"):
        table = np.stack(columns, axis=1).astype(np.float32)
    return table if np.isfinite(table).all() else None


def _by_arrow(lines: list[str], columns: int, separator: str | None) -> np.ndarray | None:
    text = "\n".join(lines).encode()
    if separator is None:
        text = text.replace(b"\t", b" ")
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        if text.startswith(b" ") or b"\n " in text or b" \n" in text or text.endswith(b" "):
            text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    names = [str(column) for column in range(columns)]
    types = dict.fromkeys(names, np.float64)
    values = read_columns(text, names, types, separator=separator or " ")
    if values is None or len(values[names[0]]) != len(lines):  # Arrow skips an empty last line
        return None
    return finite_table(list(values.values()))


def _by_numpy(lines: list[str], columns: int, separator: str | None) -> np.ndarray | None:
    if not lines[0].strip():  # NumPy skips empty lines, and warns if there are only empty lines
        return None
    try:
        with np.errstate(over="ignore"):
            table = np.loadtxt(
                lines, np.float64, delimiter=separator, comments=None, ndmin=2
            ).astype(np.float32)
    except (ValueError, OverflowError):
        return None
    is_whole = table.shape == (len(lines), columns) and np.isfinite(table).all()
    return table if is_whole else None


def _first_error(lines, columns, name, first_line, separator, fix) -> FormatError:
    for number, line in enumerate(lines, first_line):
        cells = [cell.strip() for cell in line.split(separator)]
        if len(cells) != columns:
            received = f"the line has {len(cells)} values"
            return FormatError(name, f"line {number}", received, f"{columns} values", fix)
        for cell in cells:
            if not is_number(cell):
                return FormatError(name, f"line {number}", quoted(cell), "a finite number", fix)
    received = "the numbers cannot be read"
    return FormatError(name, "", received, "a table of finite numbers", fix)
