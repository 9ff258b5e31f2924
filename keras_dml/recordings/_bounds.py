"""Bounds on the decoded content of untrusted files.

A file of 20 MB is read within 500 MB and 20 seconds of processor time, or it is refused. Larger
files may hold more in proportion to their size.
"""

import pathlib
from collections.abc import Sequence

MOST_COLUMNS = 4096  # the 543 landmarks of a body have 2,172 columns
MOST_NUMBERS = 5 * 10**6  # in a file of up to 20 MB; each takes 70 bytes and 4 microseconds
BYTES_PER_NUMBER = 4  # in a larger file
MOST_PIECES = 10_000  # of a recording that is cut at its gaps
LISTED = 20  # names in an error message


def most_numbers(path: pathlib.Path) -> int:
    """Returns the number of numbers that a file may hold, by its size."""
    return max(MOST_NUMBERS, path.stat().st_size // BYTES_PER_NUMBER)


def check_numbers(path: pathlib.Path, count: int, most: int) -> None:
    """Refuses a file that holds more than `most` numbers."""
    if count > most:
        raise ValueError(
            f"{path} holds more than {most:,} numbers, the most that a file of its size may hold. "
            "Cut the recording into several files."
        )


def check_columns(path: pathlib.Path, where: str, count: int) -> None:
    """Refuses a file with more than `MOST_COLUMNS` columns, named `where` in the file."""
    if count > MOST_COLUMNS:
        raise ValueError(
            f"{path}, {where}: there are {count:,} columns, but a file may have up to "
            f"{MOST_COLUMNS:,}. Write only the channels as columns, with one row per time step."
        )


def join_first(names: Sequence[str]) -> str:
    """Joins the first names of a list for an error message, without control characters."""
    short = (name if len(name) <= 80 else f"{name[:80]}..." for name in names[:LISTED])
    text = ", ".join(name if name.isprintable() else repr(name) for name in short)
    return text if len(names) <= LISTED else f"{text} and {len(names) - LISTED:,} more"
