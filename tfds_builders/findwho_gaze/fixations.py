"""Parser of the file `video_database.mat` (Xu2018), which contains a list of fixations for each
person and video.
"""

from __future__ import annotations

import dataclasses
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers import mat5

VARIABLE = "video_database"
COLUMNS = (
    "SubjectIndex", "VideoIndex", "Timestamp", "GazeDuration", "FixationPointX", "FixationPointY",
)  # fmt: skip
_LARGEST = 2**24  # float32 represents whole numbers up to this one exactly
_FIX = "The file seems to be incomplete or edited, or it belongs to another data set. Get it again."


@dataclasses.dataclass(frozen=True)
class Fixations:
    """Fixations of all people.

    Attributes:
        lists: Mapping from (subject, video) to an array (N, 4) float32. Subjects and videos are
            numbered from 1. The columns of the array are the start in milliseconds from the
            beginning of the video, the duration in milliseconds, and x and y in pixels. The rows
            are sorted by time.
        strays: Number of rows that do not state a person. `lists` does not contain these rows.
    """

    lists: dict[tuple[int, int], np.ndarray]
    strays: int


def parse(file: BinaryIO, *, name: str) -> Fixations:
    """Reads `video_database.mat`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The lists, sorted by subject and video. In the file, the rows of a list need not follow one
        another.

    Raises:
        FormatError: If a variable or column is missing, or if a value is not a whole number.
    """
    value = mat5.parse(file, name=name, variables=(VARIABLE,))[VARIABLE]
    if not (isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)):
        raise FormatError(name, VARIABLE, "the value has another type", "one struct", _FIX)
    rows, fields = (_field(value[0], field, name) for field in ("fixdata", "fixdata_fields"))
    _check_columns(fields, name)
    where = f"{VARIABLE}.fixdata"
    # a signed type, so that differences of unsigned numbers do not overflow
    rows = mat5.table(rows, len(COLUMNS), name=name, location=where).astype(np.float64)
    _check_rows(rows, name, where)
    of_people = rows[rows[:, 0] > 0]
    if not len(of_people):
        expected = "rows with a SubjectIndex from 1"
        raise FormatError(name, where, "no row names a person", expected, _FIX)
    of_people = of_people[np.lexsort((of_people[:, 2], of_people[:, 1], of_people[:, 0]))]
    borders = np.flatnonzero(np.diff(of_people[:, :2], axis=0).any(axis=1)) + 1
    lists = {
        (int(part[0, 0]), int(part[0, 1])): part[:, 2:].astype(np.float32)
        for part in np.split(of_people, borders)
    }
    return Fixations(lists, len(rows) - len(of_people))


def _field(record: dict, field: str, name: str) -> object:
    if field not in record:
        raise FormatError(
            name,
            VARIABLE,
            f"the struct has the fields {quoted(', '.join(record))}",
            f"a field {field}",
            _FIX,
        )
    return record[field]


def _check_columns(fields: object, name: str) -> None:
    names = fields if isinstance(fields, list) else [fields]
    if [field.strip() if isinstance(field, str) else None for field in names] != [*COLUMNS]:
        raise FormatError(
            name,
            f"{VARIABLE}.fixdata_fields",
            f"the names are {quoted(names)}",
            ", ".join(COLUMNS),
            _FIX,
        )


def _check_rows(rows: np.ndarray, name: str, where: str) -> None:
    whole = (rows == np.floor(rows)) & (rows >= 0) & (rows <= _LARGEST)
    fits = whole.all(axis=1) & (rows[:, 1] > 0)
    if not fits.all():
        at = int(np.argmin(fits))
        raise FormatError(
            name, f"{where}, row {at + 1}", quoted(rows[at].tolist()),
            "whole numbers of at least 0, and a VideoIndex of at least 1", _FIX,
        )  # fmt: skip
