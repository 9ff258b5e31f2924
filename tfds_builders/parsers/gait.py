"""Parsers for IPOL's gait data set (Truong2019). One parser reads the signals of a walk, and the
other parser reads the notes about a walk.

The file `<subject>-<trial>.csv` has a header line, then 100 lines per second with 16
comma-separated values. The file `<subject>-<trial>.json` describes the person and the walk. The
JSON file also lists the steps of each foot as pairs `[start, end]` in samples.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end, numbers, read_text

CHANNELS = tuple(
    foot + kind for foot in "LR" for kind in ("AV", "AX", "AY", "AZ", "RV", "RX", "RY", "RZ")
)
RATE_HZ = 100
GROUPS = ("Healthy", "Orthopedic", "Neurological")
_UNKNOWN = "NC"
SENSORS = ("TCon", "XSens")
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Signal:
    """Signals of one walk.

    Attributes:
        sequence: Signals, shape (T, 16), float32. The columns are `CHANNELS`: acceleration and
            angular velocity of the left foot, then of the right foot. The authors state that
            accelerations are in m/s^2, but the values show that accelerations are in g. Angular
            velocities are in deg/s.
    """

    sequence: np.ndarray


@dataclasses.dataclass(frozen=True)
class Notes:
    """Notes about one walk. An unknown number is NaN.

    Attributes:
        subject: Number of the person.
        trial: Number of the walk among the walks of the person.
        group: One of `GROUPS`.
        is_control: Whether the person belongs to the control group.
        sensor: One of `SENSORS`, or an empty text if the sensor is unknown.
        age: Age in years.
        height: Height in meters.
        weight: Weight in kilograms.
        speed: Walking speed as the file states it. According to the paper, the speed is in km/h.
        left_steps: First and last sample of each step of the left foot, (S, 2) int32.
        right_steps: First and last sample of each step of the right foot, (S, 2) int32.
    """

    subject: int
    trial: int
    group: str
    is_control: bool
    sensor: str
    age: float
    height: float
    weight: float
    speed: float
    left_steps: np.ndarray
    right_steps: np.ndarray

    def check_length(self, length: int, *, name: str) -> None:
        """Checks that no step ends after the end of the recording.

        Raises:
            FormatError: If a step ends after the end of the recording. The error states at which
                sample the step ends.
        """
        last = max(
            (int(steps.max()) for steps in (self.left_steps, self.right_steps) if steps.size),
            default=0,
        )
        if last > length:
            raise FormatError(name, "", f"a step ends at sample {last}", f"at most {length}", _FIX)


def parse(file: BinaryIO, *, name: str) -> Signal:
    """Reads `<subject>-<trial>.csv`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The signals of the walk. Every value is finite.

    Raises:
        FormatError: If the header is not the expected header, or if a line does not have 16
            numbers.
    """
    text = read_text(file, name)
    header, _, body = text.partition("\n")
    if header.strip() != ",".join(CHANNELS):
        raise FormatError(
            name, "line 1", quoted(header), f"the header {CHANNELS[0]},…,{CHANNELS[-1]}", _FIX
        )
    lines = body.removesuffix("\n").split("\n")
    if lines == [""]:
        raise FormatError(name, "", "the file has no samples", "one line per sample", _FIX)
    table = numbers(lines, len(CHANNELS), name=name, first_line=2, separator=",", fix=_FIX)
    check_end(text, name, _FIX)
    return Signal(table)


def parse_notes(file: BinaryIO, *, name: str) -> Notes:
    """Reads `<subject>-<trial>.json`.

    Args:
        file: The open file.
        name: Name of the file. The subject and the trial in the name must be equal to the subject
            and the trial in the notes.

    Returns:
        The notes.

    Raises:
        FormatError: If a value is missing or impossible. The error states the JSON key of the
            value.
    """
    notes = _object(read_text(file, name), name)
    subject, trial = (_whole(notes, key, name) for key in ("Subject", "Trial"))
    stem = name.rsplit("/", 1)[-1].removesuffix(".json")
    if stem != f"{subject}-{trial}":
        raise FormatError(
            name,
            "",
            f"the file states Subject {subject} and Trial {trial}",
            "the numbers in the file name",
            _FIX,
        )
    return Notes(
        subject=subject,
        trial=trial,
        group=_choice(notes, "PathologyGroup", GROUPS, name),
        is_control=_choice(notes, "IsControl", ("Yes", "No"), name) == "Yes",
        sensor=_choice(notes, "Sensor", (*SENSORS, _UNKNOWN), name).replace(_UNKNOWN, ""),
        age=_measure(notes, "Age", 130, name),
        height=_measure(notes, "Height", 3, name),
        weight=_measure(notes, "Weight", 500, name),
        speed=_measure(notes, "WalkingSpeed", 50, name),
        left_steps=_steps(notes, "LeftFootActivity", name),
        right_steps=_steps(notes, "RightFootActivity", name),
    )


def _object(text: str, name: str) -> dict:
    try:
        notes = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = re.sub(r"\s+", " ", str(error))
        received = f"the file is not JSON ({message[:80]})"
        raise FormatError(name, "", received, "a JSON object", _FIX) from None
    if not isinstance(notes, dict):
        raise FormatError(name, "", quoted(notes), "a JSON object", _FIX)
    return notes


def _value(notes: dict, key: str, name: str):
    if key not in notes:
        raise FormatError(name, f"key {key}", "the key does not exist", "a value", _FIX)
    return notes[key]


def _whole(notes: dict, key: str, name: str) -> int:
    value = _value(notes, key, name)
    if type(value) is not int or not 0 < value < 100_000:
        raise FormatError(name, f"key {key}", quoted(value), "a whole number from 1", _FIX)
    return value


def _measure(notes: dict, key: str, most: float, name: str) -> float:
    value = _value(notes, key, name)
    if value == _UNKNOWN:
        return math.nan
    if type(value) not in (int, float) or not 0 < value <= most:
        raise FormatError(
            name, f"key {key}", quoted(value), f'a number up to {most} or "{_UNKNOWN}"', _FIX
        )
    return float(value)


def _choice(notes: dict, key: str, allowed: tuple[str, ...], name: str) -> str:
    value = _value(notes, key, name)
    if not isinstance(value, str) or value not in allowed:
        raise FormatError(name, f"key {key}", quoted(value), f"one of {', '.join(allowed)}", _FIX)
    return value


def _steps(notes: dict, key: str, name: str) -> np.ndarray:
    value = _value(notes, key, name)
    pairs = value if isinstance(value, list) else [None]
    for pair in pairs:
        whole = isinstance(pair, list) and [type(end) for end in pair] == [int, int]
        if not whole or not 0 <= pair[0] < pair[1] < 2**31:
            raise FormatError(
                name, f"key {key}", quoted(pair), "[start, end] in samples with start < end", _FIX
            )
    return np.array(pairs, np.int32).reshape(-1, 2)
