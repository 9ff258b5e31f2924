"""Tests that all archive formats give the same members and that bad archives are refused.

Bad archives are unsafe, damaged or larger than the limits.
"""

import errno
import gzip
import io
import mmap
import os
import pathlib
import pickle
import random
import stat
import tarfile
import zipfile

import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.samples import zipped
from tfds_builders.common.archive import open_source
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.limits import Limits

FILES = {"set/a.txt": b"first" * 9, "set/b/c.txt": b"second", "set/.DS_Store": b"x"}
NAMES = ("set/a.txt", "set/b/c.txt")
LIMITS = Limits(members=20, member_bytes=1000, total_bytes=1 << 20, nesting=2)


PACKERS = {
    "a.zip": zipped,
    "lzma.zip": lambda files: zipped(files, zipfile.ZIP_LZMA),
    "a.tar": lambda files: samples.tar(files, "w:"),
    "a.tar.gz": lambda files: samples.tar(files, "w:gz"),
    "a.tar.xz": lambda files: samples.tar(files, "w:xz"),
    "a.tar.bz2": lambda files: samples.tar(files, "w:bz2"),
}


def opened(folder, content, name="a.zip", limits=LIMITS):
    return open_source(samples.write(folder, {name: content}) / name, limits)


@pytest.mark.parametrize("name", PACKERS)
def test_every_form_gives_the_same_members_in_any_order(name, tmp_path):
    source = opened(tmp_path, PACKERS[name](FILES), name)
    assert source.names == NAMES
    assert [source.read(n) for n in reversed(NAMES)] == [b"second", b"first" * 9]
    assert source.sizes == {"set/a.txt": 45, "set/b/c.txt": 6}


def test_a_folder_gives_the_same_members_as_its_archive(tmp_path):
    source = open_source(samples.write(tmp_path, FILES), LIMITS)
    assert source.names == NAMES and source.open("set/b/c.txt").read() == b"second"


def test_a_gzipped_member_is_opened_unzipped(tmp_path):
    source = opened(tmp_path, zipped({"t.gz": gzip.compress(b"text")}))
    assert source.open("t.gz").read() == b"text"


@pytest.mark.parametrize("name", PACKERS)
def test_an_archive_within_an_archive_is_opened_to_the_limit(name, tmp_path):
    inner = PACKERS[name]({"x.txt": b"deep", "y.zip": zipped({"z": b"deeper"})})
    source = opened(tmp_path, zipped({name: inner})).nested(name)
    assert source.read("x.txt") == b"deep"
    with pytest.raises(ArchiveError, match="up to a depth of 2"):
        source.nested("y.zip")


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up.txt", "a/../../up.txt", "C:/x", "a\\b", "..", "a/\0b", "a\x1b[2Jb"],
)
def test_an_unsafe_name_is_refused(name, tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        archive.writestr(info, b"x")
    with pytest.raises(ArchiveError, match="is unsafe"):
        _ = opened(tmp_path, out.getvalue()).names


@pytest.mark.parametrize("name", ["/abs.txt", "../up.txt", "a/../../up.txt"])
def test_a_tar_member_with_an_unsafe_name_is_refused(name, tmp_path):
    with pytest.raises(ArchiveError, match="is unsafe"):
        _ = opened(tmp_path, samples.tar({name: b"x"}), "a.tar.xz").names


def test_links_in_a_folder_are_followed_and_never_round_and_round(tmp_path):
    held = samples.write(tmp_path / "disk", FILES)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/set").symlink_to(held / "set")
    (tmp_path / "a/d.txt").symlink_to(held / "set/a.txt")
    (held / "set/b/up").symlink_to(held / "set")
    source = open_source(tmp_path / "a", LIMITS)
    assert source.names == ("d.txt", *NAMES) and source.read("d.txt") == FILES["set/a.txt"]


def test_folders_that_link_to_each_other_are_each_read_once_from_each_side(tmp_path):
    folder = samples.write(tmp_path / "a", {"x/1.txt": b"1", "y/2.txt": b"2"})
    (folder / "x/to_y").symlink_to(folder / "y")
    (folder / "y/to_x").symlink_to(folder / "x")
    names = ("x/1.txt", "x/to_y/2.txt", "y/2.txt", "y/to_x/1.txt")
    assert open_source(folder, LIMITS).names == names


def test_a_link_that_leads_nowhere_is_refused_with_its_name(tmp_path):
    """A clone by git-annex or DataLad has such links for files that were not fetched.

    Without the error, the builder would silently use a part of the archive.
    """
    folder = samples.write(tmp_path / "a", FILES)
    (folder / "set/c.txt").symlink_to(tmp_path / ".git/annex/objects/c.txt")
    with pytest.raises(
        ArchiveError, match=f"{folder}/set/c.txt is a link to a file that does not exist. Get"
    ):
        _ = open_source(folder, LIMITS).names


def test_a_folder_that_may_not_be_read_is_refused_with_its_name(tmp_path, monkeypatch):
    """Without the error, the builder would silently leave out the files of the folder."""
    folder, scandir = samples.write(tmp_path / "a", FILES), os.scandir

    def refusing(path):
        if pathlib.Path(path).name == "b":
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(ArchiveError, match=f"{folder}/set/b cannot be read: Permission denied"):
        _ = open_source(folder, LIMITS).names


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_a_link_or_device_in_a_tar_is_refused(kind, tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(ArchiveError, match="'link' is a link, a device"):
        _ = opened(tmp_path, out.getvalue(), "a.tar").names


def test_a_link_in_a_zip_is_refused(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ArchiveError, match="is a link"):
        _ = opened(tmp_path, out.getvalue()).names


def test_an_encrypted_zip_is_told_with_what_to_do(tmp_path):
    data = bytearray(zipped({"a": b"1"}))
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # member and directory
        data[data.index(mark) + flags] |= 1
    with pytest.raises(ArchiveError, match="a.zip: a is encrypted. Unpack the archive with its"):
        _ = opened(tmp_path, bytes(data)).names


def test_names_equal_but_for_case_are_refused(tmp_path):
    with pytest.raises(ArchiveError, match="'A.txt' and 'a.txt', which are the same name"):
        _ = opened(tmp_path, zipped({"A.txt": b"1", "a.txt": b"2"})).names


def test_one_name_twice_is_refused(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    with pytest.raises(ArchiveError, match="holds 'a.txt' twice"):
        _ = opened(tmp_path, out.getvalue(), "a.tar").names


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({str(i): b"" for i in range(21)}, "more than 20 files"),
        ({"big.txt": bytes(1001)}, "more than 1,000 bytes"),
    ],
)
@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_too_many_or_too_large_members_are_refused(name, files, message, tmp_path):
    with pytest.raises(ArchiveError, match=message):
        _ = opened(tmp_path, PACKERS[name](files), name).names


def test_bombs_are_refused_before_they_are_unpacked(tmp_path):
    wide = Limits(member_bytes=1 << 30)
    with pytest.raises(ArchiveError, match="200 times its size"):
        _ = opened(tmp_path, zipped({"zeros": bytes(8 << 20)}), limits=wide).names
    with pytest.raises(ArchiveError, match="bytes after decompression"):
        _ = opened(tmp_path, samples.tar({"zeros": bytes(8 << 20)}), "b.tar.xz", wide).names
    source = opened(tmp_path, zipped({"t.gz": gzip.compress(bytes(8 << 20))}), "c.zip", wide)
    with pytest.raises(ArchiveError, match="bytes after decompression"):
        source.open("t.gz")


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", bytes(600)])
def test_what_is_no_archive_is_refused_with_its_first_bytes(content, tmp_path):
    with pytest.raises(ArchiveError, match="neither a zip nor a tar"):
        opened(tmp_path, content)


def test_a_member_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ArchiveError, match="a.zip holds no x.txt"):
        opened(tmp_path, zipped(FILES)).read("x.txt")


