"""Bounds on what the file of a stranger may hold once it is decoded.

A file of 20 MB is read within 500 MB and 20 seconds of processor time, whatever it holds, or
refused. Larger files may hold more in proportion to their size.
"""

MOST_COLUMNS = 4096  # the 543 landmarks of a body have 2,172 columns
MOST_NUMBERS = 5 * 10**6  # of a file of up to 20 MB; a number takes 70 bytes and 4 microseconds
BYTES_PER_NUMBER = 4  # of a larger file
MOST_PIECES = 10_000  # that gaps cut a recording into
LISTED = 20  # names in an error


def most_numbers(path):
    """Returns how many numbers a file may hold, by its size."""
    return max(MOST_NUMBERS, path.stat().st_size // BYTES_PER_NUMBER)


def check_numbers(path, count, most):
    """Refuses a file that holds more numbers than `most`."""
    if count > most:
        raise ValueError(
            f"{path} holds more than {most:,} numbers, as many as a file of its size may hold. Cut "
            "the recording into several files."
        )


def check_columns(path, where, count):
    """Refuses a file with more columns than a recording has."""
    if count > MOST_COLUMNS:
        raise ValueError(
            f"{path}, {where}: {count:,} columns, and up to {MOST_COLUMNS:,} are read. Write the "
            "columns that are channels, with one row per time step."
        )


def join_first(names):
    """Joins names for an error: the first of many, without control characters."""
    short = (name if len(name) <= 80 else f"{name[:80]}..." for name in names[:LISTED])
    text = ", ".join(name if name.isprintable() else repr(name) for name in short)
    return text if len(names) <= LISTED else f"{text} and {len(names) - LISTED:,} more"
