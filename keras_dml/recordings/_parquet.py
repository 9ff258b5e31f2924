"""Reads recordings from Parquet files with one column per channel and one row per time step.

PyArrow does not limit the memory that it uses. PyArrow decompresses a page to the size that the
header of the page states, even if the footer of the file states another size. A page of 30 bytes
can decompress to 2 GB. Therefore this module reads the headers of all pages before it decompresses
a page.
"""

import collections
import contextlib
import functools
import json
import pathlib
import re
import struct
from typing import TYPE_CHECKING

import numpy as np

from keras_dml.recordings import _bounds, _table, _times

if TYPE_CHECKING:
    from keras_dml.recordings._options import Options
    from keras_dml.recordings._recording import Signal

UNNAMED = re.compile(r"__index_level_[0-9]+__")  # pandas' name for an unnamed index
MOST_ENTRIES = 10_000  # limit for the length of a list in the footer, such as the row groups
MOST_PAGES = 100_000
BATCH = 2**18  # limit for the numbers that are decoded at once
BYTES = 16  # largest size of a number in a page: doubles have 8 bytes, decimals up to 16
HEADER = 2**14  # bytes that are read for the header of a page, which may hold statistics
DEEPEST = 8  # limit for the nesting of structs in a header
MAGIC = b"PAR1"
TEXT, NUMBER, LIST = "text", "number", "list"  # kinds of columns that `read_columns` reads


def read(path: pathlib.Path, options: "Options") -> tuple["Signal", float]:
    """Reads the columns of a Parquet file.

    The function leaves out columns that pandas stored as the index of a data frame, unless the
    index holds times.

    Raises:
        ImportError: If pyarrow is not installed. The message contains the command that installs
            pyarrow.
        ValueError: If the file is not a Parquet file, if it is damaged, or if it exceeds the limits
            of `_bounds`.
    """
    return _table.read_signal(_read_table(path), options)


@contextlib.contextmanager
def _opened(path):
    """Context manager that opens a Parquet file. Replaces errors of PyArrow by ValueError.

    Yields:
        `(file, open_source, pyarrow)`. `open_source` takes options of `ParquetFile` and returns the
        open Parquet file.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            f"Reading {path} needs pyarrow, which is not installed. Install it by "
            'pip install "keras-dml[parquet]".'
        ) from None
    try:
        with path.open("rb") as file:
            size, longest = _footer_size(file), max(2**20, path.stat().st_size // 20)
            if size > longest:
                raise ValueError(
                    f"{path} has a footer of {size:,} bytes, but a footer may have up to "
                    f"{longest:,}. Write fewer columns and row groups."
                )
            limits = {"thrift_string_size_limit": longest}
            limits["thrift_container_size_limit"] = MOST_ENTRIES
            yield file, functools.partial(parquet.ParquetFile, file, **limits), pyarrow
    except (pyarrow.ArrowException, OSError, _Damaged) as error:
        # PyArrow raises OSError for a damaged page.
        reason = " ".join(str(error).split()).encode("unicode_escape").decode()
        raise ValueError(f"{path} is not a Parquet file, or it is damaged: {reason}") from None


def read_columns(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the columns of numbers, texts, booleans and lists of numbers of a Parquet file.

    Returns:
        Dictionary from names of columns to values: float64 of shape `(rows,)` with NaN for missing
        numbers, objects (`str` or None) of shape `(rows,)`, or float64 of shape `(rows, n)` for
        lists of n numbers. Other columns are left out.

    Raises:
        ImportError: If pyarrow is not installed.
        ValueError: If the file is damaged, if it exceeds the limits of `_bounds`, if two columns
            have the same name, or if the lists of a column have different lengths.
    """
    most, parts = _bounds.most_numbers(path), {}
    with _opened(path) as (file, open_source, pyarrow):
        types = pyarrow.types
        source = open_source()
        schema = source.schema_arrow
        _bounds.check_columns(path, "its schema", len(schema.names))
        kinds = dict(zip(schema.names, map(_value_kind(types), schema.types), strict=True))
        if len(kinds) < len(schema.names):
            raise ValueError(f"{path}, its schema: two columns have the same name. Rename one.")
        names = [name for name, kind in kinds.items() if kind is not None]
        _check_pages(path, file, source.metadata, set(names), most)
        # A dictionary stores each text once. Many rows may hold the same long text.
        source = open_source(read_dictionary=[name for name in names if kinds[name] == TEXT])
        count, parts = 0, {name: [] for name in names}
        rows = max(1, BATCH // max(1, len(names)))
        for batch in source.iter_batches(rows, columns=names, use_threads=False) if names else ():
            for name in names:
                values = _convert(path, name, batch[name], kinds[name], pyarrow)
                count += values.size
                parts[name].append(values)
            _bounds.check_numbers(path, count, most)
    lengths = {name: {part.shape[1:] for part in blocks} for name, blocks in parts.items()}
    for name, shapes in lengths.items():
        if len(shapes) > 1:
            raise _uneven(path, name)
    return {
        name: np.concatenate(blocks) if blocks else np.empty(0) for name, blocks in parts.items()
    }


def _value_kind(types):
    """Returns a function that classifies the type of a column."""

    def kind(of):
        if types.is_dictionary(of):
            of = of.value_type
        if types.is_string(of) or types.is_large_string(of):
            return TEXT
        if types.is_boolean(of) or types.is_integer(of) or types.is_floating(of):
            return NUMBER
        if types.is_list(of) or types.is_large_list(of) or types.is_fixed_size_list(of):
            return LIST if types.is_floating(of.value_type) else None
        return None

    return kind


def _convert(path, name, column, kind, pyarrow):
    """Converts a column of a batch to an array."""
    if kind == TEXT:
        column = (
            column if isinstance(column, pyarrow.DictionaryArray) else column.dictionary_encode()
        )
        texts = np.array([*column.dictionary.to_pylist(), None], object)
        return texts[column.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)]
    if kind == NUMBER:
        return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    flat = column.flatten().cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    if len(lengths) and (lengths != lengths[0]).any():
        raise _uneven(path, name)
    return flat.reshape(len(lengths), -1)


