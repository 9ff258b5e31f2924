"""Gaze recordings of GazeBase (Griffith2021): one person doing one task, as text.

A header names the columns, whose order differs from task to task: `n` time in milliseconds, `x`
and `y` gaze in degrees, `val` 0 where the eye was seen, `dP` the pupil in units of the tracker,
`xT` and `yT` a target, `lab` an event. `NaN` stands where something is not known.
"""

from __future__ import annotations

import dataclasses
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, shown
from tfds_builders.parsers.text import is_number, read_text

RATE_HZ = 1000
COLUMNS = ("n", "x", "y", "val", "dP", "lab", "xT", "yT")
_INTEGERS = {"n": 3_600_000, "val": 255}  # the largest of each; an hour of milliseconds
_LARGEST = float(np.finfo(np.float32).max)
_FIX = "The file seems cut or edited; unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Recording:
    """One person doing one task.

    Attributes:
        time_ms: (T,) int32, each above the one before.
        sequence: (T, 3) float32: x and y in degrees, the pupil in units of the tracker; NaN where
            not known.
        valid: (T,) uint8, 1 where the eye was seen and both degrees are known.
    """

    time_ms: np.ndarray
    sequence: np.ndarray
    valid: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Recording:
    """Reads `S_<round><subject>_S<session>_<task>.csv`.

    Args:
        file: The open file.
        name: Its name, for errors.

    Returns:
        The recording; at least one sample, no infinity.

    Raises:
        FormatError: Naming the line that does not fit.
    """
    head, *lines = read_text(file, name).removesuffix("\n").split("\n")
    columns = head.split(",")
    if sorted(columns) != sorted(COLUMNS):
        expected = f"the columns {','.join(COLUMNS)} in any order"
        raise FormatError(name, "line 1", shown(head), expected, _FIX)
    if not lines:
        raise FormatError(name, "", "no samples", "one line a sample", _FIX)
    table = _table(lines)
    if table is None:
        raise _first_error(lines, columns, name)
    of = {column: table[:, at] for at, column in enumerate(columns)}
    _check_integers(of, lines, name)
    back = np.flatnonzero(np.diff(of["n"]) <= 0)
    if back.size:
        at = int(back[0]) + 1
        expected = f"a time after the {of['n'][at - 1]:.0f} of the line above"
        raise FormatError(name, f"line {at + 2}", shown(lines[at]), expected, _FIX)
    sequence = np.stack([of["x"], of["y"], of["dP"]], axis=1).astype(np.float32)
    valid = (of["val"] == 0) & np.isfinite(sequence[:, :2]).all(axis=1)
    return Recording(of["n"].astype(np.int32), sequence, valid.astype(np.uint8))


def _table(lines: list[str]) -> np.ndarray | None:
    """All numbers, (T, 8) float64; None where a line does not fit."""
    try:
        table = np.loadtxt(lines, np.float64, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    good = table.shape == (len(lines), len(COLUMNS)) and not (np.abs(table) > _LARGEST).any()
    return table if good else None


def _check_integers(of: dict[str, np.ndarray], lines: list[str], name: str) -> None:
    for column, largest in _INTEGERS.items():
        values = of[column]
        odd = np.flatnonzero(~((values >= 0) & (values <= largest) & (values % 1 == 0)))
        if odd.size:
            at = int(odd[0])
            expected = f"a whole number from 0 to {largest:,} as {column}"
            raise FormatError(name, f"line {at + 2}", shown(lines[at]), expected, _FIX)


def _first_error(lines: list[str], columns: list[str], name: str) -> FormatError:
    for number, line in enumerate(lines, 2):
        cells = line.split(",")
        if len(cells) != len(columns):
            found, expected = f"{len(cells)} values", f"{len(columns)} values"
            return FormatError(name, f"line {number}", found, expected, _FIX)
        for cell in map(str.strip, cells):
            if not is_number(cell) and cell != "NaN":
                return FormatError(name, f"line {number}", shown(cell), "a number or NaN", _FIX)
    return FormatError(name, "", "numbers that cannot be read", "a table of numbers", _FIX)
