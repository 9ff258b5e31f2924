"""Walks of GaitAuth (Hoang2015): what a phone's accelerometer gave, with the time of each sample.

No header; a line has four values between commas: Unix time in milliseconds, x, y, z. Lines end in
CR LF. The time is that at which the phone took the sample over, so the steps are uneven, and two
samples may have one time.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, shown
from tfds_builders.parsers.text import check_end, numbers, read_text

CHANNELS = ("x", "y", "z")
LEAST_TYPICAL = 5.0  # m/s^2: half of gravity
_TIME = re.compile(r"\d{12,13}")  # from 1973 on
_FIX = "The file seems cut or edited; unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Walk:
    """One walk.

    Attributes:
        time_ms: (T,) int64, Unix time in milliseconds; it may stand still, and never steps back.
        sequence: (T, 3) float32, acceleration along `CHANNELS` with gravity, m/s^2.
    """

    time_ms: np.ndarray
    sequence: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Walk:
    """Reads a walk.

    Args:
        file: The open file.
        name: Its name, for errors.

    Returns:
        The walk; at least one sample, every value finite.

    Raises:
        FormatError: Naming the line that does not have a time and three numbers, or whose time is
            before that of the line above; when the accelerations are not in m/s^2.
    """
    text = read_text(file, name)
    lines = text.removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if line.count(",") != len(CHANNELS) or not _TIME.fullmatch(line.partition(",")[0]):
            raise FormatError(name, f"line {number}", shown(line), "`milliseconds,x,y,z`", _FIX)
    check_end(text, name, _FIX)
    times, _, values = zip(*(line.partition(",") for line in lines), strict=True)
    time_ms = np.array(times, np.int64)
    back = np.flatnonzero(np.diff(time_ms) < 0)
    if back.size:
        number = int(back[0]) + 2
        found = (
            f"a time {time_ms[number - 2] - time_ms[number - 1]} ms before that of the line above"
        )
        raise FormatError(name, f"line {number}", found, "times that do not step back", _FIX)
    sequence = numbers(
        list(values), len(CHANNELS), name=name, first_line=1, separator=",", fix=_FIX
    )
    _check_unit(sequence, name)
    return Walk(time_ms, sequence)


def _check_unit(sequence: np.ndarray, name: str) -> None:
    """Refuses what is in g, as the source's README says of all its files, or without gravity."""
    typical = float(np.median(np.linalg.norm(sequence.astype(np.float64), axis=1)))
    if typical < LEAST_TYPICAL:
        raise FormatError(
            name, "", f"accelerations of {typical:.2g} in the median", "about 9.8 m/s^2",
            "It is in g, or of another sensor than the accelerometer; take the file of DATASET.",
        )  # fmt: skip
