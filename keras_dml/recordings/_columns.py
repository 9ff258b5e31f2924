"""Functions that read tables with columns of numbers, texts and vectors, such as a table of trials
or a file of embeddings. The tables were written by other programs."""

import dataclasses
import functools
import pathlib
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.recordings import _bounds, _table

SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".npz")
# Limit for the bytes of all arrays in an npz file of up to 64 MB. A few kilobytes may decompress to
# gigabytes.
MOST_UNPACKED = 2**28
MOST_RATIO = 4
MEMBER = ".npy"


@dataclasses.dataclass(frozen=True)
class Columns:
    """Named columns of a file.

    Attributes:
        path: Path of the file.
        names: Names of the columns.
        where: Place of the names in the file, such as `"line 1"`.
        notes: Sentences that describe assumptions about the file.
        place: Function that takes the index of a row and returns its place in the file.
        read_numbers: Function that takes the index of a column and returns its numbers, float64 of
            shape `(rows,)` or `(rows, n)`, with NaN for missing numbers. The function raises
            ValueError if the column holds texts.
        read_texts: Function that takes the index of a column and returns its texts. The text of a
            missing value is empty.
        is_text: Function that takes the index of a column and returns whether the column holds
            texts.
    """

    path: pathlib.Path
    names: tuple[str, ...]
    where: str
    notes: tuple[str, ...]
    place: Callable[[int], str]
    read_numbers: Callable[[int], np.ndarray]
    read_texts: Callable[[int], Sequence[str]]
    is_text: Callable[[int], bool]

    def index(self, name: str, argument: str) -> int:
        """Returns the index of a column.

        Args:
            name: Name of the column. Upper and lower case do not matter.
            argument: Argument that chooses the column, for errors.

        Raises:
            ValueError: If the file has no such column. The message lists the columns.
        """
        advice = Message("Name the column by {argument}.", argument=_messages.name(argument))
        return _table.indices_of(self.path, self.names, [name], self.where, advice)[0]

    def numbers(self, name: str, argument: str) -> np.ndarray:
        """Returns the numbers of a column, float64, shape `(rows,)`.

        Args:
            name: Name of the column.
            argument: Argument that chooses the column, for errors.

        Raises:
            ValueError: If the file has no such column, or if the column holds texts or missing
                numbers. The message states the first line with such a value.
        """
        i = self.index(name, argument)
        if self.is_text(i):
            text = next((text for text in self.read_texts(i) if text), "")
            raise ValueError(
                Message(
                    "{path}: column {name!r} holds texts such as {text!r}, but numbers are "
                    "expected. The columns are {names}. Name a column of numbers by {argument}.",
                    path=self.path,
                    name=self.names[i],
                    text=text[:40],
                    names=_bounds.join_first(self.names),
                    argument=_messages.name(argument),
                )
            )
        values = self.read_numbers(i)
        if values.ndim != 1:
            raise ValueError(
                f"{self.path}: column {self.names[i]!r} holds lists of {values.shape[1]} numbers, "
                "but one number per row is expected."
            )
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            raise ValueError(
                f"{self.path}, {self.place(int(infinite[0]))}: the number in column "
                f"{self.names[i]!r} is infinite. In total, {infinite.size:,} of {values.size:,} "
                "rows are. Leave these rows out, or correct them."
            )
        self._check_present(i, np.isnan(values), "number")
        return values

    def texts(self, name: str, argument: str) -> list[str]:
        """Returns the texts of a column, without blanks at their ends.

        Numbers are converted to texts, and whole numbers have no decimals.

        Args:
            name: Name of the column.
            argument: Argument that chooses the column, for errors.

        Raises:
            ValueError: If the file has no such column.
        """
        strip = functools.cache(lambda text: unicodedata.normalize("NFC", text.strip()))
        return [strip(text) for text in self.read_texts(self.index(name, argument))]

    def people(self, name: str, argument: str) -> list[str]:
        """Returns the texts of a column of people, as `texts` does.

        Raises:
            ValueError: If the file has no such column, or if a name is empty. The message states
                the first line with an empty name.
        """
        people = self.texts(name, argument)
        missing = np.array([not person for person in people], bool)
        self._check_present(self.index(name, argument), missing, "person")
        return people

    def _check_present(self, i, missing, kind):
        if missing.any():
            row = int(np.flatnonzero(missing)[0])
            count = f"{int(missing.sum()):,} of {missing.size:,}"
            raise ValueError(
                f"{self.path}, {self.place(row)}: column {self.names[i]!r} has no {kind}. In "
                f"total, {count} rows have none. Leave these rows out, or correct them."
            )

    def vectors(
        self, names: Sequence[str] | None, others: Iterable[str], argument: str
    ) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...]]:
        """Returns the vectors in the rows of the file.

        A vector is a list in one column, a row of a two-dimensional array, or the numbers in
        several columns.

        Args:
            names: Columns that hold the vectors. By default, the only column of lists, or else all
                columns of numbers except counters and columns with names such as `session`.
            others: Columns that hold something else.
            argument: Argument that chooses the columns, for errors.

        Returns:
            `(vectors, used, left_out)`: float64 of shape `(rows, dimensions)`, the names of the
            columns that hold the vectors, and the names of columns that are left out.

        Raises:
            ValueError: If no column or more than one column of lists could be meant, or if a
                number is missing.
        """
        if names is None:
            used = self._columns_of_vectors({*others}, argument)
        else:
            used = [self.index(name, argument) for name in names]
        for i in used:
            if self.is_text(i):
                self.numbers(self.names[i], argument)  # raises the error
        blocks = [self.read_numbers(i) for i in used]
        for i, block in zip(used, blocks, strict=True):
            missing = ~np.isfinite(block)
            self._check_present(i, missing.any(axis=1) if block.ndim > 1 else missing, "number")
        used_names = tuple(self.names[i] for i in used)
        left_out = tuple(name for name in self.names if name not in {*used_names, *others})
        return np.column_stack(blocks), used_names, left_out

    def _columns_of_vectors(self, others, argument):
        candidates = [
            i for i, name in enumerate(self.names) if name not in others and not self.is_text(i)
        ]
        lists = [i for i in candidates if self.read_numbers(i).ndim > 1]
        if len(lists) == 1:
            return lists
        used = lists or [
            i
            for i in candidates
            if not _table.is_named_counter(self.names[i]) and not _table.is_about(self.names[i])
        ]
        if lists or not used:
            count = f"{len(lists)} columns" if lists else "no column"
            raise ValueError(
                Message(
                    "{path}: {count} may hold the embeddings. The columns are {names}. Name the "
                    "columns by {argument}.",
                    path=self.path,
                    count=count,
                    names=_bounds.join_first(self.names),
                    argument=_messages.name(argument),
                )
            )
        return used


