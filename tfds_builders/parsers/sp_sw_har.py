"""Parsers for a data set that a watch and a phone recorded (MateySanz2023). One parser reads a
recording, and two parsers read the two tables.

The file of a run has a header, then lines of eight comma-separated values: acceleration (m/s^2) and
angular rate (rad/s) for x, y and z, the Unix time in milliseconds, and the activity. The time of a
sample is the time at which the device delivered the sample. Times are therefore unevenly spaced,
and several samples may have the same time. The tables describe the people and the runs.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import (
    check_end,
    finite_table,
    numbers,
    read_ascii,
    read_columns,
)

CHANNELS = ("x_acc", "y_acc", "z_acc", "x_gyro", "y_gyro", "z_gyro")
ACTIVITIES = ("SEATED", "STANDING_UP", "WALKING", "TURNING", "SITTING_DOWN")
SEXES = {"F": "female", "M": "male"}
HANDS = {"L": "left", "R": "right"}
TURNS = {"l": "left", "r": "right"}
ORIENTATIONS = ("front", "front_inv", "back", "back_inv")
LEAST_TYPICAL = 5.0  # m/s^2: half of gravity
_HEADER = ",".join((*CHANNELS, "timestamp", "label"))
_PEOPLE_HEADER = "subject_id,age,gender,height,weight,dominant_hand,executions"
_RUNS_HEADER = "execution_id,orientation,first_turn,second_turn"
_TIME = re.compile(r"\d{12,13}")  # from 1973 on
_INDEX = {word: index for index, word in enumerate(ACTIVITIES)}
_LINES = re.compile(rb"(?:(?:[^,\n]++,){6}+\d{12,13}+,(?:%b)\n)++" % "|".join(ACTIVITIES).encode())
_WHOLE = re.compile(r"\d{1,3}")
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a person, recorded by one device.

    Attributes:
        time_ms: Unix times in milliseconds, (T,) int64. Times never decrease, but neighboring times
            may be equal.
        sequence: Signals, shape (T, 6), float32. The columns are `CHANNELS`: acceleration with
            gravity in m/s^2, then angular rate in rad/s.
        activity: Activity of each sample as an index into `ACTIVITIES`, (T,) uint8.
    """

    time_ms: np.ndarray
    sequence: np.ndarray
    activity: np.ndarray


@dataclasses.dataclass(frozen=True)
class Person:
    """Description of a person in one line of the table.

    Attributes:
        age: Age in years.
        sex: One of the values of `SEXES`.
        height: Height in centimeters.
        weight: Weight in kilograms.
        hand: Dominant hand, `"left"` or `"right"`.
        runs: Number of runs of the person.
    """

    age: int
    sex: str
    height: int
    weight: int
    hand: str
    runs: int


@dataclasses.dataclass(frozen=True)
class Conditions:
    """Conditions of a run, from one line of the table.

    Attributes:
        orientation: Orientation of the phone in the pocket, one of `ORIENTATIONS`.
        first_turn: Direction of the turn between the two walks, `"left"` or `"right"`.
        second_turn: Direction of the turn in front of the chair, `"left"` or `"right"`.
    """

    orientation: str
    first_turn: str
    second_turn: str


@dataclasses.dataclass(frozen=True)
class People:
    """Table of the people.

    Attributes:
        by_id: Mapping from the id of each person, such as `"s01"`, to the person.
    """

    by_id: dict[str, Person]


@dataclasses.dataclass(frozen=True)
class Runs:
    """Table of the runs.

    Attributes:
        by_id: Mapping from the id of each run, such as `"s01_01"`, to the conditions of the run.
    """

    by_id: dict[str, Conditions]


def parse(file: BinaryIO, *, name: str) -> Run:
    """Reads a run, such as `s01_01_sw.csv`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        Run with at least one sample and only finite values.

    Raises:
        FormatError: If the header is not the expected header, if a line is not six numbers followed
            by a time and an activity, if times decrease, or if the accelerations are not in m/s^2.
    """
    body = _body(file, name, _HEADER)
    run = _by_arrow(body)
    if run is not None:
        _check_order(run.time_ms, name)
    else:
        run = _by_lines(body.decode().removesuffix("\n").split("\n"), name)
    _check_unit(run.sequence, name)
    return run


def _by_arrow(body: bytes) -> Run | None:
    """Returns the run, or None if a line does not have the expected form."""
    if not _LINES.fullmatch(body):
        return None
    types = {**dict.fromkeys(CHANNELS, np.float64), "time": np.int64, "activity": str}
    columns = read_columns(body, list(types), types, separator=",")
    if columns is None:
        return None
    sequence = finite_table([columns[channel] for channel in CHANNELS])
    if sequence is None:
        return None
    activity = np.array([_INDEX[word] for word in columns["activity"]], np.uint8)
    return Run(columns["time"], sequence, activity)


