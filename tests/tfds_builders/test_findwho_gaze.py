"""Tests of `findwho_gaze`: its fixations and its splits, which share no people or videos."""

import io
import zipfile

import numpy as np
import pytest
import scipy.io

from tests.tfds_builders import gaze, samples
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.findwho_gaze import fixations
from tfds_builders.findwho_gaze.findwho_gaze_dataset_builder import FRACTIONS

pytestmark = pytest.mark.usefixtures("quiet")
NAME = "Our_database/video_database.mat"
ROWS = gaze.fixation_rows()
FILE = gaze.fixation_file()
COLUMNS = fixations.COLUMNS


def parse(data):
    return fixations.parse(io.BytesIO(data), name="v.mat")


def prepared(folder, files):
    manual = samples.write(folder / "manual", files)
    return reading.prepared("findwho_gaze", manual, folder / "data")


def test_a_list_has_the_fixations_of_one_person_and_video():
    found = parse(FILE)
    assert len(found.lists) == 36 and found.strays == 1
    rows = found.lists[3, 5]
    assert rows.dtype == np.float32
    assert rows.tolist() == [[3, 200, 305, 0], [403, 201, 305, 50], [803, 202, 305, 100]]


def test_rows_that_stand_apart_are_joined_in_the_order_of_time():
    mixed = np.random.default_rng(5).permutation(ROWS)
    found, sorted_ones = parse(gaze.fixation_file(mixed)).lists, parse(FILE).lists
    assert list(found) == list(sorted_ones)
    for key, rows in found.items():
        np.testing.assert_array_equal(rows, sorted_ones[key])


def changed(row, column, value, dtype=np.float64):
    rows = ROWS.astype(dtype)
    rows[row, column] = value
    return gaze.fixation_file(rows)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gaze.mat_file({"other": 1.0}), "the file contains 'other' but no variable video_database"),
        (
            gaze.mat_file({"video_database": 1.0}),
            "video_database: the value has another type, expected one",
        ),
        (gaze.mat_file({"video_database": {"a": 1.0}}), "the fields 'a', expected a field fixdata"),
        (gaze.fixation_file(fields=COLUMNS[::-1]), "fixdata_fields: .*, expected SubjectIndex"),
        (gaze.fixation_file(np.array(["a"], object)), "fixdata: the value is a cell or a struct"),
        (gaze.fixation_file(ROWS[:, :5]), "the shape .* with 6 columns"),
        (gaze.fixation_file(ROWS[-1:]), "no row names a person"),
        (changed(4, 2, 0.5), "fixdata, row 5: .*, expected whole numbers of at least 0"),
        (changed(4, 4, -1), "row 5"),
        (changed(4, 3, 2.0**30), "row 5"),
        (changed(4, 1, 0), "row 5"),
        (changed(4, 1, np.nan), "NaN or an infinity"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_what_is_there(data, message):
    with pytest.raises(FormatError, match=f"v.mat.*{message}"):
        parse(data)


def holds(found):
    assert found.lists and found.strays >= 0
    for (subject, video), rows in found.lists.items():
        assert subject > 0 and video > 0 and rows.dtype == np.float32 and rows.shape[1:] == (4,)
        assert (np.diff(rows[:, 0]) >= 0).all() and (rows >= 0).all() and len(rows)


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "plain"])
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error(packed):
    check_parser(parse, gaze.fixation_file(gaze.fixation_rows(range(1, 3)), packed=packed), holds)


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"find.zip": samples.zipped({NAME: FILE, "README.md": b""})},
        {"findwho_gaze/video_database.mat": FILE},
        {f"find/{NAME}": FILE, "find/Our_database/raw_videos/001.mp4": b""},
    ],
    ids=["zip", "the file", "the repository"],
)
def test_a_record_has_the_fixations_of_a_person_on_a_video(files, tmp_path, caplog):
    builder = prepared(tmp_path, files)
    records = everything(builder)
    assert len(records) == 14
    for key, record in records.items():
        subject, video = key.split("/")
        rows = ROWS[(ROWS[:, 0] == int(subject)) & (ROWS[:, 1] == int(video))]
        np.testing.assert_array_equal(record["fixations"], rows[:, 2:])
        assert (record["subject"].decode(), record["video"].decode()) == (subject, video)
        assert (record["session"], record["day"], record["device"]) == (-1, -1, b"")
    assert "left out 1 fixations that do not state a person" in caplog.text
    assert "kept 14 of 36 lists" in caplog.text and "holds 6 of 39 people" in caplog.text


def test_splits_share_neither_people_nor_videos(tmp_path):
    builder = prepared(tmp_path, {NAME: FILE})
    metadata, sources = builder.info.metadata, builder.as_data_source()
    for key, count in {"subject": 6, "video": 6}.items():
        found = {split: {r[key].decode() for r in source} for split, source in sources.items()}
        assert sum(map(len, found.values())) == len(set.union(*found.values())) == count
        assert {split: set(ids) for split, ids in metadata[f"{key}s"].items()} == found
    assert [len(sources[split]) for split in FRACTIONS] == [9, 1, 4]


ALIKE = ROWS.copy()  # all people have the same fixations
ALIKE[:, 2] -= ROWS[:, 0]
ALIKE[:, 4] = ROWS[:, 1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"find.zip": samples.zipped({"a.txt": b""})}, "holds no video_database.mat. .* a.txt"),
        ({NAME: FILE, "Our_database/old/video_database.mat": FILE}, "the same recording twice"),
        ({NAME: FILE[:-9]}, "video_database.mat: an element of"),
        ({NAME: gaze.fixation_file(gaze.fixation_rows(range(1, 3)))}, r"2 subject\(s\) cannot"),
        ({NAME: gaze.fixation_file(gaze.fixation_rows(videos=[4]))}, r"1 video\(s\) cannot"),
        ({NAME: gaze.fixation_file(ALIKE)}, r"\(subject .*\) and .* \(subject .*\) have the same"),
    ],
)
def test_a_wrong_or_damaged_archive_is_told_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_recordings_are_prepared(data_dir, tmp_path, caplog):
    builder = reading.prepared("findwho_gaze", data_dir, tmp_path)
    records = everything(builder)
    assert (
        "left out 1 fixations that do not state" in caplog.text and "33 of 39 people" in caplog.text
    )
    assert "kept 956 of 2475 lists" in caplog.text
    metadata = builder.info.metadata
    assert [len(ids) for ids in metadata["subjects"].values()] == [17, 6, 10]
    assert [len(ids) for ids in metadata["videos"].values()] == [38, 15, 22]
    assert not metadata["same_as"]
    assert len(records) == 956 == 17 * 38 + 6 * 15 + 10 * 22
    assert {len(record["fixations"]) for record in records.values()} <= {*range(8, 89)}


@pytest.mark.slow
def test_the_real_file_is_what_scipy_reads(data_dir):
    with zipfile.ZipFile(data_dir / "findwho_gaze/find.zip") as archive:
        content = archive.read(NAME)
    rows = scipy.io.loadmat(io.BytesIO(content))["video_database"][0, 0]["fixdata"].astype(int)
    found = parse(content)
    assert rows[0].tolist() == [1, 2, 5, 349, 494, 285] and found.strays == 1
    assert found.lists[1, 2][0].tolist() == [5, 349, 494, 285]
    assert len(found.lists) == 2_475 and len(rows) == 122_009
    mine = [(*key, *map(int, row)) for key, part in found.lists.items() for row in part]
    assert sorted(mine) == sorted(map(tuple, rows[rows[:, 0] > 0].tolist()))
