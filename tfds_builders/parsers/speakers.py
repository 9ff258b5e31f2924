"""Tables of the speakers of VoxCeleb (Nagrani2017; Chung2018): `vox1_meta.csv`, `vox2_meta.csv`.

A header, then a line a speaker. The first is divided by tabs in spite of its name, the second by
commas, and each of its cells ends in a blank.
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
_FIX = "The table seems to be cut or edited. Get it again."


class Speaker(NamedTuple):
    """One speaker, as the table has it.

    `name` and `nationality` are "" in the table of VoxCeleb2, which does not have them.
    """

    name: str
    gender: str
    nationality: str
    part: str


@dataclasses.dataclass(frozen=True)
class Table:
    """One table.

    Attributes:
        speakers: Speaker by id (`id10001`), at least one; `gender` is a value of `GENDERS`, `part`
            one of `PARTS`.
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
        FormatError: Naming the line that does not fit.
    """
    head, *lines = read_text(file, name).splitlines() or [""]
    separator = "\t" if "\t" in head else ","
    columns = [cell.strip() for cell in head.split(separator)]
    if not re.fullmatch(r"VoxCeleb[12] ID", columns[0]) or not {"Gender", "Set"} <= {*columns}:
        expected = "a header from `VoxCeleb1 ID` or `VoxCeleb2 ID` on with `Gender` and `Set`"
        raise FormatError(name, "line 1", quoted(head), expected, _FIX)
    speakers: dict[str, Speaker] = {}
    for number, line in enumerate(lines, 2):
        cells = [cell.strip() for cell in line.split(separator)]
        speaker = _speaker(dict(zip(columns, cells, strict=False)))
        is_whole = len(cells) == len(columns) and _ID.fullmatch(cells[0])
        if not is_whole or speaker is None or cells[0] in speakers:
            expected = f"{len(columns)} cells, id00000 (each once), m or f, dev or test"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        speakers[cells[0]] = speaker
    if not speakers:
        raise FormatError(name, "", "no speakers", "a line a speaker", _FIX)
    return Table(speakers)


def _speaker(row: dict[str, str]) -> Speaker | None:
    """Returns a speaker; None where gender or part are not those of the format."""
    gender, part = row.get("Gender"), row.get("Set")
    if gender not in GENDERS or part not in PARTS:
        return None
    return Speaker(row.get("VGGFace1 ID", ""), GENDERS[gender], row.get("Nationality", ""), part)
