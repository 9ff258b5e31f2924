"""Recordings in Parquet files with one column per channel and one row per time step."""

import collections
import json
import re

import numpy as np

from keras_dml.recordings import _bounds, _channels, _parquet_pages, _table, _times

UNNAMED = re.compile(r"__index_level_[0-9]+__")  # pandas' name of an index without one
MOST_ENTRIES = 10_000  # of a list in the footer, such as row groups
MOST_PAGES = 100_000
BATCH = 2**18  # numbers that are decoded at once
BYTES = 16  # of a number in a page: double precision needs 8, decimals up to 16


def read(path):
    """Reads the table of a file.

    Columns that pandas stored as the index of a frame are left out, except times.

    Returns:
        `Table`. Its notes say what was assumed about the file.

    Raises:
        ImportError: If pyarrow is not installed; the message names the extra.
        ValueError: If the file is not a Parquet file, is damaged, or holds more than a recording
            may.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            f'{path} is read by pyarrow, which is not installed: pip install "keras-dml[parquet]".'
        ) from None
    most = _bounds.most_numbers(path)
    try:
        with path.open("rb") as file:
            size, longest = _parquet_pages.footer_size(file), max(2**20, path.stat().st_size // 20)
            if size > longest:
                raise ValueError(
                    f"{path} has a footer of {size:,} bytes, and up to {longest:,} are read. Write "
                    "fewer columns and row groups."
                )
            source = parquet.ParquetFile(
                file, thrift_string_size_limit=longest, thrift_container_size_limit=MOST_ENTRIES
            )
            schema = source.schema_arrow
            _bounds.check_columns(path, "its schema", len(schema.names))
            columns = _columns(schema, pyarrow)
            _check_pages(path, file, source.metadata, {schema.names[i] for i in columns}, most)
            values = _values(path, source, schema, columns, most, pyarrow)
    except (pyarrow.ArrowException, OSError, _parquet_pages.Damaged) as error:
        # a damaged page is an OSError
        reason = " ".join(str(error).split()).encode("unicode_escape").decode()
        raise ValueError(f"{path} is not a Parquet file, or it is damaged: {reason}") from None
    names = list(_channels.shortened(schema.names))
    used, notes = _without_index(schema, names, values)
    names = tuple(names[i] for i in used)
    check_name = _table.name_check(path, "its schema", names)

    def numbers(i):
        check_name(i)
        if used[i] not in values or values[used[i]].dtype.kind in "mM":
            raise ValueError(
                f"{path}: column {names[i]!r} holds {_kind(schema, used[i])}, not numbers. Name "
                "the columns that are channels."
            )
        return values[used[i]].astype(np.float64, copy=False)

    def seconds(i):
        column = values.get(used[i])
        return _seconds(column) if column is not None and column.dtype.kind in "mM" else None

    return _table.Table(
        path, names, "its schema", lambda row: f"row {row}", numbers, seconds, notes
    )


def _kind(schema, i):
    kind = str(schema.types[i])
    return kind if len(kind) <= 80 else f"{kind[:80]}..."


def _columns(schema, pyarrow):
    """Indices of the columns that hold numbers or times, and whose name no other column has.

    Other columns are not read: a text that a thousand rows repeat is small in the file alone.
    """
    types, counts = pyarrow.types, collections.Counter(schema.names)
    kinds = (
        *(types.is_integer, types.is_floating, types.is_decimal),
        *(types.is_timestamp, types.is_duration),
    )
    return [
        i
        for i, (name, kind) in enumerate(zip(schema.names, schema.types, strict=True))
        if counts[name] == 1 and any(is_kind(kind) for is_kind in kinds)
    ]


def _check_pages(path, file, metadata, names, most):
    """Refuses pages that unpack to more than the numbers that a file may hold."""
    pages, total, most_pages = 0, 0, max(MOST_PAGES, path.stat().st_size // 1000)
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            if column.path_in_schema not in names or not column.num_values:
                continue
            start = column.data_page_offset
            if column.dictionary_page_offset:
                start = min(start, column.dictionary_page_offset)
            for size in _parquet_pages.sizes(file, start, column.total_compressed_size):
                pages, total = pages + 1, total + size
                _bounds.check_numbers(path, total // BYTES, most)
                if pages > most_pages:
                    raise ValueError(
                        f"{path} has more than {most_pages:,} pages. Write it with larger pages."
                    )


def _values(path, source, schema, columns, most, pyarrow):
    """The numbers and times of columns by their index, of at most `most` rows times columns."""
    if not columns:
        return {}
    names = [schema.names[i] for i in columns]
    parts, count = {i: [] for i in columns}, 0
    # less than a table at once: what a row group holds is known only after it is decoded
    batches = source.iter_batches(max(1, BATCH // len(columns)), columns=names, use_threads=False)
    for batch in batches:
        if batch.schema.names != names:  # a part of a nested column has the name of another
            raise ValueError(f"{path} has two columns of one name: {_bounds.join_first(names)}.")
        count += batch.num_rows * len(columns)
        _bounds.check_numbers(path, count, most)
        for i, column in zip(columns, batch.columns, strict=True):
            parts[i].append(_array(column, pyarrow))
    return {i: _joined(parts.pop(i), schema.types[i]) for i in columns}


def _array(column, pyarrow):
    """A column of a batch as an array: float64 with NaN for null, or times."""
    kind = column.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_duration(kind):
        return column.to_numpy(zero_copy_only=False)
    return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)


def _joined(arrays, kind):
    return np.concatenate(arrays) if arrays else np.array([], kind.to_pandas_dtype())


def _without_index(schema, names, values):
    """Indices of the columns that are not an index of pandas, and what was assumed.

    An index that holds times stays. Without a name it is named time.
    """
    try:
        metadata = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        stored = metadata.get("index_columns", [])
        stored = {name for name in stored if isinstance(name, str)}  # a range has no column
    except (ValueError, AttributeError, TypeError, RecursionError):  # by another program
        stored = set()
    columns, left_out, notes = [], [], []
    times = {*_times.columns(names)}
    for i, name in enumerate(names):
        is_index = name in stored or UNNAMED.fullmatch(name) is not None
        is_time = i in times
        if is_index and not is_time and i in values and values[i].dtype.kind in "mM":
            if not times:
                is_time, names[i] = True, "time"
                times.add(i)
                notes.append(f"The index {name!r} was read as times.")
        if is_index and not is_time:
            left_out.append(repr(name))
        else:
            columns.append(i)
    if left_out:
        notes.append(f"The index that pandas stored was left out: {_bounds.join_first(left_out)}.")
    return columns, tuple(notes)


def _seconds(column):
    present = column[~np.isnat(column)]
    return (column - present[:1]) / np.timedelta64(1, "s")
