"""Parser of motions in Acclaim's `.amc` files, as VICON writes them (HDM05, Mueller2007).

The header has the lines `:FULLY-SPECIFIED` and `:DEGREES`. Each frame has a line with its number,
then a line `part value value …` for the root and for each bone that can rotate. The root and the
bones have the same order in every frame.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.asf import LARGEST, Skeleton
from tfds_builders.parsers.text import check_end, is_number, read_text

_HEAD = {":FULLY-SPECIFIED", ":DEGREES"}
_FIRST_FRAME = re.compile(r"^1[ \t]*$", re.MULTILINE)
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Motion:
    """Motion of one person.

    Attributes:
        values: Array (frames, channels) float64. The columns are `Skeleton.channels`. The position
            of the root is in the file's unit of length. The angles in all other columns are in
            degrees.
    """

    values: np.ndarray


def parse(file: BinaryIO, skeleton: Skeleton, *, name: str) -> Motion:
    """Reads a motion.

    Args:
        file: The open file. Comments in the file may have any encoding, and lines may have
            different line ends.
        skeleton: Skeleton of the person.
        name: Name of the file, for error messages.

    Returns:
        Motion with at least one frame and only finite values.

    Raises:
        FormatError: If a line does not have the expected form, or if the channels of the file are
            not the channels of the skeleton. The error names the line or the channels.
    """
    text = read_text(file, name, comments=True)
    first = _FIRST_FRAME.search(text)
    head = set(text[: first.start() if first else 200].split())
    if head != _HEAD or not first:
        raise FormatError(
            name, "", quoted(" ".join(sorted(head))), ":FULLY-SPECIFIED, :DEGREES and frame 1", _FIX
        )
    body = text[first.start() :]
    widths = skeleton.widths
    frame = [line.split() for line in body.split("\n", len(widths) + 1)[1 : len(widths) + 1]]
    widths_of_file = {words[0]: len(words) - 1 for words in frame if words}
    if widths_of_file != widths:
        odd = ", ".join(sorted({part for part, _ in widths_of_file.items() ^ widths.items()})[:5])
        raise FormatError(
            name, "frame 1", f"the channels differ for {quoted(odd)}", "the skeleton's channels",
            _FIX,
        )  # fmt: skip
    values = _values(body.split(), widths_of_file)
    if values is None:
        raise _first_error(body, text[: first.start()].count("\n") + 1, widths_of_file, name)
    check_end(text, name, _FIX)
    ends = dict(zip(widths_of_file, np.cumsum([*widths_of_file.values()]), strict=True))
    columns = [range(ends[part] - width, ends[part]) for part, width in widths.items()]
    return Motion(values[:, np.concatenate(columns)])


def _values(words: list[str], widths: dict[str, int]) -> np.ndarray | None:
    """Returns the numbers of all frames, shape (frames, channels), or None if a line does not
    have the expected form.
    """
    step = 1 + len(widths) + sum(widths.values())
    frames, rest = divmod(len(words), step)
    if rest or words[::step] != [str(number) for number in range(1, frames + 1)]:
        return None
    columns, at = [], 1
    for part, width in widths.items():
        if words[at::step] != [part] * frames:
            return None
        columns += [words[at + 1 + k :: step] for k in range(width)]
        at += 1 + width
    if any("_" in word for column in columns for word in column):  # float() would accept them
        return None
    try:
        values = np.array([[*map(float, column)] for column in columns]).T  # (frames, channels)
    except ValueError:
        return None
    return values if (np.abs(values) <= LARGEST).all() else None


def _first_error(body: str, number: int, widths: dict[str, int], name: str) -> FormatError:
    parts = list(widths.items())
    filled = [(at, line) for at, line in enumerate(body.split("\n"), number) if line.strip()]
    for index, (at, line) in enumerate(filled):
        frame, column = divmod(index, 1 + len(parts))
        part, width = parts[column - 1] if column else (str(frame + 1), 0)
        first, *cells = line.split()
        good = all(is_number(cell) and abs(float(cell)) <= LARGEST for cell in cells)
        if first != part or len(cells) != width or not good:
            expected = f"`{part}` and {width} numbers" if width else f"frame {part}"
            return FormatError(name, f"line {at}", quoted(line), expected, _FIX)
    received = "the last frame is incomplete"
    return FormatError(name, "", received, "all channels of each frame", _FIX)
