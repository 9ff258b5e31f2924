"""Gaze recordings of GazeCom (Dorr2010): one person watching one movie, as text.

`gaze W H` has the size of the movie in pixels, `geometry distance D width W height H` how far away
and how large it was, in meters. Then one line a sample: microseconds since the movie began, x, y,
confidence. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, shown
from tfds_builders.parsers.text import check_end, read_text

RATE_HZ = 250  # nominal: the steps of time are 4 ms in the median only
LATEST_US = 3_600_000_000
LARGEST_M = 10.0
_GAZE = re.compile(r"gaze ([1-9]\d{0,4}) ([1-9]\d{0,4})")
_METERS = r"(\d{1,4}(?:\.\d{1,9})?)"
_GEOMETRY = re.compile(rf"geometry distance {_METERS} width {_METERS} height {_METERS}")
_PIXELS = r"(-?\d{1,6}(?:\.\d{1,9})?)"
_SAMPLE = re.compile(rf"(\d{{1,10}})\s+{_PIXELS}\s+{_PIXELS}\s+([01])")
_FIX = "The file seems cut or edited; unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Recording:
    """One person watching one movie.

    Attributes:
        width: Width of the movie in pixels.
        height: Height of the movie in pixels.
        distance_m: From the eye to the screen, meters.
        screen_width_m: Width of the movie on the screen, meters.
        screen_height_m: Height of the movie on the screen, meters.
        time_us: (T,) int64, microseconds since the movie began, each above the one before.
        sequence: (T, 2) float32, x and y in pixels of the movie from its upper left corner.
        confidence: (T,) uint8, 1 where the tracker saw the eye, 0 where it had lost it.
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
        name: Its name, for errors.

    Returns:
        The recording; every value is finite, lost samples are as the file has them.

    Raises:
        FormatError: Naming the line that does not fit.
    """
    text = read_text(file, name, comments=True)
    check_end(text, name, _FIX)
    lines = [pair for pair in enumerate(text.split("\n"), 1) if pair[1].strip()]
    width, height = _header(lines, 0, _GAZE, "`gaze 1280 720`", name)
    sizes = _header(lines, 1, _GEOMETRY, "`geometry distance 0.45 width 0.4 height 0.225`", name)
    meters = [float(size) for size in sizes]
    if not 0 < min(meters) <= max(meters) <= LARGEST_M:
        raise FormatError(
            name, f"line {lines[1][0]}", shown(lines[1][1]), f"meters up to {LARGEST_M:g}", _FIX
        )
    return Recording(int(width), int(height), *meters, *_samples(lines[2:], name))


def _header(lines, at, pattern, expected, name):
    if at == len(lines):
        raise FormatError(name, "", "the end of the file", expected, _FIX)
    number, line = lines[at]
    match = pattern.fullmatch(line.strip())
    if match is None:
        raise FormatError(name, f"line {number}", shown(line), expected, _FIX)
    return match.groups()


def _samples(lines: list[tuple[int, str]], name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns `time_us`, `sequence` and `confidence` of numbered lines."""
    rows = []
    for number, line in lines:
        match = _SAMPLE.fullmatch(line.strip())
        if match is None:
            raise FormatError(
                name, f"line {number}", shown(line), "`microseconds x y confidence`, the last "
                "one 0 or 1", _FIX,
            )  # fmt: skip
        rows.append(match.groups())
    if not rows:
        raise FormatError(name, "", "no samples", "one line a sample", _FIX)
    table = np.array(rows, np.float64)  # (T, 4); exact, as times have ten digits at most
    time_us = table[:, 0].astype(np.int64)
    _check_times(time_us, lines, name)
    return time_us, table[:, 1:3].astype(np.float32), table[:, 3].astype(np.uint8)


def _check_times(time_us: np.ndarray, lines: list[tuple[int, str]], name: str) -> None:
    back = np.flatnonzero(np.diff(time_us) <= 0)
    if back.size:
        number, line = lines[back[0] + 1]
        expected = f"a time after the {time_us[back[0]]} of the sample before"
        raise FormatError(name, f"line {number}", shown(line), expected, _FIX)
    if time_us[-1] > LATEST_US:
        number, line = lines[-1]
        raise FormatError(name, f"line {number}", shown(line), "an hour of microseconds", _FIX)
