"""Tests that MATLAB 5 files give the same values as SciPy and that damaged files are refused."""

import io
import struct

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from tests.tfds_builders.gaze import mat_file
from tests.tfds_builders.mutations import check_parser
from tfds_builders.common.errors import FormatError
from tfds_builders.parsers import mat5

VALUES = {
    "doubles": np.array([[1.5, -2.0, 1e300], [0.0, np.inf, 4.0]]),
    "counts": np.arange(12, dtype=np.uint16).reshape(3, 4),
    "cube": np.arange(-12, 12, dtype=np.int64).reshape(2, 3, 4),
    "singles": np.float32([[0.1], [0.2]]),
    "flags": np.array([[True, False]]),
    "nothing": np.empty((0, 3)),
    "whole": np.array([[1.0, 2.0, 300.0]]),
    "word": "gaze",
    "accents": "Größe €",
    "cell": np.array([["a", np.arange(3.0)[None]], ["bc", "d"]], object),
    "record": {"size": np.uint8([[12, 8]]), "inner": {"names": np.array(["x", "yz"], object)}},
    "records": np.array([[(1.0, "a"), (2.0, "b")]], [("value", object), ("name", object)]),
}


def parse(data, variables=("x",)):
    return mat5.parse(io.BytesIO(data), name="a.mat", variables=variables)


def plain(value):
    """Converts a value from SciPy to the types that `mat5.parse` returns."""
    if value.dtype.names:
        columns = value.ravel(order="F")
        return [{field: plain(item[field]) for field in value.dtype.names} for item in columns]
    if value.dtype == object:
        return [plain(item) for item in value.ravel(order="F")]
    return "".join(value.ravel()) if value.dtype.kind == "U" else value


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str):
        return one == other
    return one.shape == other.shape and one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "plain"])
def test_all_kinds_of_values_are_those_that_scipy_reads(packed):
    data = mat_file(VALUES, packed)
    expected = scipy.io.loadmat(io.BytesIO(data), chars_as_strings=False)
    found = parse(data, VALUES)
    assert all(same(found[name], plain(expected[name])) for name in VALUES)
    assert found["word"] == "gaze" and found["cell"][1] == "bc" and found["accents"] == "Größe €"
    assert found["record"][0]["inner"][0]["names"] == ["x", "yz"]


def element(kind, body, order="<"):
    return struct.pack(f"{order}2I", kind, len(body)) + body + bytes(-len(body) % 8)


def variable(body, order="<", kind=6, flags=0, shape=(1, 2), name=b"x"):
    """Returns the bytes of a variable, made of the elements that the format prescribes."""
    head = element(6, struct.pack(f"{order}2I", kind | flags, 0), order)
    size = element(5, struct.pack(f"{order}{len(shape)}i", *shape), order)
    return element(14, head + size + element(1, name, order) + body, order)


def file_of(*variables, order="<"):
    mark = {"<": b"\0\1IM", ">": b"\1\0MI"}[order]
    return b"MATLAB 5.0 MAT-file".ljust(124) + mark + b"".join(variables)


NUMBERS = element(3, struct.pack("<2h", 3, -4))


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_file_made_by_hand_is_read_in_both_byte_orders(order):
    numbers = element(3, struct.pack(f"{order}2h", 3, -4), order)
    text = element(17, "hé".encode("utf-16-le" if order == "<" else "utf-16-be"), order)
    data = file_of(variable(numbers, order), variable(text, order, kind=4, name=b"t"), order=order)
    found = parse(data, ("x", "t"))
    assert found["x"].tolist() == [[3, -4]] and found["x"].dtype == np.dtype("f8")
    assert found["t"] == "hé"


def test_other_variables_are_passed_over_unread():
    assert parse(file_of(variable(b"", kind=17, name=b"y"), variable(NUMBERS)))["x"].size == 2


