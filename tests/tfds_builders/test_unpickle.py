"""Tests that `unpickle` returns equal arrays, runs no code and limits memory to the file's size."""

import os
import pickle
import pickletools
import time

import numpy as np
import pytest

from tests.tfds_builders import eeg
from tests.tfds_builders.mutations import check_parser, peak_bytes
from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.common.unpickle import PickledArray, unpickle

ARRAY = np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 7


def read(data):
    return unpickle(data, name="a.dat")


def array_of(value, code="f8"):
    return value.to_numpy(code, name="a.dat", location="data")


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize(
    "array",
    [ARRAY, np.asfortranarray(ARRAY), ARRAY.astype(">f8"), np.float64(3)[None]],
    ids=["C", "Fortran", "big-endian", "one"],
)
def test_an_array_comes_back_equal_from_each_protocol(protocol, array):
    content = read(pickle.dumps({"data": array, "n": [1, 2.5, None, True, "ä"]}, protocol))
    np.testing.assert_array_equal(array_of(content["data"]), array)
    assert content["n"] == [1, 2.5, None, True, "ä"]
    assert not array_of(content["data"]).flags.writeable


def test_a_pickle_of_python_2_is_read_as_pickle_reads_it():
    arrays = {"data": ARRAY, "labels": ARRAY[0]}
    data = eeg.python2_pickle(arrays)
    for read_array, expected in zip(
        read(data).values(), pickle.loads(data, encoding="latin1").values(), strict=True
    ):
        np.testing.assert_array_equal(array_of(read_array), expected)


class Calls:
    """An object whose pickle calls a function."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("call", [(os.system, ("touch run",)), (eval, ("1",)), (set, ([1],))])
def test_a_function_is_refused_by_name_and_never_called(protocol, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match="the object .*(system|eval|set)|the opcode EMPTY_SET"):
        read(pickle.dumps([Calls(*call)], protocol))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ios\nsystem\n.", "byte 0: the pickle contains the opcode INST"),
        (b"(cos\nsystem\nU\x02lso.", "byte 1: the pickle contains the object 'os system'"),
        (b"\x80\x02\x82\x01.", "byte 2: the pickle contains the opcode EXT1"),
        (b"Pid\n.", "byte 0: the pickle contains the opcode PERSID"),
        (
            b"K\x01" + b"r\xff\xff\xff\x7f.",
            "byte 2: the pickle contains the memo index 2,147,483,647",
        ),
        (b"]r\xa0\x86\x01\0.", "byte 1: the pickle contains the memo index 100,000"),
        (b"(lp0\n.", "byte 1: the pickle contains the opcode LIST"),
        (pickle.dumps(ARRAY, 5), "byte 50: the pickle contains the opcode BYTEARRAY8"),
        (b"T\xff\xff\xff\x7fabc.", "expected 2147483647 bytes in a string4, but only 4 remain"),
        (b"\x95" + b"\xff" * 8 + b"].", "FRAME length exceeds"),
        (b"", "byte 0: .*pickle exhausted before seeing STOP"),
        (b"cnumpy\ndtype\n}b.", "__setstate__"),
        (b"cnumpy.core.multiarray\n_reconstruct\n)R}b.", "data: .*not a plain array"),
        (b"c_codecs\nencode\nU\x01aU\x04utf8\x86R.", "text that is not in the codec latin1"),
        (b"cnumpy\ndtype\n]K\0K\x01\x87R.", "the type of an array has no name"),
        (b"}]K\x01s.", "unhashable"),
        (b"\x8b\1\0\0\0\1.", "byte 0: the pickle contains the opcode LONG4"),
    ],
)
def test_what_is_no_number_text_or_array_is_refused_by_place(data, message):
    with pytest.raises(FormatError, match=message):
        array_of(read(data))


def test_tuples_within_each_other_are_refused_before_they_take_forever():
    nested = b")q\0"
    for level in range(60):
        nested += b"h" + bytes([level]) * 1 + b"h" + bytes([level]) + b"\x86q" + bytes([level + 1])
    start = time.thread_time()
    with pytest.raises(FormatError, match="byte .*: the pickle uses a tuple twice"):
        read(b"}" + nested + b"K\x01s.")
    assert time.thread_time() - start < 1


@pytest.mark.parametrize("deep", [2_000, 300_000])
def test_a_tuple_deeper_than_the_stack_is_refused_before_it_ends_the_process(deep):
    with pytest.raises(FormatError, match="byte 1003: the pickle contains more than 1,000 tuples"):
        read(b"}K\1" + b"\x85" * deep + b"K\1s.")


def test_lists_within_each_other_are_shown_by_their_kind():
    deep = read(b"]" * 5_000 + b"a" * 4_999 + b".")
    assert quoted(deep) == "a list with deep nesting"


def _said(shape=b"K\x02K\x03\x86", code=b"U\x02f8", raw=b"U" + bytes([48]) + bytes(48)):
    return (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\x01b\x87R(K\x01"
        + shape + b"cnumpy\ndtype\n" + code + b"K\0K\x01\x87R\x89" + raw + b"tb."
    )  # fmt: skip


def test_a_shape_type_or_length_that_does_not_fit_is_refused():
    np.testing.assert_array_equal(array_of(read(_said())), np.zeros((2, 3)))
    huge = b"J\xff\xff\xff\x7f" * 2 + b"\x86"
    for changed in (
        _said(shape=huge), _said(shape=b"J\xff\xff\xff\xff" * 2 + b"\x86"), _said(shape=b"N"),
        _said(code=b"U\x02O8"), _said(code=b"U\x02f4"), _said(raw=b"U\x01a"), _said(raw=b"]"),
        _said(raw=b"J\xff\xff\xff\x7f"), _said(shape=b"K\0" + huge, raw=b"U\0"),
        _said(shape=b"K\0J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x87", raw=b"U\0"),
        _said(shape=b"(" + b"K\x01" * 5 + b"K\x06t"),
    ):  # fmt: skip
        value = read(changed)
        with pytest.raises(FormatError, match="a.dat, data: .*, expected an array of type f8"):
            array_of(value)
    assert peak_bytes(lambda data: array_of(read(data)), _said(shape=huge)) < 1 << 20


def test_opcodes_are_known_by_the_names_that_pickletools_has():
    from tfds_builders.common.unpickle import _OPCODES

    assert set(_OPCODES) <= {opcode.name for opcode in pickletools.opcodes}


def _holds(content):
    if isinstance(content, dict):
        for value in content.values():
            if isinstance(value, PickledArray):
                try:
                    array_of(value)
                except FormatError:
                    pass


@pytest.mark.parametrize("protocol", [2, 4, "Python 2"])
def test_a_thousand_mutations_end_in_a_value_or_a_format_error(protocol):
    arrays = {"data": ARRAY, "labels": ARRAY[0]}
    data = eeg.python2_pickle(arrays) if protocol == "Python 2" else pickle.dumps(arrays, protocol)
    check_parser(read, data, _holds)
