"""Parsers of the text files of UCI HAR, a data set of activities recorded with smartphones
(Anguita2013).

In the file of a signal, each line is a window of 128 numbers. The numbers are separated by spaces
and have exponents of three digits. Two more files state the person and the activity of each window,
with one whole number per line. The file `activity_labels.txt` has the number of each activity.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end, numbers, read_text

RATE_HZ = 50
SAMPLES = 128  # samples of a window, which lasts 2.56 s
CHANNELS = tuple(
    f"{signal}_{axis}" for signal in ("body_acc", "body_gyro", "total_acc") for axis in "xyz"
)
ACTIVITIES = (
    "WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING",
)  # fmt: skip
_WHOLE = re.compile(r"[1-9]\d?")
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Signal:
    """Values of one channel in all windows.

    Attributes:
        windows: Samples of shape (windows, 128), float32. Accelerations are in g, and angular
            velocities are in rad/s.
    """

    windows: np.ndarray


@dataclasses.dataclass(frozen=True)
class Column:
    """Persons or activities of the windows.

    Attributes:
        values: Number of the person or activity for each window, (windows,) int32. Numbers count
            from 1.
    """

    values: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Signal:
    """Reads a signal, such as `body_acc_x_train.txt`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        Signal with at least one window and only finite values.

    Raises:
        FormatError: If a line does not have 128 numbers. The error names the line.
    """
    lines = _lines(file, name)
    windows = numbers(lines, SAMPLES, name=name, first_line=1, separator=None, fix=_FIX)
    return Signal(windows)


def parse_column(file: BinaryIO, *, name: str, most: int) -> Column:
    """Reads a file with one whole number per line, such as `subject_train.txt` or `y_train.txt`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        most: Largest allowed number.

    Returns:
        At least one number. All numbers are from 1 to `most`.

    Raises:
        FormatError: If a line is not a whole number from 1 to `most`. The error names the line.
    """
    values = []
    for number, line in enumerate(_lines(file, name), 1):
        word = line.strip()
        if not _WHOLE.fullmatch(word) or int(word) > most:
            raise FormatError(
                name, f"line {number}", quoted(line), f"a whole number from 1 to {most}", _FIX
            )
        values.append(int(word))
    return Column(np.array(values, np.int32))


def check_activities(file: BinaryIO, *, name: str) -> None:
    """Checks the file `activity_labels.txt`. The lines of the file have the form `1 WALKING`.

    Raises:
        FormatError: If the names or numbers are not those of `ACTIVITIES`.
    """
    lines = [line.split() for line in read_text(file, name).strip().split("\n")]
    expected = [[str(number), activity] for number, activity in enumerate(ACTIVITIES, 1)]
    if lines != expected:
        odd = next((line for line in lines if line not in expected), lines[-1])
        raise FormatError(
            name, "", quoted(" ".join(odd)),
            ", ".join(" ".join(words) for words in expected), _FIX,
        )  # fmt: skip


def _lines(file: BinaryIO, name: str) -> list[str]:
    text = read_text(file, name)
    check_end(text, name, _FIX)
    return text.removesuffix("\n").split("\n")
