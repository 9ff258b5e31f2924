"""Safe reader of pickles that contain numbers, text and NumPy arrays.

The reader does not run code from the pickle. The reader first checks the opcodes, then loads the
pickle with substitutes for NumPy's classes. The substitutes only store the description of an array.
`PickledArray.to_numpy` checks the type and the size, and then makes the array. NumPy's own
functions would allocate memory for any shape that the pickle states, without a check.
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
_EXPECTED = "a pickle that contains only numbers, text and NumPy arrays"
_FIX = "No code of the pickle was run. Get the file again from its official place."


class PickledArray:
    """Description of a NumPy array in a pickle, from which `to_numpy` makes the array."""

    def __setstate__(self, state):
        self.state = state

    def to_numpy(self, code: str, *, name: str, location: str) -> np.ndarray:
        """Returns the array, which is read-only and has the byte order of the file.

        Args:
            code: The only accepted type, such as `"f8"`.
            name: Name of the file, for error messages.
            location: Name of the array, for error messages.

        Raises:
            FormatError: If the type of the array is not `code`, or if its shape does not fit the
                number of bytes.
        """
        expected = (
            f"an array of type {code} with at most {_MOST_AXES} axes and as many bytes as its "
            "shape needs"
        )
        try:
            _, shape, dtype, fortran, raw = self.state
            raw = memoryview(raw.encode("latin1") if isinstance(raw, str) else raw)
            axes = [length for length in shape if type(length) is int and length >= 0]
            order = "F" if fortran else "C"
            kind = np.dtype(code).newbyteorder(dtype.order)
            good = dtype.code == code and len(axes) == len(shape) <= _MOST_AXES
            good = good and math.prod(filter(None, axes)) <= _MOST_NUMBERS
        except _ERRORS:
            received = "the object is not a plain array"
            raise FormatError(name, location, received, expected, _FIX) from None
        if not good or math.prod(axes) * kind.itemsize != len(raw):
            size = f"{len(raw):,} bytes of type {quoted(dtype.code)}"
            received = f"the array has {size} in {len(shape)} axes"
            raise FormatError(name, location, received, expected, _FIX)
        return np.frombuffer(raw, kind).reshape(axes, order=order)


class _DType:
    def __init__(self, code, *_):
        if not isinstance(code, str):
            raise pickle.UnpicklingError("the type of an array has no name")
        self.code, self.order = code, "<"

    def __setstate__(self, state):
        self.order = state[1]


class _Reconstruct:
    """Substitute for NumPy's function `_reconstruct`. The substitute is a class and not a function,
    because the opcode BUILD of a pickle could set attributes of a function.
    """

    def __new__(cls, *_):
        return PickledArray()

    def __setstate__(self, state):
        raise pickle.UnpicklingError("the pickle sets attributes of a function")


class _Encode(_Reconstruct):
    def __new__(cls, text, codec):
        if codec != "latin1":
            raise pickle.UnpicklingError("the pickle contains text that is not in the codec latin1")
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
            raise pickle.UnpicklingError(f"the pickle contains the object {module}.{name}")
        return _RECORDERS[module, name]


def unpickle(data: bytes, *, name: str) -> object:
    """Reads a pickle with protocol 2, 3 or 4. Python 2 may have written the pickle.

    Args:
        data: Bytes of the pickle.
        name: Name of the file, for error messages.

    Returns:
        The object in the pickle, made of dicts, lists, tuples, numbers and text. Each array in the
        object is a `PickledArray`.

    Raises:
        FormatError: If the pickle is damaged, or if it contains an object that is not a dict, list,
            tuple, number, text or array.
    """
    _look_over(data, name)
    try:
        return _Reader(io.BytesIO(data), encoding="latin1").load()
    except _ERRORS as error:
        raise FormatError(name, "", _said(error), _EXPECTED, _FIX) from None


def _look_over(data: bytes, name: str) -> None:
    """Checks the opcodes before the pickle is loaded.

    Raises an error for opcodes that are not needed, for objects that are not in `_RECORDERS`, and
    for lengths that exceed the file. The function also raises an error for too many tuples and for
    tuples that are used twice. Without this check, a pickle could use deeply nested tuples as keys
    of a dict. Hashing deeply nested tuples would take a very long time or crash the process.
    """
    memo: set[int] = set()
    made = 0
    tuples: set[int] = set()
    # Opcode that made the object on top of the stack. No accepted opcode removes that object.
    top = ""
    for opcode, argument, position in _opcodes(data, name):
        received = ""
        made += opcode in _TUPLES
        if opcode not in _OPCODES:
            received = f"the pickle contains the opcode {opcode}"
        elif opcode == "GLOBAL" and tuple(argument.split(" ", 1)) not in _RECORDERS:
            received = f"the pickle contains the object {quoted(argument)}"
        elif opcode in _GETS and argument in tuples:
            received = "the pickle uses a tuple twice"
        elif made > _MOST_TUPLES:
            received = f"the pickle contains more than {_MOST_TUPLES:,} tuples"
        elif opcode in _PUTS:
            index = len(memo) if argument is None else argument
            memo.add(index)
            (tuples.add if top in _TUPLES else tuples.discard)(index)
            if not 0 <= index < _HIGHEST_MEMO:
                received = f"the pickle contains the memo index {index:,}"
        if received:
            raise FormatError(name, f"byte {position}", received, _EXPECTED, _FIX)
        top = top if opcode in _PUTS else opcode


def _opcodes(data: bytes, name: str) -> Iterator[tuple[str, object, int]]:
    """Yields the name, the argument and the byte position of each opcode."""
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
