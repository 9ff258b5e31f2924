"""Trials of MotionSense (Malekzadeh2019): what an iPhone's motion service gave, and the people.

A trial has a header and lines of 13 values between commas: a number that counts the samples, in a
column without a name, then attitude (rad), gravity (g), rotation rate (rad/s) and the user's own
acceleration (g). `data_subjects_info.csv` has a line for each person.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, shown
from tfds_builders.parsers.text import check_end, numbers, read_text

RATE_HZ = 50
CHANNELS = (
    *(f"attitude.{angle}" for angle in ("roll", "pitch", "yaw")),
    *(f"{signal}.{axis}" for signal in ("gravity", "rotationRate", "userAcceleration")
      for axis in "xyz"),
)  # fmt: skip
SEXES = ("female", "male")  # 0 and 1 in the file
_HEADER = ",".join(("", *CHANNELS))
_COLUMNS = ("code", "weight", "height", "age", "gender")
_MOST = {"code": 999, "weight": 500, "height": 300, "age": 130, "gender": 1}
_LEAST = dict.fromkeys(_COLUMNS, 1) | {"gender": 0}
_INDEX = re.compile(r"\d{1,9}")
_WHOLE = re.compile(r"\d{1,3}")
_FIX = "The file seems cut or edited; unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Trial:
    """One activity of one person.

    Attributes:
        sequence: (T, 12) float32, columns `CHANNELS`.
    """

    sequence: np.ndarray


@dataclasses.dataclass(frozen=True)
class Person:
    """What is written about one person.

    Attributes:
        weight: Kilograms.
        height: Centimeters.
        age: Years.
        sex: One of `SEXES`.
    """

    weight: int
    height: int
    age: int
    sex: str


@dataclasses.dataclass(frozen=True)
class People:
    """All people.

    Attributes:
        by_code: The people by their numbers.
    """

    by_code: dict[int, Person]


def parse(file: BinaryIO, *, name: str) -> Trial:
    """Reads a trial, such as `wlk_7/sub_1.csv`.

    Args:
        file: The open file.
        name: Its name, for errors.

    Returns:
        The trial; at least one sample, every value finite.

    Raises:
        FormatError: On another header, or naming the line that does not have its number and 12
            values, or whose number does not go up.
    """
    text = read_text(file, name)
    header, _, body = text.partition("\n")
    if header.strip() != _HEADER:
        raise FormatError(name, "line 1", shown(header), f"the header {_HEADER[:14]},…", _FIX)
    lines = body.removesuffix("\n").split("\n")
    previous = -1
    for number, line in enumerate(lines, 2):
        index = line.partition(",")[0]
        good = line.count(",") == len(CHANNELS) and _INDEX.fullmatch(index)
        if not good or int(index) <= previous:
            expected = f"a number above {previous} and {len(CHANNELS)} values"
            raise FormatError(name, f"line {number}", shown(line), expected, _FIX)
        previous = int(index)
    check_end(text, name, _FIX)
    values = [line.partition(",")[2] for line in lines]
    return Trial(numbers(values, len(CHANNELS), name=name, first_line=2, separator=",", fix=_FIX))


def parse_people(file: BinaryIO, *, name: str) -> People:
    """Reads `data_subjects_info.csv`; its last line has no end.

    Args:
        file: The open file.
        name: Its name, for errors.

    Returns:
        The people; at least one.

    Raises:
        FormatError: Naming the line that does not have five whole numbers in their ranges, or a
            person for the second time.
    """
    header, *lines = read_text(file, name).strip().split("\n")
    if header.strip() != ",".join(_COLUMNS):
        raise FormatError(name, "line 1", shown(header), f"the header {','.join(_COLUMNS)}", _FIX)
    by_code: dict[int, Person] = {}
    for number, line in enumerate(lines, 2):
        code, weight, height, age, gender = _whole_numbers(line, number, name)
        if code in by_code:
            raise FormatError(name, f"line {number}", f"person {code} again", "each once", _FIX)
        by_code[code] = Person(weight, height, age, SEXES[gender])
    if not by_code:
        raise FormatError(name, "", "no people", "a line each", _FIX)
    return People(by_code)


def _whole_numbers(line: str, number: int, name: str) -> list[int]:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(_COLUMNS):
        expected = f"{len(_COLUMNS)} values"
        raise FormatError(name, f"line {number}", f"{len(cells)} values", expected, _FIX)
    for column, cell in zip(_COLUMNS, cells, strict=True):
        least, most = _LEAST[column], _MOST[column]
        if not _WHOLE.fullmatch(cell) or not least <= int(cell) <= most:
            expected = f"a whole number from {least} to {most}"
            raise FormatError(name, f"line {number}, {column}", shown(cell), expected, _FIX)
    return [int(cell) for cell in cells]