def _by_lines(lines: list[str], name: str) -> Run:
    columns = [line.rsplit(",", 2) for line in lines]
    for number, (line, cells) in enumerate(zip(lines, columns, strict=True), 2):
        if len(cells) != 3 or not _TIME.fullmatch(cells[1]) or cells[2] not in ACTIVITIES:
            expected = "six numbers, a time in milliseconds and an activity"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
    texts, times, activities = zip(*columns, strict=True)
    time_ms = np.array(times, np.int64)
    _check_order(time_ms, name)
    sequence = numbers(list(texts), len(CHANNELS), name=name, first_line=2, separator=",", fix=_FIX)
    activity = np.array([_INDEX[word] for word in activities], np.uint8)
    return Run(time_ms, sequence, activity)


def _check_order(time_ms: np.ndarray, name: str) -> None:
    (backward,) = np.nonzero(np.diff(time_ms) < 0)
    if backward.size:
        row = int(backward[0]) + 1
        step = time_ms[row - 1] - time_ms[row]
        received = f"the time is {step} ms before the time of the previous line"
        raise FormatError(name, f"line {row + 2}", received, "times that do not decrease", _FIX)


def parse_people(file: BinaryIO, *, name: str) -> People:
    """Reads `subjects_info.csv`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The people. The table has at least one person.

    Raises:
        FormatError: If a line does not describe a person, or if a person has two lines. The error
            names the line.
    """
    by_id = {}
    for number, cells in _rows(file, name, _PEOPLE_HEADER, by_id, r"s\d\d"):
        person, age, sex, height, weight, hand, runs = cells
        whole = all(map(_WHOLE.fullmatch, (age, height, weight, runs)))
        if not whole or sex not in SEXES or hand not in HANDS:
            raise FormatError(
                name, f"line {number}", quoted(",".join(cells)),
                "age, gender (F or M), height, weight, hand (L or R) and number of runs", _FIX,
            )  # fmt: skip
        by_id[person] = Person(
            int(age), SEXES[sex], int(height), int(weight), HANDS[hand], int(runs)
        )
    return People(by_id)


def parse_runs(file: BinaryIO, *, name: str) -> Runs:
    """Reads `executions_info.csv`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The runs. The table has at least one run.

    Raises:
        FormatError: If a line does not describe a run, or if a run has two lines. The error names
            the line.
    """
    by_id = {}
    for number, cells in _rows(file, name, _RUNS_HEADER, by_id, r"s\d\d_\d\d"):
        run, orientation, *turns = cells
        if orientation not in ORIENTATIONS or not {*turns} <= {*TURNS}:
            expected = f"one of {', '.join(ORIENTATIONS)} and two turns (l or r)"
            raise FormatError(name, f"line {number}", quoted(",".join(cells)), expected, _FIX)
        by_id[run] = Conditions(orientation, *(TURNS[turn] for turn in turns))
    return Runs(by_id)


def _body(file: BinaryIO, name: str, header: str) -> bytes:
    """Returns the lines below the header. Refuses a file that has only a header."""
    content = read_ascii(file, name)
    first, _, body = content.partition(b"\n")
    if first.decode() != header:
        raise FormatError(name, "line 1", quoted(first), f"the header {header}", _FIX)
    if not body:
        expected = "at least one line below the header"
        raise FormatError(name, "", "the file has only a header", expected, _FIX)
    check_end(content, name, _FIX)
    return body


def _rows(file: BinaryIO, name: str, header: str, seen: dict, pattern: str):
    """Yields the number and the cells of each line of a table. Refuses an id that occurs twice."""
    columns = header.count(",") + 1
    lines = _body(file, name, header).decode().removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 2):
        cells = line.split(",")
        if len(cells) != columns or not re.fullmatch(pattern, cells[0]):
            expected = f"an id and {columns - 1} values"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        if cells[0] in seen:
            expected = "one line for each id"
            received = f"the id {cells[0]} occurs again"
            raise FormatError(name, f"line {number}", received, expected, _FIX)
        yield number, cells


def _check_unit(sequence: np.ndarray, name: str) -> None:
    """Refuses accelerations that are in g or do not include gravity."""
    typical = float(np.median(np.linalg.norm(sequence[:, :3].astype(np.float64), axis=1)))
    if typical < LEAST_TYPICAL:
        raise FormatError(
            name, "", f"the median acceleration is {typical:.2g} m/s^2", "about 9.8 m/s^2",
            "The values are in g or do not include gravity. Use the file of the archive.",
        )  # fmt: skip
