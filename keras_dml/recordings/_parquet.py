"""Recordings as Parquet: a column a channel, a row a step."""

import numpy as np

from keras_dml.recordings import _table


def read(path):
    """The table of a file.

    Raises:
        ImportError: If pyarrow is not installed; the message names the extra.
        ValueError: If it is no such file.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            f'{path} is read by pyarrow, which is not installed: pip install "keras-dml[parquet]".'
        ) from None
    try:
        found = parquet.ParquetFile(path).read()
    except (pyarrow.ArrowException, OSError) as error:  # a damaged page is an OSError
        raise ValueError(f"{path} is not a Parquet file, or it is damaged: {error}") from None
    names = tuple(map(str, found.column_names))

    def numbers(i):
        return _numbers(path, names[i], found.column(i), pyarrow)

    def seconds(i):
        kind = found.column(i).type
        is_date = pyarrow.types.is_timestamp(kind) or pyarrow.types.is_duration(kind)
        return _seconds(found.column(i)) if is_date else None

    return _table.Table(path, names, "its schema", lambda row: f"row {row}", numbers, seconds)


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
