"""Safe reader of pickles with numbers, text and NumPy arrays. It runs no code of a pickle.

The reader first checks the opcodes. It then loads the pickle with stand-ins for NumPy's objects,
which only store the description of an array. `PickledArray.to_numpy` checks the type and the size,
and then makes the array. NumPy's own functions would allocate as much memory as the shape in the
pickle asks for.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from collections.abc import Iterator

import numpy as np

from tfds_builders.common.errors import FormatError, quoted

_HIGHEST_MEMO = 100_000
_MOST_TUPLES = 1_000
_MOST_AXES = 4
_MOST_NUMBERS = 2**31  # NumPy itself raises an error for larger shapes, even if an axis is 0
_TUPLES = frozenset(("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"))
_PUTS = frozenset(("BINPUT", "LONG_BINPUT", "MEMOIZE"))
_GETS = frozenset(("BINGET", "LONG_BINGET"))
_OPCODES = frozenset(
    """
    PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT
    BINSTRING SHORT_BINSTRING BINUNICODE SHORT_BINUNICODE BINBYTES SHORT_BINBYTES EMPTY_TUPLE
    EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS GLOBAL STACK_GLOBAL REDUCE BUILD
    """.split()
).union(_TUPLES, _PUTS, _GETS)
_ERRORS = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError, KeyError,
    OverflowError, MemoryError, RecursionError,
)  # fmt: skip
_EXPECTED = "a pickle with only numbers, text and NumPy arrays"
_FIX = "No code of the pickle was run. Get the file again from its official place."


class PickledArray:
    """Description of an array in a pickle."""

    def __setstate__(self, state):
        self.state = state

    def to_numpy(self, code: str, *, name: str, location: str) -> np.ndarray:
        """Returns the array, which is read-only and keeps the byte order of the file.

        Args:
            code: The only accepted type, such as `"f8"`.
            name: Name of the file, for error messages.
            location: Name of the array, for error messages.

        Raises:
            FormatError: If the array has another type, or its shape does not fit the number of
                bytes.
        """
        expected = f"an array of {code} of at most {_MOST_AXES} axes, with all numbers of its shape"
        try:
            _, shape, dtype, fortran, raw = self.state
            raw = memoryview(raw.encode("latin1") if isinstance(raw, str) else raw)
            axes = [length for length in shape if type(length) is int and length >= 0]
            order = "F" if fortran else "C"
            kind = np.dtype(code).newbyteorder(dtype.order)
            good = dtype.code == code and len(axes) == len(shape) <= _MOST_AXES
            good = good and math.prod(filter(None, axes)) <= _MOST_NUMBERS
        except _ERRORS:
            raise FormatError(name, location, "no plain array", expected, _FIX) from None
        if not good or math.prod(axes) * kind.itemsize != len(raw):
            received = f"{len(raw):,} bytes of {quoted(dtype.code)} in {len(shape)} axes"
            raise FormatError(name, location, received, expected, _FIX)
        return np.frombuffer(raw, kind).reshape(axes, order=order)


class _DType:
    def __init__(self, code, *_):
        if not isinstance(code, str):
            raise pickle.UnpicklingError("a type without a name")
        self.code, self.order = code, "<"

    def __setstate__(self, state):
        self.order = state[1]


class _Reconstruct:
    """Stand-in for NumPy's function `_reconstruct`. It is a class, because the opcode BUILD would
    set attributes of a function.
    """

    def __new__(cls, *_):
        return PickledArray()

    def __setstate__(self, state):
        raise pickle.UnpicklingError("a state of a function")


class _Encode(_Reconstruct):
    def __new__(cls, text, codec):
        if codec != "latin1":
            raise pickle.UnpicklingError("another codec than latin1")
        return text.encode("latin1")


_RECORDERS = {
    ("numpy", "ndarray"): PickledArray,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _Encode,
    ("numpy.core.multiarray", "_reconstruct"): _Reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _Reconstruct,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in _RECORDERS:
            raise pickle.UnpicklingError(f"the object {module}.{name}")
        return _RECORDERS[module, name]


def unpickle(data: bytes, *, name: str) -> object:
    """Reads a pickle of protocol 2 to 4. Pickles of Python 2 are read too.

    Args:
        data: Bytes of the pickle.
        name: Name of the file, for error messages.

    Returns:
        Dicts, lists, tuples, numbers and text. Each array is a `PickledArray`.

    Raises:
        FormatError: If the pickle has any other object or is damaged.
    """
    _look_over(data, name)
    try:
        return _Reader(io.BytesIO(data), encoding="latin1").load()
    except _ERRORS as error:
        raise FormatError(name, "", _said(error), _EXPECTED, _FIX) from None


def _look_over(data: bytes, name: str) -> None:
    """Checks the opcodes before the pickle is loaded.

    Refuses opcodes that are not needed, objects that are not in the table, and lengths beyond the
    end of the file. Refuses a tuple that is used twice and too many tuples: hashing deeply nested
    tuples as keys of a dict takes endless time or crashes the process.
    """
    memo: set[int] = set()
    made = 0
    tuples: set[int] = set()
    # opcode that made the object on top of the stack; no accepted opcode removes that object
    top = ""
    for opcode, argument, position in _opcodes(data, name):
        received = ""
        made += opcode in _TUPLES
        if opcode not in _OPCODES:
            received = f"the opcode {opcode}"
        elif opcode == "GLOBAL" and tuple(argument.split(" ", 1)) not in _RECORDERS:
            received = f"the object {quoted(argument)}"
        elif opcode in _GETS and argument in tuples:
            received = "a tuple that is used twice"
        elif made > _MOST_TUPLES:
            received = f"more than {_MOST_TUPLES:,} tuples"
        elif opcode in _PUTS:
            index = len(memo) if argument is None else argument
            memo.add(index)
            (tuples.add if top in _TUPLES else tuples.discard)(index)
            if not 0 <= index < _HIGHEST_MEMO:
                received = f"the memo index {index:,}"
        if received:
            raise FormatError(name, f"byte {position}", received, _EXPECTED, _FIX)
        top = top if opcode in _PUTS else opcode


def _opcodes(data: bytes, name: str) -> Iterator[tuple[str, object, int]]:
    """Yields name, argument and byte of each opcode."""
    position = 0
    try:
        for opcode, argument, position in pickletools.genops(data):
            yield opcode.name, argument, position
    except (
        *_ERRORS,
        Warning,
    ) as error:  # an invalid escape raises a warning, which may be an error
        raise FormatError(name, f"byte {position}", _said(error), _EXPECTED, _FIX) from None


def _said(error: Exception) -> str:
    return quoted(str(error)) if str(error) else type(error).__name__
