"""Recordings in Parquet files with one column per channel and one row per time step."""

import json
import re

import numpy as np

from keras_dml.recordings import _table, _times

UNNAMED = re.compile(r"__index_level_[0-9]+__")  # pandas' name of an index without one


def read(path):
    """Reads the table of a file.

    Columns that pandas stored as the index of a frame are left out, except times.

    Returns:
        `Table`. Its notes say what was assumed about the file.

    Raises:
        ImportError: If pyarrow is not installed; the message names the extra.
        ValueError: If the file is not a Parquet file, or is damaged.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            f'{path} is read by pyarrow, which is not installed: pip install "keras-dml[parquet]".'
        ) from None
    try:
        table = parquet.ParquetFile(path).read()
    except (pyarrow.ArrowException, OSError) as error:  # a damaged page is an OSError
        raise ValueError(f"{path} is not a Parquet file, or it is damaged: {error}") from None
    names = list(map(str, table.column_names))

    def is_of_dates(column):
        kind = column.type
        return pyarrow.types.is_timestamp(kind) or pyarrow.types.is_duration(kind)

    columns, notes = _without_index(table, names, is_of_dates)
    names = tuple(names[i] for i in columns)
    check_name = _table.name_check(path, "its schema", names)

    def numbers(i):
        check_name(i)
        return _numbers(path, names[i], table.column(columns[i]), pyarrow)

    def seconds(i):
        column = table.column(columns[i])
        return _seconds(column) if is_of_dates(column) else None

    return _table.Table(
        path, names, "its schema", lambda row: f"row {row}", numbers, seconds, notes
    )


def _without_index(table, names, is_of_dates):
    """Indices of the columns that are not an index of pandas, and what was assumed.

    An index that holds times stays. Without a name it is named time.
    """
    try:
        metadata = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
        stored = metadata.get("index_columns", [])
        stored = {name for name in stored if isinstance(name, str)}  # a range has no column
    except (ValueError, AttributeError, TypeError):  # by another program
        stored = set()
    columns, left_out, notes = [], [], []
    for i, name in enumerate(names):
        is_index = name in stored or UNNAMED.fullmatch(name) is not None
        is_time = i in _times.columns(names)
        if is_index and not is_time and is_of_dates(table.column(i)):
            if not _times.columns(names):
                is_time, names[i] = True, "time"
                notes.append(f"The index {name!r} was read as times.")
        if is_index and not is_time:
            left_out.append(repr(name))
        else:
            columns.append(i)
    if left_out:
        notes.append(f"The index that pandas stored was left out: {', '.join(left_out)}.")
    return columns, tuple(notes)


def _numbers(path, name, column, pyarrow):
    kind = column.type
    is_number = (
        pyarrow.types.is_integer(kind)
        or pyarrow.types.is_floating(kind)
        or pyarrow.types.is_decimal(kind)
    )
    if not is_number:
        raise ValueError(
            f"{path}: column {name!r} holds {kind}, not numbers. Name the columns that are "
            "channels."
        )
    return column.cast(pyarrow.float64(), safe=False).to_numpy()  # null becomes NaN


def _seconds(column):
    moments = column.to_numpy()
    present = moments[~np.isnat(moments)]
    return (moments - present[:1]) / np.timedelta64(1, "s")