def read_columns(path: Path) -> Columns:
    """Reads a table with named columns from a text file (csv), a Parquet file or an npz file.

    In an npz file, one-dimensional arrays are columns, and two-dimensional arrays are columns of
    vectors. The columns of a text file without a header are numbered from 1.

    Args:
        path: Path of the file, which ends in `.csv`, `.tsv`, `.txt`, `.gz`, `.parquet` or `.npz`.

    Returns:
        `Columns`.

    Raises:
        FileNotFoundError: If the file does not exist.
        ImportError: If the file is a Parquet file, and pyarrow is not installed.
        ValueError: If the file has another suffix, if it is damaged, or if its decoded content is
            too large.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Give a file that ends in {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise FileNotFoundError(f"The file {str(path)!r} does not exist.")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{path} ends in {path.suffix or 'nothing'!r}, but tables end in {', '.join(SUFFIXES)}."
        )
    if suffix == ".parquet":
        from keras_dml.recordings import _parquet

        return _of_arrays(path, "its schema", _parquet.read_columns(path))
    if suffix == ".npz":
        return _of_arrays(path, "its arrays", _arrays(path))
    from keras_dml.recordings import _text

    table = _text.read_table(path, "Write a number in each row of the column.")
    return Columns(
        path,
        table.names,
        table.header,
        table.notes,
        table.place,
        functools.cache(table.numbers),
        functools.cache(table.texts),
        table.is_text,
    )


def _of_arrays(path, where, arrays):
    """Returns the `Columns` of arrays that have one entry or one row per row of the table."""
    counts = {name: len(values) for name, values in arrays.items()}
    if len({*counts.values()}) > 1:
        text = ", ".join(f"{name} ({count:,})" for name, count in counts.items())
        raise ValueError(
            f"{path}: the arrays have different lengths: {text}. Write one entry per row in each "
            "array."
        )
    if not arrays or not next(iter(counts.values())):
        raise ValueError(f"{path} has no rows. Leave it out.")
    values = [*arrays.values()]

    def texts(i):
        if values[i].ndim > 1:
            return [""] * len(values[i])
        return [_text_of(value) for value in values[i].tolist()]

    return Columns(
        path,
        tuple(arrays),
        where,
        (),
        lambda row: f"row {row}",
        lambda i: values[i].astype(np.float64),
        texts,
        lambda i: values[i].dtype.kind in "OUS",
    )


def _text_of(value):
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)


def _arrays(path):
    """Returns the one- and two-dimensional arrays of an npz file by name. Never runs code in the
    file."""
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(entry.file_size for entry in file.infolist())
            if size > max(MOST_UNPACKED, MOST_RATIO * path.stat().st_size):
                raise ValueError("its arrays are too large after decompression")
            arrays = {}
            for name in file.namelist():
                with file.open(name) as member:
                    values = np.lib.format.read_array(member, allow_pickle=False)
                if values.ndim in (1, 2) and values.dtype.kind in "biufUS":
                    arrays[name.removesuffix(MEMBER)] = values
            return arrays
    except Exception as error:  # NumPy parses the header as Python, which may raise any error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(
            f"{path} is not an .npz file of arrays of numbers and texts: {reason}. Save arrays by "
            "numpy.savez(path, embedding=..., person=...)."
        ) from None
