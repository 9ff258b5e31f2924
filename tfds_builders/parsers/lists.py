"""Parser of the image lists of PACS (Li2017). The lines have the form `photo/dog/056_0022.jpg
1`.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import read_text

_LINE = re.compile(r"([\w.\-]{1,200}/[\w.\-]{1,200}/[\w.\-]{1,200}) ([1-9]\d{0,3})")
_FIX = "The list seems to be incomplete or edited. Get it again."


@dataclasses.dataclass(frozen=True)
class Listing:
    """A list of images.

    Attributes:
        labels: Mapping from each file (`domain/class/name`) to the number of its class. Numbers
            count from 1.
    """

    labels: dict[str, int]


def parse(file: BinaryIO, *, name: str) -> Listing:
    """Reads a list.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        List of at least one image. No image occurs twice.

    Raises:
        FormatError: If a line does not have the expected form. The error names the line.
    """
    labels: dict[str, int] = {}
    for number, line in enumerate(read_text(file, name).splitlines(), 1):
        match = _LINE.fullmatch(line.strip())
        if match is None or match[1] in labels:
            expected = "`domain/class/name number`, each image once"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        labels[match[1]] = int(match[2])
    if not labels:
        raise FormatError(name, "", "the file has no lines", "one image per line", _FIX)
    return Listing(labels)