NESTED = np.array([[1.0]], object)
for _ in range(9):
    inner, NESTED = NESTED, np.empty((1, 1), object)
    NESTED[0, 0] = inner


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "'', expected a MATLAB 5 file"),
        (b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF", r"MATLAB 7.3 \(HDF5\), .* '-v7'"),
        (b"\x89HDF\r\n\x1a\n".ljust(200), r"MATLAB 7.3 \(HDF5\)"),
        (b"<html>".ljust(200), "'<html> .*, expected a MATLAB 5 file"),
        (file_of(), "the file contains no variables, expected the variables x"),
        (file_of(variable(NUMBERS, name=b"y")), "the file contains 'y' but no variable x"),
        (file_of(variable(NUMBERS), variable(NUMBERS)), "the variable x twice"),
        (file_of(variable(NUMBERS)[:-4]), "an element of 64 bytes is too long for its place"),
        (file_of(b"12345"), "the data end with a tag of 5 bytes"),
        (file_of(element(9, bytes(8))), "an element of type 9, expected only variables"),
        (
            file_of(variable(NUMBERS, shape=(1, 3))),
            "4 bytes of int16, expected numbers of type float64",
        ),
        (file_of(variable(NUMBERS, shape=(1 << 20, 1 << 20))), "a shape that fits into 64 bytes"),
        (
            file_of(variable(b"", shape=(0, 1 << 30, 1 << 30, 1 << 30))),
            "a shape that fits into 56 bytes",
        ),
        (file_of(variable(NUMBERS, shape=(-1, -2))), r"the shape \(-1, -2\)"),
        (file_of(variable(NUMBERS, shape=(4,))), "the flags or sizes of a variable have 4 bytes"),
        (file_of(variable(NUMBERS, kind=9)), "of int16, expected numbers of type uint8"),
        (file_of(variable(NUMBERS + NUMBERS)), "the value is followed by more data"),
        (file_of(variable(b"")), "a variable ends early, expected an element of type 1, 2"),
        (file_of(variable(NUMBERS, flags=1 << 11)), "complex numbers"),
        (file_of(variable(NUMBERS, kind=17)), "a value has the class 17, expected numbers, text"),
        (file_of(variable(NUMBERS, name=b"n" * 70)), "the name 'nnn"),
        (file_of(variable(element(16, b"\xff\xff"), kind=4)), "expected text in utf-8"),
        (file_of(variable(element(16, b"ab"), kind=4, shape=(2, 1))), "one row"),
        (file_of(variable(NUMBERS, kind=1)), "has the type 3, expected an element of type 14"),
        (file_of(variable(element(5, b"\4\0\0\0") + element(1, b"a\0\0\0a\0\0\0"), kind=2)), "two"),
        (file_of(variable(element(5, bytes(4)) + element(1, b"a"), kind=2)), "each field name has"),
        (mat_file({"x": NESTED}), "values are nested more than 8 levels deep"),
        (mat_file({"x": scipy.sparse.eye_array(3, format="csc")}), "a value has the class 5"),
        (mat_file(VALUES)[:-40], "is too long for its place"),
        (file_of(struct.pack("<2I", 15, 4) + b"abcd"), "a variable cannot be decompressed"),
        (file_of(struct.pack("<2I", 15, 12) + mat_file({"x": 1.0})[136:148]), "or larger than"),
    ],
)  # fmt: skip
def test_damage_and_other_kinds_are_told(data, message):
    with pytest.raises(FormatError, match=f"a.mat: .*{message}"):
        parse(data)


def test_a_variable_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(mat5, "LARGEST_BYTES", 1_000)
    with pytest.raises(FormatError, match="incomplete or larger than 1,000 bytes"):
        parse(mat_file({"x": np.zeros(1_000)}))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("word", "the value is text, expected a matrix of numbers with 3 columns"),
        (np.array(["a", 1.0], object), "the value is a cell or a struct, expected a matrix"),
        ({"a": 1.0}, "the value is a cell or a struct"),
        (np.zeros((2, 4)), r"the value has the shape \(2, 4\)"),
        (np.zeros((0, 3)), r"the value has the shape \(0, 3\)"),
        (np.zeros((2, 3, 3)), r"the value has the shape \(2, 3, 3\)"),
        (np.array([[1, np.nan, 2]]), "the value contains NaN or an infinity"),
    ],
)
def test_only_numbers_are_taken_as_a_table(value, message):
    held = parse(mat_file({"x": value}))["x"]
    with pytest.raises(FormatError, match=f"a.mat, x: {message}"):
        mat5.table(held, 3, name="a.mat", location="x")
    assert mat5.table(np.ones((2, 4)), 4, name="a.mat", location="x").shape == (2, 4)


def sound(value):
    """Returns whether a value has only the types that `mat5.parse` may return."""
    if isinstance(value, list):
        return all(map(sound, value))
    if isinstance(value, dict):
        return all(map(sound, value.values()))
    return isinstance(value, str) or value.dtype.kind in "fiu"


def holds(found):
    assert found.keys() == {"cell", "record"} and all(map(sound, found.values()))


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "plain"])
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error(packed):
    data = mat_file({key: VALUES[key] for key in ("cell", "record")}, packed)
    check_parser(lambda mutated: parse(mutated, ("cell", "record")), data, holds)
