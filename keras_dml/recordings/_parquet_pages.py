"""Sizes of the pages of a Parquet file before they are decoded.

pyarrow unpacks a page to the size that the header of the page says, whatever the footer of the file
says, and has no bound on memory. A page of 30 bytes can unpack to 2 GB.
"""

import struct

HEADER = 2**14  # bytes that are read for the header of a page; it may hold statistics
DEEPEST = 8  # structs in structs of a header
MAGIC = b"PAR1"


class Damaged(ValueError):
    """The file is not a Parquet file; the message says why."""


def footer_size(file):
    """Returns the size in bytes of the footer of an open Parquet file."""
    file.seek(0, 2)
    if file.tell() < 12:
        raise Damaged("it is too short")
    file.seek(-8, 2)
    size, magic = struct.unpack("<I4s", file.read(8))
    if magic != MAGIC:
        raise Damaged("it does not end as one")
    return size


def sizes(file, start, size):
    """Iterates over the pages of a column in a row group.

    Args:
        file: The open file.
        start: Position of the first page.
        size: Bytes of all pages, packed.

    Yields:
        Bytes of each page, unpacked.

    Raises:
        Damaged: If the header of a page is not valid.
    """
    end = start + size
    while start < end:
        file.seek(start)
        try:
            fields, length = _Struct(file.read(HEADER)).read()
            unpacked, packed = fields[2], fields[3]
        except (IndexError, KeyError) as error:
            raise Damaged("the header of a page is damaged") from error
        if unpacked < 0 or packed < 0:
            raise Damaged("the header of a page says a negative size")
        yield unpacked
        start += length + packed


class _Struct:
    """A struct of Thrift's compact protocol, of which the integers are read.

    The protocol is specified in thrift-compact-protocol.md of Apache Thrift.

    Args:
        data: Bytes that begin with the struct.
    """

    def __init__(self, data):
        self._data, self._position = data, 0

    def read(self):
        """Returns the integers of the struct by the number of their field, and its length."""
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
        """The value of a field if it is an integer; any other value is passed over."""
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
        elif kind not in (1, 2):  # booleans are in the head
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
