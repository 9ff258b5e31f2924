"""Parser for gaze recordings of DIEM (Mital2011). Each file has the gaze of both eyes of one person
during one film.

The file does not have a header. Each line is a frame, and there are 30 frames per second. A line
has nine numbers separated by tabs. The first number is the number of the frame, counted from 1.
The next four numbers are x, y, pupil size and event of the left eye. The last four numbers are x,
y, pupil size and event of the right eye.
"""

from __future__ import annotations

import dataclasses
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end, numbers, read_text

RATE_HZ = 30
CHANNELS = ("left_x", "left_y", "right_x", "right_y", "left_pupil", "right_pupil")
EVENTS = {-1: "dropped", 0: "blink", 1: "fixation", 2: "saccade"}
_COLUMNS = 9
_SEQUENCE, _EVENTS = (1, 2, 5, 6, 3, 7), (4, 8)
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Recording:
    """Gaze of one person during one film.

    Attributes:
        sequence: Signals, shape (T, 6), float32. The columns are `CHANNELS`. Positions are in
            pixels of the screen, and pupil sizes are in units of the tracker.
        event: Events of the left eye and the right eye, (T, 2) int8. The events are keys of
            `EVENTS`.
    """

    sequence: np.ndarray
    event: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Recording:
    """Reads `<subject>.asc_<place>_<video>.txt`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The recording. Every value is finite. If the tracker lost an eye in a frame, the values of
        the file are returned unchanged.

    Raises:
        FormatError: If a line does not have nine values, if a value is not a number, if frames are
            not in order, or if an event is unknown. The error names the line.
    """
    text = read_text(file, name)
    lines = text.removesuffix("\n").split("\n")
    if lines == [""]:
        raise FormatError(name, "", "the file has no frames", "one line per frame", _FIX)
    table = numbers(lines, _COLUMNS, name=name, first_line=1, separator=None, fix=_FIX)
    check_end(text, name, _FIX)
    event = table[:, _EVENTS]
    _check(
        table[:, 0] == np.arange(1, len(table) + 1), "the number of the line as first value", lines,
        name,
    )  # fmt: skip
    codes = ", ".join(map(str, EVENTS))
    _check(np.isin(event, list(EVENTS)).all(axis=1), f"events of {codes}", lines, name)
    return Recording(np.ascontiguousarray(table[:, _SEQUENCE]), event.astype(np.int8))


def _check(fits: np.ndarray, expected: str, lines: list[str], name: str) -> None:
    if not fits.all():
        at = int(np.argmin(fits))
        raise FormatError(name, f"line {at + 1}", quoted(lines[at]), expected, _FIX)
