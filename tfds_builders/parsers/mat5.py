"""Parser of MATLAB 5 files that contain matrices of numbers, text, cells and structs.

This parser replaces `scipy.io.loadmat`, because SciPy 1.17.1 crashes the process if one byte of a
file is changed. This byte is the type of a text, changed from 16 to 80. A file has a header of 128
bytes, then elements. Each element has a tag and a body, and is padded to a multiple of 8 bytes. A
variable is an element that contains other elements, and may be compressed with zlib. The parser
reads an element only if the body of the element lies within the body of the parent element.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection, Iterator
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted

LARGEST_BYTES = 256 << 20
_HEADER = 128
_DEEPEST, _MOST_DIMENSIONS, _LONGEST_NAME = 8, 8, 64
_INT8, _INT32, _UINT32, _MATRIX, _PACKED = 1, 5, 6, 14, 15
_STORED = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_CELL, _STRUCT, _TEXT = 1, 2, 4
_NUMBERS = {
    6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
_CODECS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_COMPLEX = 1 << 11
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


def parse(file: BinaryIO, *, name: str, variables: Collection[str]) -> dict[str, object]:
    """Reads the named variables, and skips the other variables.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        variables: Names of the variables. All named variables must be in the file.

    Returns:
        Dictionary from the name of each variable to its value. A matrix of numbers becomes an array
        with the same shape and type. Text of one row becomes a `str`. A cell becomes a list of
        values. A struct becomes a list of dicts whose keys are the fields. Both kinds of lists are
        in column-major order.

    Raises:
        FormatError: If the file is damaged, if it has the format of MATLAB 7.3, if a named variable
            is missing or occurs twice, or if a named variable is sparse, is complex or is an
            object.
    """
    data = memoryview(file.read())
    order = _byte_order(bytes(data[:_HEADER]), name)
    values: dict[str, object] = {}
    other_names: list[str] = []
    for kind, body in _elements(data[_HEADER:], order, name):
        if kind == _PACKED:
            inner = [*_elements(_unpacked(body, name), order, name)]
            kind, body = inner[0] if len(inner) == 1 else (kind, body)
        if kind != _MATRIX:
            raise _error(name, f"the file contains an element of type {kind}", "only variables")
        reader = _Matrix(body, order, name)
        if reader.title not in variables:
            other_names.append(reader.title)
        elif reader.title in values:
            received = f"the file contains the variable {reader.title} twice"
            raise _error(name, received, "each variable once")
        else:
            values[reader.title] = reader.value()
    missing = [variable for variable in variables if variable not in values]
    if missing:
        names = ", ".join([*values, *other_names])
        received = f"the file contains {quoted(names)} but no variable {missing[0]}"
        if not names:
            received = "the file contains no variables"
        expected = f"the variables {', '.join(variables)}"
        raise _error(name, received, expected)
    return values


def table(value: object, columns: int, *, name: str, location: str) -> np.ndarray:
    """Checks that a value is a matrix of finite numbers, and returns it.

    Args:
        value: A value that `parse` returned.
        columns: Required number of columns.
        name: Name of the file, for error messages.
        location: Place of the value in the file, for error messages.

    Returns:
        The stored numbers, shape (rows, columns).

    Raises:
        FormatError: If the value is text, a cell or a struct, if it does not have `columns`
            columns, if it has no rows, or if it contains NaN or infinite numbers.
    """
    expected = f"a matrix of numbers with {columns} columns"
    if not isinstance(value, np.ndarray):
        kind = "text" if isinstance(value, str) else "a cell or a struct"
        raise FormatError(name, location, f"the value is {kind}", expected, _FIX)
    if value.ndim != 2 or value.shape[1] != columns or not len(value):
        raise FormatError(name, location, f"the value has the shape {value.shape}", expected, _FIX)
    if not np.isfinite(value).all():
        received = "the value contains NaN or an infinity"
        raise FormatError(name, location, received, expected, _FIX)
    return value


def _error(name: str, found: str, expected: str) -> FormatError:
    return FormatError(name, "", found, expected, _FIX)


def _byte_order(header: bytes, name: str) -> str:
    if header.startswith(b"MATLAB 7.3") or header.startswith(b"\x89HDF"):
        raise FormatError(
            name, "", "the file has the format of MATLAB 7.3 (HDF5)", "a file of MATLAB 5 to 7.2",
            "Load the file in MATLAB and save it again with '-v7'.",
        )  # fmt: skip
    order = {b"\0\1IM": "<", b"\1\0MI": ">"}.get(header[-4:])
    if len(header) < _HEADER or order is None:
        raise _error(name, f"the file begins with {quoted(header[:16])}", "a MATLAB 5 file")
    return order


def _unpacked(body: memoryview, name: str) -> memoryview:
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(body, LARGEST_BYTES)
    except zlib.error as error:
        received = f"a variable cannot be decompressed ({quoted(str(error))})"
        raise _error(name, received, "data in zlib's format") from None
    if not stream.eof:
        received = f"a variable is incomplete or larger than {LARGEST_BYTES:,} bytes"
        raise _error(name, received, "a complete variable")
    return memoryview(content)


def _elements(data: memoryview, order: str, name: str) -> Iterator[tuple[int, memoryview]]:
    """Yields the type and the body of each element in `data`."""
    at = 0
    while at < len(data):
        if at + 8 > len(data):
            received = f"the data end with a tag of {len(data) - at} bytes"
            raise _error(name, received, "8 bytes")
        kind, size = struct.unpack_from(f"{order}2I", data, at)
        start = at + 8
        if kind >> 16:  # a small element has its body in the tag
            kind, size, start = kind & 0xFFFF, kind >> 16, at + 4
        end = start + size
        if end > len(data) or (start == at + 4 and size > 4):
            received = f"an element of {size:,} bytes is too long for its place in the file"
            raise _error(name, received, "a shorter element")
        yield kind, data[start:end]
        at = end if kind == _PACKED else end + -end % 8


class _Matrix:
    """Reader of a variable, or of a part of a cell or struct.

    Attributes:
        title: Name of the variable, or an empty text for a part of a cell or struct.
    """

    def __init__(self, body: memoryview, order: str, name: str, depth: int = 0):
        self.order, self.name, self.depth = order, name, depth
        self.parts = _elements(body, order, name)
        self.title, self.kind, self.shape = "", 6, (0, 0)  # an element of 0 bytes is empty
        self.is_empty = not len(body)
        if self.is_empty:
            return
        flags, *_ = self._integers(_UINT32, "I", 2)
        if flags & _COMPLEX:
            raise _error(name, "the file contains complex numbers", "real numbers")
        self.kind = flags & 0xFF
        self.shape = self._integers(_INT32, "i", range(2, _MOST_DIMENSIONS + 1))
        self.title = self._ascii()
        # an axis of length 0 counts as 1, so that the shape (0, 2**31, 2**31) is refused too
        least = math.prod(size or 1 for size in self.shape)
        if min(self.shape) < 0 or least > len(body):
            expected = f"a shape that fits into {len(body):,} bytes"
            raise _error(name, f"a variable has the shape {self.shape}", expected)

    def value(self) -> object:
        """Reads the value of the variable. See `parse`."""
        if self.kind in _NUMBERS:
            value = self._numbers()
        elif self.kind == _TEXT:
            value = self._text()
        elif self.kind == _CELL:
            value = self._values(math.prod(self.shape))
        elif self.kind == _STRUCT:
            value = self._structs()
        else:
            expected = "numbers, text, a cell or a struct"
            raise _error(self.name, f"a value has the class {self.kind}", expected)
        if next(self.parts, None) is not None:
            expected = f"only a value of the shape {self.shape}"
            raise _error(self.name, "the value is followed by more data", expected)
        return value

    def _next(self, *kinds: int) -> tuple[int, memoryview]:
        kind, body = next(self.parts, (0, None))
        if kind not in kinds:
            is_end = body is None
            received = "a variable ends early" if is_end else f"an element has the type {kind}"
            expected = f"an element of type {', '.join(map(str, kinds))}"
            raise _error(self.name, received, expected)
        return kind, body

    def _integers(self, kind: int, code: str, counts: int | range) -> tuple[int, ...]:
        _, body = self._next(kind)
        count, rest = divmod(len(body), 4)
        if rest or count not in ((counts,) if isinstance(counts, int) else counts):
            received = f"the flags or sizes of a variable have {len(body)} bytes"
            raise _error(self.name, received, "another number of bytes")
        return struct.unpack(f"{self.order}{count}{code}", body)

    def _ascii(self) -> str:
        _, body = self._next(_INT8)
        text = bytes(body).rstrip(b"\0")
        if not text.isascii() or len(text) >= _LONGEST_NAME:
            expected = f"an ASCII name of fewer than {_LONGEST_NAME} characters"
            raise _error(self.name, f"a variable has the name {quoted(text)}", expected)
        return text.decode("ascii")

    def _fields(self) -> list[str]:
        (length,) = self._integers(_INT32, "i", 1)
        _, body = self._next(_INT8)
        if not 0 < length <= _LONGEST_NAME or len(body) % length:
            received = f"each field name has {length} bytes, and all names have {len(body)} bytes"
            expected = f"1 to {_LONGEST_NAME} bytes per name, and a multiple of them for all names"
            raise _error(self.name, received, expected)
        names = [bytes(body[at : at + length]) for at in range(0, len(body), length)]
        fields = [name.partition(b"\0")[0].decode("latin-1") for name in names]
        if len(set(fields)) < len(fields):
            raise _error(self.name, "two fields have the same name", "each name once")
        return fields

    def _structs(self) -> list[dict[str, object]]:
        fields = self._fields()
        values = self._values(math.prod(self.shape) * len(fields))
        starts = range(0, len(values), len(fields) or 1)
        return [dict(zip(fields, values[at : at + len(fields)], strict=True)) for at in starts]

    def _values(self, count: int) -> list[object]:
        if self.depth == _DEEPEST:
            expected = f"at most {_DEEPEST} levels"
            raise _error(self.name, f"values are nested more than {_DEEPEST} levels deep", expected)
        bodies = [self._next(_MATRIX)[1] for _ in range(count)]
        return [_Matrix(body, self.order, self.name, self.depth + 1).value() for body in bodies]

    def _numbers(self) -> np.ndarray:
        dtype = np.dtype(_NUMBERS[self.kind])
        if self.is_empty:
            return np.empty(self.shape, dtype)
        kind, body = self._next(*_STORED)
        stored = np.dtype(self.order + _STORED[kind])
        if len(body) != math.prod(self.shape) * stored.itemsize or not np.can_cast(stored, dtype):
            received = f"a matrix has {len(body):,} bytes of {stored.name}"
            expected = f"numbers of type {dtype.name} and the shape {self.shape}"
            raise _error(self.name, received, expected)
        values = np.frombuffer(body, stored).reshape(self.shape, order="F")
        return np.ascontiguousarray(values, dtype)

    def _text(self) -> str:
        kind, body = self._next(*_CODECS)
        end = {"<": "-le", ">": "-be"}[self.order]
        codec = _CODECS[kind] + end * _CODECS[kind].endswith(("16", "32"))
        try:
            text = bytes(body).decode(codec)
        except UnicodeDecodeError:
            received, expected = (
                f"the text {quoted(bytes(body))} cannot be decoded",
                f"text in {codec}",
            )
            raise _error(self.name, received, expected) from None
        if len(text) != math.prod(self.shape) or self.shape[0] > 1:
            expected = f"one row and the shape {self.shape}"
            raise _error(self.name, f"a text has {len(text)} characters", expected)
        return text
