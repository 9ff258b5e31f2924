"""Parser for walks of GaitAuth (Hoang2015). A file has the acceleration of a phone and the time of
each sample.

The file does not have a header. Each line has four comma-separated values: the Unix time in
milliseconds, x, y and z. Lines end in CR LF. The time of a sample is the time at which the phone
delivered the sample. Times are therefore unevenly spaced, and two samples may have the same time.
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

CHANNELS = ("x", "y", "z")
LEAST_TYPICAL = 5.0  # m/s^2: half of gravity
_TIME = re.compile(r"\d{12,13}")  # from 1973 on
_LINES = re.compile(rb"(?:\d{12,13}+(?:,[^,\n]++){3}+\n)++")
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Walk:
    """One walk of a person.

    Attributes:
        time_ms: Unix times in milliseconds, (T,) int64. They never decrease.
        sequence: Acceleration with gravity along x, y and z, in m/s^2, (T, 3) float32.
    """

    time_ms: np.ndarray
    sequence: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Walk:
    """Reads a walk.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        Walk with at least one sample and only finite values.

    Raises:
        FormatError: If a line does not have a time and three numbers, if times decrease, or if the
            accelerations are not in m/s^2.
    """
    content = read_ascii(file, name)
    walk = _by_arrow(content)
    if walk is not None:
        _check_order(walk.time_ms, name)
    else:
        walk = _by_lines(content.decode(), name)
    _check_unit(walk.sequence, name)
    return walk


def _by_arrow(content: bytes) -> Walk | None:
    """Returns the walk, or None if a line does not have the expected form or if the last line has
    no line end.
    """
    if not _LINES.fullmatch(content):
        return None
    types = {"time": np.int64, **dict.fromkeys(CHANNELS, np.float64)}
    columns = read_columns(content, list(types), types, separator=",")
    if columns is None:
        return None
    sequence = finite_table([columns[channel] for channel in CHANNELS])
    return None if sequence is None else Walk(columns["time"], sequence)


def _by_lines(text: str, name: str) -> Walk:
    lines = text.removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if line.count(",") != len(CHANNELS) or not _TIME.fullmatch(line.partition(",")[0]):
            raise FormatError(name, f"line {number}", quoted(line), "`milliseconds,x,y,z`", _FIX)
    check_end(text, name, _FIX)
    times, _, values = zip(*(line.partition(",") for line in lines), strict=True)
    time_ms = np.array(times, np.int64)
    _check_order(time_ms, name)
    sequence = numbers(
        list(values), len(CHANNELS), name=name, first_line=1, separator=",", fix=_FIX
    )
    return Walk(time_ms, sequence)


def _check_order(time_ms: np.ndarray, name: str) -> None:
    backward = np.flatnonzero(np.diff(time_ms) < 0)
    if backward.size:
        row = int(backward[0]) + 1
        step = time_ms[row - 1] - time_ms[row]
        received = f"the time is {step} ms before the time of the previous line"
        raise FormatError(name, f"line {row + 1}", received, "times that do not decrease", _FIX)


def _check_unit(sequence: np.ndarray, name: str) -> None:
    """Refuses accelerations that are in g or do not include gravity.

    According to the README of the source, accelerations are in g, but the values in all files are
    in m/s^2.
    """
    typical = float(np.median(np.linalg.norm(sequence.astype(np.float64), axis=1)))
    if typical < LEAST_TYPICAL:
        raise FormatError(
            name, "", f"the median acceleration is {typical:.2g} m/s^2", "about 9.8 m/s^2",
            "The values are in g or from another sensor. Use the file in the folder DATASET.",
        )  # fmt: skip
