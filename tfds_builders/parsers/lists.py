"""Lists of images as PACS has them (Li2017): a line `photo/dog/056_0022.jpg 1` each."""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import read_text

_LINE = re.compile(r"([\w.\-]{1,200}/[\w.\-]{1,200}/[\w.\-]{1,200}) ([1-9]\d{0,3})")
_FIX = "The list seems to be cut or edited. Get it again."


@dataclasses.dataclass(frozen=True)
class Listing:
    """One list.

    Attributes:
        labels: Number of the class, from 1, by file (`domain/class/name`).
    """

    labels: dict[str, int]


def parse(file: BinaryIO, *, name: str) -> Listing:
    """Reads a list.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The list; at least one picture, none twice.

    Raises:
        FormatError: Naming the line that does not fit.
    """
    labels: dict[str, int] = {}
    for number, line in enumerate(read_text(file, name).splitlines(), 1):
        match = _LINE.fullmatch(line.strip())
        if match is None or match[1] in labels:
            expected = "`domain/class/name number`, each image once"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        labels[match[1]] = int(match[2])
    if not labels:
        raise FormatError(name, "", "no lines", "an image a line", _FIX)
    return Listing(labels)
