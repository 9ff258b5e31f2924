"""Parser for gaze recordings of GazeBase (Griffith2021). Each text file has the gaze of one person
in one task.

The header names the columns. The order of the columns differs between tasks. The column `n` is the
time in milliseconds, `x` and `y` are the gaze in degrees, and `val` is 0 if the tracker saw the
eye. `dP` is the pupil size in units of the tracker, `xT` and `yT` are the position of a target, and
`lab` is an event. Unknown values are `NaN`.
"""

from __future__ import annotations

import dataclasses
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end, is_number, read_ascii, read_columns

RATE_HZ = 1000
COLUMNS = ("n", "x", "y", "val", "dP", "lab", "xT", "yT")
_INTEGERS = {
    "n": 3_600_000,
    "val": 255,
}  # largest value of each column; the largest time is an hour
_KEPT = ("x", "y", "dP")
_LARGEST = float(np.finfo(np.float32).max)
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Recording:
    """Gaze of one person in one task.

    Attributes:
        time_ms: Strictly increasing times in milliseconds, (T,) int32.
        sequence: Signals, shape (T, 3), float32. The columns are x and y in degrees, and the pupil
            size in units of the tracker. Unknown values are NaN.
        valid: Array (T,) uint8 with the value 1 if the tracker saw the eye and x and y are known,
            and 0 otherwise.
    """

    time_ms: np.ndarray
    sequence: np.ndarray
    valid: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Recording:
    """Reads `S_<round><subject>_S<session>_<task>.csv`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        Recording with at least one sample and without infinite values.

    Raises:
        FormatError: If a line does not have the expected form. The error names the line.
    """
    content = read_ascii(file, name)
    head = content.split(b"\n", 1)[0].decode()
    table = memoryview(content)[len(head) + 1 :]
    columns = head.split(",")
    if sorted(columns) != sorted(COLUMNS):
        expected = f"the columns {','.join(COLUMNS)} in any order"
        raise FormatError(name, "line 1", quoted(head), expected, _FIX)
    if not table:
        raise FormatError(name, "", "the file has no samples", "one line per sample", _FIX)
    if columns[-1] in (*_INTEGERS, *_KEPT):
        check_end(content, name, _FIX)
    values = _numbers(table, columns)
    if values is None:
        raise _first_error(_lines(table), columns, name)
    for column in _INTEGERS:
        _check_integers(values[column], column, table, name)
    back = np.flatnonzero(np.diff(values["n"]) <= 0)
    if back.size:
        at = int(back[0]) + 1
        expected = f"a time after {values['n'][at - 1]:.0f}, the time of the previous line"
        raise _error_at(at, table, expected, name)
    seen = (values["val"] == 0) & np.isfinite(values["x"]) & np.isfinite(values["y"])
    sequence = np.stack([values[column] for column in _KEPT], axis=1).astype(np.float32)
    return Recording(values["n"].astype(np.int32), sequence, seen.astype(np.uint8))


def _numbers(table: memoryview, columns: list[str]) -> dict[str, np.ndarray] | None:
    """Returns the columns that are used, each of shape (T,) float64, or None if a line does not
    have the expected form.
    """
    wanted = dict.fromkeys((*_INTEGERS, *_KEPT), np.float64)
    values = read_columns(table, columns, wanted, separator=",")
    too_large = values is not None and any(
        (np.abs(values[column]) > _LARGEST).any() for column in _KEPT
    )
    return None if too_large else values


def _check_integers(values: np.ndarray, column: str, table: memoryview, name: str) -> None:
    largest = _INTEGERS[column]
    odd = np.flatnonzero(~((values >= 0) & (values <= largest) & (values == np.floor(values))))
    if odd.size:
        expected = f"a whole number from 0 to {largest:,} in the column {column}"
        raise _error_at(int(odd[0]), table, expected, name)


def _error_at(sample: int, table: memoryview, expected: str, name: str) -> FormatError:
    line = _lines(table)[sample]
    return FormatError(name, f"line {sample + 2}", quoted(line), expected, _FIX)


def _lines(table: memoryview) -> list[str]:
    return bytes(table).decode().removesuffix("\n").split("\n")


def _first_error(lines: list[str], columns: list[str], name: str) -> FormatError:
    for number, line in enumerate(lines, 2):
        cells = line.split(",")
        if len(cells) != len(columns):
            received, expected = f"the line has {len(cells)} values", f"{len(columns)} values"
            return FormatError(name, f"line {number}", received, expected, _FIX)
        for cell in cells:
            if not is_number(cell) and cell != "NaN":
                return FormatError(name, f"line {number}", quoted(cell), "a number or NaN", _FIX)
    return FormatError(name, "", "the numbers cannot be read", "a table of numbers", _FIX)
