"""Parsers for MotionSense (Malekzadeh2019). One parser reads files with the motion of an iPhone,
and the other parser reads the table of the people.

The file of a trial has a header, then lines of 13 comma-separated values. The first value is the
number of the sample, and its column has no name. The other values are the attitude (rad), gravity
(g), the rotation rate (rad/s) and the acceleration of the user without gravity (g). The file
`data_subjects_info.csv` has one line for each person.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end, finite_table, numbers, read_columns, read_text

RATE_HZ = 50
CHANNELS = (
    *(f"attitude.{angle}" for angle in ("roll", "pitch", "yaw")),
    *(f"{signal}.{axis}" for signal in ("gravity", "rotationRate", "userAcceleration")
      for axis in "xyz"),
)  # fmt: skip
SEXES = ("female", "male")  # the file has the numbers 0 and 1
_HEADER = ",".join(("", *CHANNELS))
_COLUMNS = ("code", "weight", "height", "age", "gender")
_MOST = {"code": 999, "weight": 500, "height": 300, "age": 130, "gender": 1}
_LEAST = dict.fromkeys(_COLUMNS, 1) | {"gender": 0}
_INDEX = re.compile(r"\d{1,9}")
_LINES = re.compile(rb"(?:\d{1,9}+(?:,[^,\n]++){12}+\n)++")
_WHOLE = re.compile(r"\d{1,3}")
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Trial:
    """Signals of one person in one trial of an activity.

    Attributes:
        sequence: Signals, shape (T, 12), float32. The columns are `CHANNELS`.
    """

    sequence: np.ndarray


@dataclasses.dataclass(frozen=True)
class Person:
    """Description of a person in one line of the table.

    Attributes:
        weight: Weight in kilograms.
        height: Height in centimeters.
        age: Age in years.
        sex: One of `SEXES`.
    """

    weight: int
    height: int
    age: int
    sex: str


@dataclasses.dataclass(frozen=True)
class People:
    """Table of the people.

    Attributes:
        by_code: Mapping from the number of each person to the person.
    """

    by_code: dict[int, Person]


def parse(file: BinaryIO, *, name: str) -> Trial:
    """Reads a trial, such as `wlk_7/sub_1.csv`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        Trial with at least one sample and only finite values.

    Raises:
        FormatError: If the header is not the expected header, if a line does not have a number and
            12 values, or if the numbers of the samples do not increase.
    """
    text = read_text(file, name)
    header, _, body = text.partition("\n")
    if header.strip() != _HEADER:
        raise FormatError(name, "line 1", quoted(header), f"the header {_HEADER[:14]},…", _FIX)
    sequence = _by_arrow(body.encode())
    return Trial(_by_lines(text, body, name) if sequence is None else sequence)


def _by_arrow(body: bytes) -> np.ndarray | None:
    """Returns the signals, or None if a line does not have the expected form or if the last line
    has no line end.
    """
    if not _LINES.fullmatch(body):
        return None
    types = {"": np.int64, **dict.fromkeys(CHANNELS, np.float64)}
    columns = read_columns(body, list(types), types, separator=",")
    if columns is None or (np.diff(columns[""]) <= 0).any():
        return None
    return finite_table([columns[channel] for channel in CHANNELS])


def _by_lines(text: str, body: str, name: str) -> np.ndarray:
    lines = body.removesuffix("\n").split("\n")
    previous = -1
    for number, line in enumerate(lines, 2):
        index = line.partition(",")[0]
        good = line.count(",") == len(CHANNELS) and _INDEX.fullmatch(index)
        if not good or int(index) <= previous:
            expected = f"a sample number above {previous}, then {len(CHANNELS)} values"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        previous = int(index)
    check_end(text, name, _FIX)
    values = [line.partition(",")[2] for line in lines]
    return numbers(values, len(CHANNELS), name=name, first_line=2, separator=",", fix=_FIX)


def parse_people(file: BinaryIO, *, name: str) -> People:
    """Reads `data_subjects_info.csv`, the table of the people.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The people. The table has at least one person.

    Raises:
        FormatError: If a line does not have five whole numbers in the allowed ranges, or if a
            person has two lines.
    """
    header, *lines = read_text(file, name).strip().split("\n")
    if header.strip() != ",".join(_COLUMNS):
        raise FormatError(name, "line 1", quoted(header), f"the header {','.join(_COLUMNS)}", _FIX)
    by_code: dict[int, Person] = {}
    for number, line in enumerate(lines, 2):
        code, weight, height, age, gender = _whole_numbers(line, number, name)
        if code in by_code:
            received = f"person {code} occurs again"
            raise FormatError(name, f"line {number}", received, "each person once", _FIX)
        by_code[code] = Person(weight, height, age, SEXES[gender])
    if not by_code:
        raise FormatError(name, "", "the file names no people", "one line per person", _FIX)
    return People(by_code)


def _whole_numbers(line: str, number: int, name: str) -> list[int]:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(_COLUMNS):
        expected = f"{len(_COLUMNS)} values"
        received = f"the line has {len(cells)} values"
        raise FormatError(name, f"line {number}", received, expected, _FIX)
    for column, cell in zip(_COLUMNS, cells, strict=True):
        least, most = _LEAST[column], _MOST[column]
        if not _WHOLE.fullmatch(cell) or not least <= int(cell) <= most:
            expected = f"a whole number from {least} to {most}"
            raise FormatError(name, f"line {number}, {column}", quoted(cell), expected, _FIX)
    return [int(cell) for cell in cells]
