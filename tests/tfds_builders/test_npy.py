"""Tests that `.npy` files are read correctly, without running code, or refused if damaged."""

import io
import re

import numpy as np
import pytest

from tests.tfds_builders.mutations import check_parser
from tfds_builders.common.errors import FormatError
from tfds_builders.parsers import npy

KINDS = ("f4", "f8", "c16", "i8")


def saved(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


def parse(data):
    return npy.parse(io.BytesIO(data), name="a.npy", kinds=KINDS)


EMPTY = saved(np.empty((0, 5)))
GOOD = saved(np.arange(6, dtype="<f8").reshape(2, 3))


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<c16", "<i8"])
@pytest.mark.parametrize("shape", [(), (24,), (2, 3, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_come_as_numpy_wrote_them(version, dtype, shape, order):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype, order=order)
    found = parse(saved(array, version=version))
    np.testing.assert_array_equal(found, array)
    assert found.dtype == np.dtype(dtype).newbyteorder("=") and found.flags.writeable


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "byte 0: the file begins with '', expected a .npy file of version 1 or 2"),
        (b"PK\3\4" + GOOD, "expected a .npy file"),
        (GOOD[:6] + b"\3" + GOOD[7:], "expected a .npy file of version 1 or 2"),
        (GOOD[:8], "byte 8: the file ends here, expected a header"),
        (GOOD[:-1], "47 bytes of numbers, expected 48 bytes for the shape"),
        (GOOD + b"0", "49 bytes of numbers, expected 48"),
        (GOOD.replace(b"(2, 3), }" + 10 * b" ", b"(2, 99999999999), }"), "48 bytes of numbers"),
        (GOOD.replace(b"(2, 3)", b"(2, 9)"), "48 bytes of numbers, expected 144"),
        (GOOD.replace(b"(2, 3)", b"(2,-3)"), "expected a header as NumPy writes it"),
        (EMPTY, "byte 10: the array has the shape (0, 5), expected at least one number"),
        (EMPTY.replace(b"5), }" + 20 * b" ", b"9999999999, 9999999999), }"), "at least one"),
        (GOOD.replace(b"False", b"f(x) "), "expected a header as NumPy writes it"),
        (
            GOOD.replace(b"<f8", b"<f2"),
            "the numbers have the type <f2, expected one of the types c16, f4, f8, i8",
        ),
        (GOOD.replace(b"<f8", b"|O8"), "expected a header as NumPy writes it"),
        (saved(np.array([None]), allow_pickle=True), "expected a header as NumPy writes it"),
    ],
)
def test_damage_is_told_in_one_sentence(data, message):
    with pytest.raises(FormatError, match=re.escape(message)):
        parse(data)


def test_mutated_files_end_in_a_result_or_a_format_error():
    check_parser(
        parse, GOOD, lambda array: np.testing.assert_equal(array.dtype.kind in "fci", True)
    )