@pytest.mark.parametrize("name", PACKERS)
def test_a_cut_archive_is_refused(name, tmp_path):
    content = PACKERS[name]({str(i): random.Random(i).randbytes(900) for i in range(9)})
    for share in (0.2, 0.4, 0.6):
        with pytest.raises(ArchiveError, match="damaged or incomplete|neither a zip nor a tar"):
            source = opened(tmp_path, content[: int(share * len(content))], name)
            for member in source.names:
                source.read(member)


def test_a_plain_tar_cut_between_two_members_is_refused(tmp_path):
    content = samples.tar({"a": bytes(512), "b": bytes(512)}, "w:")
    with pytest.raises(ArchiveError, match="end mark is missing"):
        _ = opened(tmp_path, content[:1024], "a.tar").names


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKERS)
def test_mutated_archives_give_their_members_or_an_archive_error(name, tmp_path):
    content = PACKERS[name](FILES)
    path = tmp_path / name
    for seed in range(300):
        draw = random.Random(seed)
        at = draw.randrange(len(content))
        flipped = content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]
        path.write_bytes(draw.choice([flipped, content[:at], content[:at] + content[at + 3 :]]))
        try:
            source = open_source(path, LIMITS)
            read = [source.read(member) for member in source.names]
        except ArchiveError as error:
            assert str(error).isprintable(), seed
        else:
            assert all(len(member) <= LIMITS.member_bytes for member in read), seed


def test_a_view_has_the_bytes_of_a_member_and_maps_an_unpacked_file(tmp_path):
    folder = samples.write(tmp_path / "set", {"a.bin": b"abc", "empty.bin": b""})
    packed = samples.write(tmp_path, {"a.zip": zipped({"a.bin": b"abc"})}) / "a.zip"
    for path, kind in ((folder, mmap.mmap), (packed, bytes)):
        view = open_source(path, LIMITS).view("a.bin")
        assert isinstance(view, kind) and bytes(view) == b"abc"
    assert open_source(folder, LIMITS).view("empty.bin") == b""
    with pytest.raises(ArchiveError, match="holds no b.bin"):
        open_source(folder, LIMITS).view("b.bin")


@pytest.mark.parametrize("name", PACKERS)
def test_another_process_opens_an_archive_anew(name, tmp_path, monkeypatch):
    opened(tmp_path, PACKERS[name](FILES), name)
    monkeypatch.chdir(tmp_path)
    sent = pickle.dumps(open_source(pathlib.Path(name), LIMITS))
    monkeypatch.chdir("/")
    source = pickle.loads(sent)
    assert source.limits == LIMITS and source.read(NAMES[1]) == b"second"


def test_an_archive_in_an_archive_is_not_sent_to_another_process(tmp_path):
    inner = opened(tmp_path, zipped({"inner.zip": zipped(FILES)})).nested("inner.zip")
    with pytest.raises(TypeError, match="a.zip: inner.zip is inside another archive"):
        pickle.dumps(inner)
