"""The text under every text format: one way to decode, two ways to read a table of numbers."""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np
import pyarrow
from pyarrow import csv

from tfds_builders.common.errors import FormatError, shown

_LARGEST = float(np.finfo(np.float32).max)
_BLOCK = 1 << 20  # bytes that one thread reads; to wake others for less takes longer
_BOM = b"\xef\xbb\xbf"
_COMMENT = re.compile(rb"^#[^\r\n]*", re.MULTILINE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_text(file: BinaryIO, name: str, comments: bool = False) -> str:
    """Reads ASCII text, see `read_ascii`."""
    return read_ascii(file, name, comments).decode("ascii")


def read_ascii(file: BinaryIO, name: str, comments: bool = False) -> bytes:
    """Reads the bytes of ASCII text: a byte order mark is passed over, line ends become LF.

    Args:
        file: The open file.
        name: Its name, for errors.
        comments: Whether lines that begin with `#` are comments; these become empty lines,
            whatever their encoding.

    Raises:
        FormatError: On a NUL, on UTF-16, on any byte beyond ASCII.
    """
    data = file.read().removeprefix(_BOM)
    if comments:
        data = _COMMENT.sub(b"", data)
    if not data.isascii() or b"\0" in data:
        at = next(i for i, byte in enumerate(data) if byte > 127 or byte == 0)
        raise FormatError(
            name, f"byte {at}", f"the byte 0x{data[at]:02x}", "plain ASCII text",
            "The file is damaged or saved in another encoding; take it again from the archive.",
        )  # fmt: skip
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def check_end(text: str, name: str, fix: str) -> None:
    """Refuses text whose last line has no end: its last number may be cut.

    Args:
        text: What `read_text` gave.
        name: Name of the file, for errors.
        fix: Last sentence of an error.

    Raises:
        FormatError: Naming the last line.
    """
    if not text.endswith("\n"):
        line = text.count("\n") + 1
        last = text[text.rfind("\n") + 1 :]
        raise FormatError(
            name, f"line {line}", f"{shown(last[-40:])} and no more", "a line end", fix
        )


def is_number(text: str) -> bool:
    """Whether text is a decimal number that float32 holds: no nan, no inf, no underscores."""
    return _NUMBER.fullmatch(text) is not None and abs(float(text)) <= _LARGEST


def read_columns(
    table: bytes | memoryview, names: list[str], wanted: dict[str, type], *, separator: str
) -> dict[str, np.ndarray] | None:
    """Reads columns of numbers by Arrow, several times as fast as line by line.

    Args:
        table: ASCII text.
        names: Names of all columns, in their order.
        wanted: NumPy's type of each column that is wanted, by its name.
        separator: The character between two columns.

    Returns:
        The wanted columns by their names; None where a line has another number of columns, or a
        wanted one something that is no number of its type (nan and inf are floats).
    """
    types = {name: pyarrow.from_numpy_dtype(dtype) for name, dtype in wanted.items()}
    try:
        found = csv.read_csv(
            pyarrow.BufferReader(table),
            csv.ReadOptions(column_names=names, use_threads=len(table) > _BLOCK),
            csv.ParseOptions(delimiter=separator, quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
    except pyarrow.ArrowInvalid:
        return None
    return {name: found[name].to_numpy() for name in wanted}


def numbers(
    lines: list[str], columns: int, *, name: str, first_line: int, separator: str | None, fix: str
) -> np.ndarray:
    """Reads lines of equally many numbers.

    Args:
        lines: The lines, without line ends.
        columns: Numbers a line.
        name: Name of the file, for errors.
        first_line: Number of the first of these lines in its file, for errors.
        separator: What stands between two numbers; None for blanks.
        fix: Last sentence of an error.

    Returns:
        The numbers, shape (lines, columns), float32.

    Raises:
        FormatError: Naming the first line with another count or with something that is not a finite
            number.
    """
    table = _fast(lines, columns, separator)
    if table is None:
        raise _first_error(lines, columns, name, first_line, separator, fix)
    return table


def _fast(lines: list[str], columns: int, separator: str | None) -> np.ndarray | None:
    if not lines[0].strip():  # NumPy passes over empty lines, and warns where there is no other
        return None
    try:
        with np.errstate(over="ignore"):
            table = np.loadtxt(
                lines, np.float64, delimiter=separator, comments=None, ndmin=2
            ).astype(np.float32)
    except (ValueError, OverflowError):
        return None
    good = table.shape == (len(lines), columns) and np.isfinite(table).all()
    return table if good else None


def _first_error(lines, columns, name, first_line, separator, fix) -> FormatError:
    for number, line in enumerate(lines, first_line):
        cells = [cell.strip() for cell in line.split(separator)]
        if len(cells) != columns:
            return FormatError(
                name, f"line {number}", f"{len(cells)} values", f"{columns} values", fix
            )
        for cell in cells:
            if not is_number(cell):
                return FormatError(name, f"line {number}", shown(cell), "a finite number", fix)
    return FormatError(name, "", "numbers that cannot be read", "a table of finite numbers", fix)
