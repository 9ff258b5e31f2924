"""Parser for gaze recordings of GazeCom (Dorr2010). Each text file has the gaze of one person
during one movie.

The line `gaze W H` states the size of the movie in pixels. The line `geometry distance D width W
height H` states, in meters, the distance to the screen and the size of the movie on the screen.
All other lines are samples with four numbers: the time in microseconds since the start of the
movie, x, y and the confidence. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end, read_ascii, read_columns

RATE_HZ = 250  # nominal rate: the median step between samples is 4 ms, but other steps occur
LATEST_US = 3_600_000_000
LARGEST_M = 10.0
_GAZE = re.compile(r"gaze ([1-9]\d{0,4}) ([1-9]\d{0,4})")
_METERS = r"(\d{1,4}(?:\.\d{1,9})?)"
_GEOMETRY = re.compile(rf"geometry distance {_METERS} width {_METERS} height {_METERS}")
_PIXELS = r"(-?\d{1,6}(?:\.\d{1,9})?)"
_SAMPLE = re.compile(rf"(\d{{1,10}})\s+{_PIXELS}\s+{_PIXELS}\s+([01])")
_EXACT_PIXELS = rb"-?+\d{1,6}+(?:\.\d{1,9}+)?+"
_EXACT_SAMPLES = re.compile(rb"(?:\d{1,10}+ %b %b [01]\n)++" % (_EXACT_PIXELS, _EXACT_PIXELS))
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Recording:
    """Gaze of one person during one movie.

    Attributes:
        width: Width of the movie in pixels.
        height: Height of the movie in pixels.
        distance_m: Distance from the eye to the screen in meters.
        screen_width_m: Width of the movie on the screen in meters.
        screen_height_m: Height of the movie on the screen in meters.
        time_us: Strictly increasing times in microseconds since the movie began, (T,) int64.
        sequence: Positions x and y in pixels from the upper left corner of the movie, (T, 2)
            float32.
        confidence: Array (T,) uint8 with the value 1 if the tracker saw the eye, and 0 if the
            tracker lost the eye.
    """

    width: int
    height: int
    distance_m: float
    screen_width_m: float
    screen_height_m: float
    time_us: np.ndarray
    sequence: np.ndarray
    confidence: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Recording:
    """Reads `<SUBJECT>_<movie>.coord`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The recording. Every value is finite. If the tracker lost the eye in a sample, the values of
        the file are returned unchanged.

    Raises:
        FormatError: If a line does not have the expected form. The error names the line.
    """
    content = read_ascii(file, name, comments=True)
    check_end(content, name, _FIX)
    header, samples = _split_header(content)
    lines = _filled_lines(header)
    width, height = _header(lines, 0, _GAZE, "`gaze 1280 720`", name)
    sizes = _header(lines, 1, _GEOMETRY, "`geometry distance 0.45 width 0.4 height 0.225`", name)
    meters = [float(size) for size in sizes]
    if not 0 < min(meters) <= max(meters) <= LARGEST_M:
        raise FormatError(
            name, f"line {lines[1][0]}", quoted(lines[1][1]), f"meters up to {LARGEST_M:g}", _FIX
        )
    return Recording(
        int(width), int(height), *meters, *_samples(samples, header.count(b"\n"), name)
    )


def _split_header(content: bytes) -> tuple[bytes, bytes]:
    """Returns the bytes up to the end of the second non-empty line, and the bytes after this
    line.
    """
    end = 0
    for _ in range(2):
        while content[end : end + 1].isspace():
            end += 1
        end = content.find(b"\n", end) + 1 or len(content)
    return content[:end], content[end:]


def _filled_lines(content: bytes, first: int = 1) -> list[tuple[int, str]]:
    """Returns the non-empty lines with their numbers."""
    lines = enumerate(content.decode().split("\n"), first)
    return [(number, line) for number, line in lines if line.strip()]


def _header(lines, at, pattern, expected, name):
    if at == len(lines):
        raise FormatError(name, "", "the file ends early", expected, _FIX)
    number, line = lines[at]
    match = pattern.fullmatch(line.strip())
    if match is None:
        raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
    return match.groups()


def _samples(
    content: bytes, lines_above: int, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns `time_us`, `sequence` and `confidence` of the lines below the header."""
    columns = _by_arrow(content) or _by_lines(content, lines_above, name)
    _check_times(columns[0], content, lines_above, name)
    return columns


def _by_arrow(content: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Reads the columns with PyArrow. Returns None if values are not separated by single spaces, or
    if a line is empty.
    """
    if not _EXACT_SAMPLES.fullmatch(content):
        return None
    types = {"time": np.int64, "x": np.float64, "y": np.float64, "confidence": np.uint8}
    columns = read_columns(content, list(types), types, separator=" ")
    if columns is None:
        return None
    sequence = np.stack([columns["x"], columns["y"]], axis=1).astype(np.float32)
    return columns["time"], sequence, columns["confidence"]


def _by_lines(
    content: bytes, lines_above: int, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reads the columns line by line. Values may be separated by any number of spaces.

    Raises:
        FormatError: If a line does not have the expected form, or if the file has no samples.
    """
    rows = []
    for number, line in _filled_lines(content, lines_above + 1):
        match = _SAMPLE.fullmatch(line.strip())
        if match is None:
            raise FormatError(
                name, f"line {number}", quoted(line), "`microseconds x y confidence` with a "
                "confidence of 0 or 1", _FIX,
            )  # fmt: skip
        rows.append(match.groups())
    if not rows:
        raise FormatError(name, "", "the file has no samples", "one line per sample", _FIX)
    # float64 is exact, because times have at most ten digits
    table = np.array(rows, np.float64)  # (T, 4)
    time_us = table[:, 0].astype(np.int64)
    return time_us, table[:, 1:3].astype(np.float32), table[:, 3].astype(np.uint8)


def _check_times(time_us: np.ndarray, content: bytes, lines_above: int, name: str) -> None:
    backward = np.flatnonzero(np.diff(time_us) <= 0)
    if backward.size:
        number, line = _filled_lines(content, lines_above + 1)[backward[0] + 1]
        expected = f"a time after {time_us[backward[0]]}, the time of the previous sample"
        raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
    if time_us[-1] > LATEST_US:
        number, line = _filled_lines(content, lines_above + 1)[-1]
        raise FormatError(name, f"line {number}", quoted(line), "a time of at most an hour", _FIX)
