"""Tests that zip files are read only if they are plain, complete and of bounded size."""

import io
import struct
import tracemalloc
import zipfile
import zlib

import h5py
import numpy as np
import pytest

from keras_dml.zoo import archive

MEGABYTE = 10**6


def packed(members, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, content in members:
            made.writestr(name, content)
    return file


def declaring(file, size, checksum=None):
    """Returns a zip file whose only member declares another size and checksum."""
    content = bytearray(file.getvalue())
    for signature, place in ((b"PK\x01\x02", 16), (b"PK\x03\x04", 14)):
        place += content.index(signature)
        if checksum is not None:
            struct.pack_into("<I", content, place, checksum)
        struct.pack_into("<I", content, place + 8, size)
    return io.BytesIO(content)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_plain_file_passes_and_names_its_members(compression):
    file = packed([("config.json", b"{}"), ("assets/", b""), ("assets/a.txt", b"a")], compression)
    assert archive.check(file, texts=["config.json"]) == ["config.json", "assets/", "assets/a.txt"]


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_method_that_keras_does_not_write_is_refused(compression):
    with pytest.raises(
        ValueError, match="config.json of the zip file is compressed by method 1[24]"
    ):
        archive.check(packed([("config.json", b"{}" * 99)], compression))


@pytest.mark.parametrize("name", ["/etc/config.json", "../config.json", "a/../../b"])
def test_a_member_that_leads_out_is_refused(name):
    with pytest.raises(
        ValueError, match=f"the path {name} in the zip file leads outside the folder"
    ):
        archive.check(packed([(name, b"{}")]))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_stands_there_twice_is_refused():
    with pytest.raises(ValueError, match="2 members with the name config.json"):
        archive.check(packed([("config.json", b"{}"), ("config.json", b"[]")]))


def test_an_encrypted_member_is_refused():
    content = bytearray(packed([("config.json", b"{}")]).getvalue())
    for signature, place in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.index(signature) + place] |= 1
    with pytest.raises(ValueError, match="config.json of the zip file is encrypted"):
        archive.check(io.BytesIO(content))


@pytest.fixture(scope="module")
def bomb():
    """Returns a zip file of 100 kB that contains 100 MB of blanks."""
    return packed([("config.json", b" " * (100 * MEGABYTE))])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            ["config.json"],
            "config.json of the zip file would take 100 MB, but at most 34 MB are allowed",
        ),
        ([], "the contents of the zip file would take 100 MB, which is 1,0.. times the size"),
    ],
)
def test_contents_that_expand_too_far_are_refused_unread(bomb, texts, said):
    tracemalloc.start()
    with pytest.raises(ValueError, match=said):
        archive.check(bomb, texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEGABYTE


def test_a_member_that_holds_more_than_it_declares_is_found_in_bounded_memory(bomb):
    lying = declaring(bomb, 1000, zlib.crc32(b" " * 1000))
    assert zipfile.ZipFile(lying).testzip() is None
    tracemalloc.start()
    with pytest.raises(ValueError, match="Bad CRC-32"):
        archive.check(lying)
    with pytest.raises(
        ValueError, match="does not contain the 1,000 bytes that the zip file declares"
    ):
        archive.check(declaring(bomb, 1000, zlib.crc32(b" " * 1001)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * MEGABYTE


def test_a_member_that_holds_less_than_it_declares_is_refused():
    with pytest.raises(ValueError, match="does not contain|Bad CRC"):
        archive.check(declaring(packed([("config.json", b"{}")]), 3))


@pytest.mark.parametrize("place", range(0, 160, 3))
def test_every_damage_is_one_kind_of_error(place):
    content = bytearray(packed([("config.json", b"{}"), ("metadata.json", b"{}")]).getvalue())
    content[place % len(content)] ^= 0xFF
    try:
        archive.check(io.BytesIO(content))
    except ValueError as error:
        assert str(error).endswith(".") or "the zip file" in str(error)


def weights(**sizes):
    file = io.BytesIO()
    with h5py.File(file, "w") as made:
        for name, size in sizes.items():
            made.create_dataset(f"layers/{name}/vars/0", data=np.zeros(size, np.float32))
    return file.getvalue()


def test_weights_that_are_stored_pass():
    archive.check_weights(packed([("weights.h5", weights(a=9, b=7))]), "weights.h5")


def test_weights_that_declare_more_than_they_store_are_refused():
    file = io.BytesIO()
    with h5py.File(file, "w") as made:
        made.create_dataset("layers/a/vars/0", (20_000, 20_000), "float32", chunks=(100, 100))
    packed_up = packed([("weights.h5", file.getvalue())])
    archive.check(packed_up)
    with pytest.raises(ValueError, match="weights.h5 of the zip file would take 1,600 MB"):
        archive.check_weights(packed_up, "weights.h5")


def test_weights_that_are_none_are_refused():
    with pytest.raises(ValueError, match="weights.h5 of the zip file is damaged"):
        archive.check_weights(packed([("weights.h5", b"hello")]), "weights.h5")
