"""Parser of IDX, the file format of MNIST (LeCun1998). A file has a magic number, then the sizes of
the axes, then the data.
"""

from __future__ import annotations

import gzip
import math
import os
import pathlib
import struct
import zlib

import numpy as np

from tfds_builders.common.errors import FormatError

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_LARGEST = 1 << 30  # largest number of data bytes; MNIST has 47 million
_MOST_AXES = 8
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_FIX = "The file seems to be incomplete or edited. Get it again from the official archive."


def read(path: str | os.PathLike) -> np.ndarray:
    """Reads an IDX file. The file may be compressed with gzip, and it may have any name.

    Args:
        path: Path of the file.

    Returns:
        An array with the shape that the file states, in the byte order of the machine.

    Raises:
        FormatError: If the file is not an IDX file, if it is shorter or longer than its header
            states, if it has no numbers, or if it has more than 1 GiB of numbers.
        OSError: If the file cannot be read.
    """
    path = pathlib.Path(path)
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    with gzip.open(path) if packed else path.open("rb") as file:
        try:
            return _array(file, path.name)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(path.name, "", str(error), "a complete gzip file", _FIX) from error


def _array(file, name):
    head = file.read(4)
    if len(head) != 4 or head[:2] != b"\0\0" or head[2] not in _TYPES or not head[3]:
        received = f"the file begins with 0x{head.hex()}"
        raise FormatError(name, "byte 0", received, "the magic number of IDX", _FIX)
    axes = head[3]
    if axes > _MOST_AXES:
        received = f"the array has {axes} axes"
        raise FormatError(name, "byte 3", received, f"at most {_MOST_AXES}", _FIX)
    sizes = file.read(4 * axes)
    if len(sizes) != 4 * axes:
        received = f"the file ends after {len(sizes)} bytes of sizes"
        raise FormatError(name, "byte 4", received, f"sizes of {axes} axes", _FIX)
    shape = struct.unpack(f">{axes}I", sizes)
    dtype = np.dtype(_TYPES[head[2]])
    expected = math.prod(shape) * dtype.itemsize
    if not 0 < expected <= _LARGEST:
        expected = "at least one number and at most 1 GiB of numbers"
        raise FormatError(name, "byte 4", f"the array has the shape {shape}", expected, _FIX)
    data = bytearray()
    # The loop reads in chunks, because the header may state many more bytes than the file has.
    while len(data) <= expected and (chunk := file.read(_CHUNK)):
        data += chunk
    if len(data) != expected:
        more = "more than " if len(data) > expected else ""
        received = f"the array has {more}{min(len(data), expected):,} bytes"
        raise FormatError(name, "", received, f"{expected:,} for the shape {shape}", _FIX)
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))
