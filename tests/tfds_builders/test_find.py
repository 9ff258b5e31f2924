"""Tests that `find` accepts folders and all archive formats and otherwise raises an error."""

import pytest

from tests.tfds_builders import samples
from tfds_builders.common.errors import ArchiveError, MissingArchiveError
from tfds_builders.common.find import EXTENSIONS, Wanted, find, find_config

WANTED = Wanted(
    dataset="my_set",
    stems=("Data",),
    official="Data.zip",
    get="Get it there.",
    loose=r"\d+\.txt",
    outer=("all",),
    aliases=("set",),
)
MEMBER = {"Data/1.txt": b"x"}


@pytest.mark.parametrize("place", ["", "my_set/", "set/"])
@pytest.mark.parametrize("name", ["Data.tar.xz", "data.tar.gz", "DATA.TAR"])
def test_an_archive_is_found_in_all_places_and_in_any_case(place, name, tmp_path):
    mode = {"xz": "w:xz", "gz": "w:gz"}.get(name.rsplit(".", 1)[-1], "w:")
    source = find(samples.write(tmp_path, {place + name: samples.tar(MEMBER, mode)}), WANTED)
    assert source.names == ("Data/1.txt",) and source.title == name


@pytest.mark.parametrize("place", ["Data/", "my_set/Data/", "my_set/", ""])
def test_an_unpacked_folder_is_found(place, tmp_path):
    source = find(samples.write(tmp_path, {place + "1.txt": b"x"}), WANTED)
    assert source.read("1.txt") == b"x"


def test_the_folder_of_the_sets_own_name_comes_first(tmp_path):
    samples.write(tmp_path, {"my_set/1.txt": b"mine", "Data/1.txt": b"other"})
    assert find(tmp_path, WANTED).read("1.txt") == b"mine"


def test_an_archive_within_the_archive_of_all_is_found(tmp_path):
    inner = {"parts/Data.tar.gz": samples.tar(MEMBER, "w:gz"), "other.tar": samples.tar({})}
    samples.write(tmp_path, {"all.tar": samples.tar(inner, "w:")})
    assert find(tmp_path, WANTED).names == ("Data/1.txt",)


def test_a_manual_folder_named_like_the_archive_of_all_is_a_folder(tmp_path):
    samples.write(tmp_path, {"all/Data.tar": samples.tar(MEMBER, "w:")})
    assert find(tmp_path / "all", WANTED).names == ("Data/1.txt",)


def test_two_candidates_are_both_named(tmp_path):
    files = {"Data.tar": samples.tar(MEMBER, "w:"), "Data/1.txt": b"x"}
    told = "holds Data and Data.tar, but may hold only one .* Move .* If they are parts .*, unpack"
    with pytest.raises(ArchiveError, match=told):
        find(samples.write(tmp_path, files), WANTED)


def test_candidates_in_two_folders_of_the_set_are_both_named(tmp_path):
    samples.write(tmp_path, {"my_set/1.txt": b"x", "set/Data.tar": samples.tar(MEMBER, "w:")})
    with pytest.raises(ArchiveError, match="holds my_set and set/Data.tar, but may hold only one"):
        find(tmp_path, WANTED)


def test_an_archive_in_place_of_its_folder_is_told_with_the_folder(tmp_path):
    samples.write(tmp_path, {"my data/Data.tar": samples.tar(MEMBER, "w:")})
    with pytest.raises(MissingArchiveError) as caught:
        find(tmp_path / "my data" / "Data.tar", WANTED)
    told = f"Data.tar is a file. Give its folder: --manual-dir '{tmp_path}/my data'"
    assert told in str(caught.value)


def test_a_missing_archive_lists_what_is_looked_for_and_what_is_there(tmp_path):
    samples.write(tmp_path, {"Data.zip.part": b"", "note": b""})
    with pytest.raises(MissingArchiveError) as caught:
        find(tmp_path, WANTED)
    for told in ("my_set", "Data.zip", *EXTENSIONS, "Found: Data.zip.part, note,", "Get it there."):
        assert told in str(caught.value)


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(MissingArchiveError, match="absent does not exist. Get it there."):
        find(tmp_path / "absent", WANTED)


def test_the_config_whose_archive_is_there_is_proposed(tmp_path):
    configs = {"whole": Wanted("my_set", ("Whole",), "Whole.zip", "Get it."), "part": WANTED}
    samples.write(tmp_path, {"Data/1.txt": b"x"})
    with pytest.raises(
        MissingArchiveError, match="the archive of my_set/part. Prepare my_set/part"
    ):
        find_config(tmp_path, configs, "whole")
