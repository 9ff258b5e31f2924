"""Limits that protect against untrusted files whose decoded content is too large.

With these limits, reading a file of 20 MB takes at most 500 MB of memory and 20 seconds of
processor time. Reading a file that exceeds a limit raises an error. For files larger than 20 MB,
the limits grow in proportion to the file size.
"""

import pathlib
from collections.abc import Sequence

MOST_COLUMNS = 4096  # the 543 landmarks of a body have 2,172 columns
# Largest number of values in a file of up to 20 MB. Reading a value takes 70 bytes of memory and 4
# microseconds.
MOST_NUMBERS = 5 * 10**6
BYTES_PER_NUMBER = 4  # a larger file may hold one number per 4 bytes
MOST_PIECES = 10_000  # limit for the pieces of a recording that is cut at its gaps
LISTED = 20  # limit for the names in an error message


def most_numbers(path: pathlib.Path) -> int:
    """Returns the largest number of values that a file may hold. The limit depends on the size of
    the file."""
    return max(MOST_NUMBERS, path.stat().st_size // BYTES_PER_NUMBER)


def check_numbers(path: pathlib.Path, count: int, most: int) -> None:
    """Raises ValueError if `count`, the number of values in a file, exceeds `most`."""
    if count > most:
        raise ValueError(
            f"{path} holds more than {most:,} numbers, which is the limit for a file of this size. "
            "Cut the recording into several files."
        )


def check_columns(path: pathlib.Path, where: str, count: int) -> None:
    """Raises ValueError if a file has more than `MOST_COLUMNS` columns.

    Args:
        path: Path of the file, for the error.
        where: Place of the column names in the file, for the error.
        count: Number of columns.
    """
    if count > MOST_COLUMNS:
        raise ValueError(
            f"{path}, {where}: there are {count:,} columns, but a file may have up to "
            f"{MOST_COLUMNS:,}. Write only the channels as columns, with one row per time step."
        )


def join_first(names: Sequence[str]) -> str:
    """Joins the first names of a list for an error message and removes control characters."""
    short = (name if len(name) <= 80 else f"{name[:80]}..." for name in names[:LISTED])
    text = ", ".join(name if name.isprintable() else repr(name) for name in short)
    return text if len(names) <= LISTED else f"{text} and {len(names) - LISTED:,} more"
