"""Parser of NumPy's `.npy` files. A file has a magic number, then a header of text, then the
numbers.

This parser replaces `numpy.load`, which evaluates the header and may create objects. This parser
accepts only one form of header, and compares the shape in the header with the size of the file
before it makes an array.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Collection
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted

_MAGIC = b"\x93NUMPY"
_LENGTH = {1: "<H", 2: "<I"}  # keys: version of the format
_HEADER = re.compile(
    r"\{'descr': '([<>|=][a-z]\d{1,2})', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,18}(?:, \d{1,18}){0,7},?)?)\), ?\} *\n?"
)
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


def parse(file: BinaryIO, *, name: str, kinds: Collection[str]) -> np.ndarray:
    """Reads one array.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        kinds: Allowed types of the numbers, such as `"f8"` and `"c16"`.

    Returns:
        The array, in the byte order of the machine.

    Raises:
        FormatError: If the file is damaged or is not a `.npy` file, if it contains objects, if it
            contains no numbers, or if the type of its numbers is not in `kinds`.
    """
    data = file.read()
    size = _LENGTH.get(data[6]) if data.startswith(_MAGIC) and len(data) > 7 else None
    if size is None:
        received = f"the file begins with {quoted(data[:16])}"
        raise FormatError(name, "byte 0", received, "a .npy file of version 1 or 2", _FIX)
    start = 8 + struct.calcsize(size)
    if len(data) < start:
        raise FormatError(name, "byte 8", "the file ends here", "a header", _FIX)
    end = start + struct.unpack_from(size, data, 8)[0]
    match = _HEADER.fullmatch(data[start:end].decode("latin-1"))
    if match is None:
        received = f"the header is {quoted(data[start:end])}"
        raise FormatError(name, f"byte {start}", received, "a header as NumPy writes it", _FIX)
    kind, is_fortran, sizes = match.groups()
    if kind[1:] not in kinds:
        expected = f"one of the types {', '.join(sorted(kinds))}"
        received = f"the numbers have the type {kind}"
        raise FormatError(name, f"byte {start}", received, expected, _FIX)
    shape, dtype = tuple(int(number) for number in re.findall(r"\d+", sizes)), np.dtype(kind)
    expected = math.prod(shape) * dtype.itemsize
    if 0 in shape:
        received = f"the array has the shape {shape}"
        raise FormatError(name, f"byte {start}", received, "at least one number", _FIX)
    if len(data) - end != expected:
        raise FormatError(
            name, f"byte {end}", f"the file has {max(0, len(data) - end):,} bytes of numbers",
            f"{expected:,} bytes for the shape {shape}", _FIX,
        )  # fmt: skip
    order = "F" if is_fortran == "True" else "C"
    values = np.frombuffer(data, dtype, offset=end).reshape(shape, order=order)
    return values.astype(dtype.newbyteorder("="))