def _uneven(path, name):
    return ValueError(
        f"{path}: the lists in column {name!r} have different lengths. Write lists of one length."
    )


def _read_table(path):
    """Returns a `Table` of the columns of a Parquet file."""
    most = _bounds.most_numbers(path)
    with _opened(path) as (file, open_source, pyarrow):
        source = open_source()
        schema = source.schema_arrow
        _bounds.check_columns(path, "its schema", len(schema.names))
        columns = _columns(schema, pyarrow)
        _check_pages(path, file, source.metadata, {schema.names[i] for i in columns}, most)
        values = _values(path, source, schema, columns, most, pyarrow)
    names = list(_table.shortened(schema.names))
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

    def is_boolean(i):
        return pyarrow.types.is_boolean(schema.types[used[i]])

    return _table.Table(
        path,
        names,
        "its schema",
        lambda row: f"row {row}",
        numbers,
        seconds,
        notes,
        is_boolean=is_boolean,
    )


def _kind(schema, i):
    kind = str(schema.types[i])
    return kind if len(kind) <= 80 else f"{kind[:80]}..."


def _columns(schema, pyarrow):
    """Returns the indices of the columns to read: columns of numbers, booleans or times with a
    unique name.

    Columns of text are not read. If many rows contain the same text, the column takes little space
    in the file but much memory.
    """
    types, counts = pyarrow.types, collections.Counter(schema.names)
    kinds = (
        *(types.is_integer, types.is_floating, types.is_decimal),
        *(types.is_timestamp, types.is_duration, types.is_boolean),
    )
    return [
        i
        for i, (name, kind) in enumerate(zip(schema.names, schema.types, strict=True))
        if counts[name] == 1 and any(is_kind(kind) for is_kind in kinds)
    ]


