"""Tests that IDX files, compressed or not, are read correctly and damaged files are refused."""

import gzip
import struct

import numpy as np
import pytest

from tests.tfds_builders.mutations import check_parser
from tfds_builders.common.errors import FormatError
from tfds_builders.parsers import idx


def packed(array, code):
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, code, array.ndim]) + shape + array.tobytes()


GOOD = packed(np.arange(6, dtype="u1").reshape(1, 2, 3), 0x08)
# The bytes are part of a test's name, so they must be the same in every process.
GZIPPED = gzip.compress(GOOD, mtime=0)


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    "dtype, code",
    [("u1", 0x08), ("i1", 0x09), (">i2", 0x0B), (">i4", 0x0C), (">f4", 0x0D), (">f8", 0x0E)],
)
def test_numbers_come_as_they_stand(tmp_path, dtype, code, compress):
    expected = np.arange(24).reshape(2, 3, 4).astype(dtype)
    (tmp_path / "numbers").write_bytes(compress(packed(expected, code)))
    found = idx.read(tmp_path / "numbers")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.dtype(dtype).newbyteorder("=") and found.flags.writeable


@pytest.mark.parametrize(
    "data, part",
    [
        (b"", "expected the magic number of IDX"),
        (b"PK\3\4" + GOOD, "0x504b0304, expected the magic number"),
        (GOOD[:2] + b"\x07" + GOOD[3:], "the magic number"),
        (GOOD[:9], "the file ends after 5 bytes of sizes, expected sizes of 3 axes"),
        (GOOD[:-1], "5 bytes, expected 6 for the shape \\(1, 2, 3\\)"),
        (GOOD + b"\0", "more than 6 bytes, expected 6"),
        (GOOD[:4] + b"\xff" * 12 + GOOD[16:], "1 GiB of numbers"),
        (GOOD[:4] + bytes(4) + b"\xff" * 8, "at least one number"),
        (GOOD[:3] + b"\x46" + b"\0\0\0\1" * 70 + b"x", "70 axes, expected at most 8"),
        (GZIPPED[:-9], "expected a complete gzip file"),
        (GZIPPED[:12] + b"\xff\xff" + GZIPPED[14:], "complete gzip file"),
    ],
)
def test_damage_is_told_in_one_sentence(tmp_path, data, part):
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(data)
    with pytest.raises(FormatError, match=f"^t10k-images-idx3-ubyte.gz.*{part}.*archive"):
        idx.read(tmp_path / "t10k-images-idx3-ubyte.gz")


@pytest.mark.slow
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_thousand_mutations_end_in_an_array_or_a_format_error(tmp_path, compress):
    digits = np.frombuffer(b"12 -3.5 1e9 7 ", "u1").reshape(2, 7)  # digits for `mutations`

    def parse(data):
        (tmp_path / "numbers").write_bytes(compress(data))
        return idx.read(tmp_path / "numbers")

    check_parser(parse, packed(digits, 0x08), lambda array: np.testing.assert_(array.size > 0))


def test_mnist_is_what_it_should_be(data_dir):
    images = idx.read(data_dir / "mnist" / "t10k-images-idx3-ubyte.gz")
    labels = idx.read(data_dir / "mnist" / "t10k-labels-idx1-ubyte.gz")
    assert images.shape == (10_000, 28, 28) and images.dtype == np.uint8
    assert np.bincount(labels).tolist()[:3] == [980, 1135, 1032]
