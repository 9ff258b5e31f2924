"""Parser of the tables that list the speakers of VoxCeleb (Nagrani2017; Chung2018).

The tables `vox1_meta.csv` and `vox2_meta.csv` have a header, then one line per speaker. In
`vox1_meta.csv`, tabs separate the cells, despite the name of the file. In `vox2_meta.csv`, commas
separate the cells, and each cell ends in a space.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO, NamedTuple

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import read_text

GENDERS = {"f": "female", "m": "male"}
PARTS = ("dev", "test")
_ID = re.compile(r"id\d{5}")
_FIX = "The table seems to be incomplete or edited. Get it again."


class Speaker(NamedTuple):
    """Description of a speaker in one line of the table.

    `name` and `nationality` are empty for VoxCeleb2, because its table does not have these columns.
    """

    name: str
    gender: str
    nationality: str
    part: str


@dataclasses.dataclass(frozen=True)
class Table:
    """Table of speakers.

    Attributes:
        speakers: Non-empty mapping from the id of each speaker, such as `id10001`, to the speaker.
            `gender` is a value of `GENDERS`, and `part` is one of `PARTS`.
    """

    speakers: dict[str, Speaker]


def parse(file: BinaryIO, *, name: str) -> Table:
    """Reads a table.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The speakers, in the order of the file.

    Raises:
        FormatError: If a line does not have the expected form. The error names the line.
    """
    head, *lines = read_text(file, name).splitlines() or [""]
    separator = "\t" if "\t" in head else ","
    columns = [cell.strip() for cell in head.split(separator)]
    if not re.fullmatch(r"VoxCeleb[12] ID", columns[0]) or not {"Gender", "Set"} <= {*columns}:
        expected = (
            "a header that begins with `VoxCeleb1 ID` or `VoxCeleb2 ID` and has `Gender` and `Set`"
        )
        raise FormatError(name, "line 1", quoted(head), expected, _FIX)
    speakers: dict[str, Speaker] = {}
    for number, line in enumerate(lines, 2):
        cells = [cell.strip() for cell in line.split(separator)]
        speaker = _speaker(dict(zip(columns, cells, strict=False)))
        is_whole = len(cells) == len(columns) and _ID.fullmatch(cells[0])
        if not is_whole or speaker is None or cells[0] in speakers:
            expected = f"{len(columns)} cells with id00000 (each id once), m or f, and dev or test"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        speakers[cells[0]] = speaker
    if not speakers:
        raise FormatError(name, "", "the file has no speakers", "one line per speaker", _FIX)
    return Table(speakers)


def _speaker(row: dict[str, str]) -> Speaker | None:
    """Returns a speaker, or None if the value of the gender or of the part is invalid."""
    gender, part = row.get("Gender"), row.get("Set")
    if gender not in GENDERS or part not in PARTS:
        return None
    return Speaker(row.get("VGGFace1 ID", ""), GENDERS[gender], row.get("Nationality", ""), part)