def _check_pages(path, file, metadata, names, most):
    """Raises ValueError if the pages of a file hold more than `most` numbers after
    decompression."""
    pages, total, most_pages = 0, 0, max(MOST_PAGES, path.stat().st_size // 1000)
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            path_of_column = column.path_in_schema  # `name.list.element` in a column of lists
            is_read = path_of_column in names or path_of_column.partition(".")[0] in names
            if not is_read or not column.num_values:
                continue
            start = column.data_page_offset
            if column.dictionary_page_offset:
                start = min(start, column.dictionary_page_offset)
            for size in _page_sizes(file, start, column.total_compressed_size):
                pages, total = pages + 1, total + size
                _bounds.check_numbers(path, total // BYTES, most)
                if pages > most_pages:
                    raise ValueError(
                        f"{path} has more than {most_pages:,} pages. Write the file with larger "
                        "pages."
                    )


def _values(path, source, schema, columns, most, pyarrow):
    """Reads columns that contain numbers or times.

    Returns:
        Dictionary from the index of each column to the values of this column.

    Raises:
        ValueError: If the columns hold more than `most` numbers.
    """
    if not columns:
        return {}
    names = [schema.names[i] for i in columns]
    parts, count = {i: [] for i in columns}, 0
    # Columns are read in small batches, because the size of a row group is known only after
    # decoding.
    batches = source.iter_batches(max(1, BATCH // len(columns)), columns=names, use_threads=False)
    for batch in batches:
        if batch.schema.names != names:  # a part of a nested column has the name of another column
            raise ValueError(
                f"{path} has two columns of the same name among {_bounds.join_first(names)}. Give "
                "each column its own name."
            )
        count += batch.num_rows * len(columns)
        _bounds.check_numbers(path, count, most)
        for i, column in zip(columns, batch.columns, strict=True):
            parts[i].append(_array(column, pyarrow))
    return {i: _joined(parts.pop(i), schema.types[i]) for i in columns}


def _array(column, pyarrow):
    """Converts a column of a batch to an array of times, or to an array of float64 numbers in which
    null becomes NaN."""
    kind = column.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_duration(kind):
        return column.to_numpy(zero_copy_only=False)
    return column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)


def _joined(arrays, kind):
    return np.concatenate(arrays) if arrays else np.array([], kind.to_pandas_dtype())


def _without_index(schema, names, values):
    """Leaves out the columns that pandas stored as an index, unless the index holds times.

    If an index with times has no name, the function names it `time`.

    Returns:
        Indices of the remaining columns, and notes about the columns that were the index.
    """
    try:
        metadata = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        stored = metadata.get("index_columns", [])
        stored = {name for name in stored if isinstance(name, str)}  # a range index has no column
    except (ValueError, AttributeError, TypeError, RecursionError):  # not written by pandas
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


class _Damaged(ValueError):
    """Error with the reason why a file is not a valid Parquet file."""


def _footer_size(file):
    """Returns the size of the footer of an open Parquet file, in bytes."""
    file.seek(0, 2)
    if file.tell() < 12:
        raise _Damaged("the file is too short")
    file.seek(-8, 2)
    size, magic = struct.unpack("<I4s", file.read(8))
    if magic != MAGIC:
        raise _Damaged("the file does not end with the mark of a Parquet file")
    return size


def _page_sizes(file, start, size):
    """Iterates over a column's pages in one row group. Yields the size of each page after
    decompression.

    Args:
        file: Open file.
        start: Position of the first page.
        size: Size of all pages before decompression, in bytes.

    Yields:
        Size of each page after decompression, in bytes.

    Raises:
        _Damaged: If the header of a page is invalid.
    """
    end = start + size
    while start < end:
        file.seek(start)
        try:
            fields, length = _Struct(file.read(HEADER)).read()
            unpacked, packed = fields[2], fields[3]
        except (IndexError, KeyError) as error:
            raise _Damaged("the header of a page in the file is damaged") from error
        if unpacked < 0 or packed < 0:
            raise _Damaged("the header of a page in the file states a negative size")
        yield unpacked
        start += length + packed


class _Struct:
    """Reader that extracts integers from a struct in Thrift's compact protocol.

    The protocol is specified in thrift-compact-protocol.md of Apache Thrift.

    Args:
        data: Bytes that begin with the struct.
    """

    def __init__(self, data):
        self._data, self._position = data, 0

    def read(self):
        """Returns a dictionary from field numbers to integers, and the length of the struct in
        bytes."""
        return self._fields(0), self._position

    def _fields(self, depth):
        if depth > DEEPEST:
            raise IndexError
        fields, number = {}, 0
        while (head := self._byte()) != 0:
            kind, step = head & 15, head >> 4
            number = number + step if step else self._integer()
            value = self._value(kind, depth)
            if value is not None:
                fields[number] = value
        return fields

    def _value(self, kind, depth):
        """Reads the value of a field. Returns the value if it is an integer, and otherwise None."""
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 3:
            self._skip(1)
        elif kind == 7:
            self._skip(8)
        elif kind == 8:
            self._skip(self._unsigned())
        elif kind in (9, 10):
            head = self._byte()
            count = self._unsigned() if head >> 4 == 15 else head >> 4
            for _ in range(count):
                self._value(3 if head & 15 in (1, 2) else head & 15, depth + 1)
        elif kind == 12:
            self._fields(depth + 1)
        elif kind not in (1, 2):  # the field header contains the values of booleans
            raise IndexError
        return None

    def _byte(self):
        self._position += 1
        return self._data[self._position - 1]

    def _unsigned(self):
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def _integer(self):
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)

    def _skip(self, count):
        self._position += count
        if self._position > len(self._data):
            raise IndexError
