"""Parser of the mini-ImageNet lists of Ravi2017. A list has a header, then lines such as
`n0153282900000005.jpg,n01532829`.

The name of an image consists of the WordNet id of its class and a running number. The names in the
list differ from the names of the images in ImageNet.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import read_text

_HEAD = "filename,label"
_LINE = re.compile(r"((n\d{8})\d{8}\.jpg),(n\d{8})")
_FIX = "The list seems to be incomplete, edited or from another split. Get it again."


@dataclasses.dataclass(frozen=True)
class Listing:
    """A list of images.

    Attributes:
        labels: Non-empty mapping from each image to its class, in the order of the file.
    """

    labels: dict[str, str]


def parse(file: BinaryIO, *, name: str) -> Listing:
    """Reads a list.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The list. No image occurs twice.

    Raises:
        FormatError: If a line does not have the expected form. The error names the line.
    """
    head, *lines = read_text(file, name).splitlines() or [""]
    if head.strip() != _HEAD:
        raise FormatError(name, "line 1", quoted(head), f"`{_HEAD}`", _FIX)
    labels: dict[str, str] = {}
    for number, line in enumerate(lines, 2):
        match = _LINE.fullmatch(line.strip())
        if match is None or match[2] != match[3] or match[1] in labels:
            expected = "`<class><8 digits>.jpg,<class>`, each image once"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        labels[match[1]] = match[3]
    if not labels:
        expected = "one image per line below the header"
        raise FormatError(name, "", "the file has no images", expected, _FIX)
    return Listing(labels)
