"""Tests of `gazecom_gaze`: its parser, resampling, records and splits."""

import doctest
import io

import numpy as np
import pytest

from tests.tfds_builders import gaze, samples
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.gazecom_gaze import resampling
from tfds_builders.gazecom_gaze.gazecom_gaze_dataset_builder import FRACTIONS
from tfds_builders.gazecom_gaze.resampling import uniform
from tfds_builders.parsers import coord

pytestmark = pytest.mark.usefixtures("quiet")
FILE = gaze.coord_file()
FILES = gaze.coord_files()
FOLDER = "gaze/natural_movies_gaze/"


def parse(data):
    return coord.parse(io.BytesIO(data), name="AAA_beach.coord")


def prepared(folder, files, name="gazecom_gaze"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def test_a_recording_has_the_values_of_its_lines():
    recording = parse(FILE)
    assert (recording.width, recording.height, recording.distance_m) == (1280, 720, 0.45)
    assert (recording.screen_width_m, recording.screen_height_m) == (0.4, 0.225)
    assert recording.time_us[[0, 1, -1]].tolist() == [1000, 5000, 85_000]
    assert recording.sequence[[0, 3, 5]].tolist() == [[600, 300], [0, 0], [610, 297.5]]
    assert recording.confidence.tolist() == [1, 1, 1, 0] + [1] * 8


def independent(data):
    """Reads the samples with NumPy, to compare them with the parser."""
    return np.genfromtxt(io.BytesIO(data), skip_header=2, comments="#")


def agree(recording, table):
    np.testing.assert_array_equal(recording.time_us, table[:, 0])
    np.testing.assert_array_equal(recording.sequence, table[:, 1:3].astype(np.float32))
    np.testing.assert_array_equal(recording.confidence, table[:, 3])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"", b""),
        (b"\n", b"\r\n"),
        (b"13000 0 0 0\n", b"# lost \xfc\n13000 -3390 3270.25 0\n#\n"),
        (b"5000 602 ", b"5000\t  602.123 "),
    ],
    ids=["as it is", "CR LF", "comments", "blanks"],
)
def test_the_samples_are_those_that_numpy_reads(old, new):
    data = FILE.replace(old, new)
    agree(parse(data), independent(data))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"gaze 1280 720", b"gaze 1280", "line 1: 'gaze 1280', expected `gaze 1280 720`"),
        (b"gaze 1280", b"gaze 0", "line 1"),
        (b"geometry", b"# geometry", "line 3: '1000 600 300 1', expected `geometry distance"),
        (b"0.45 width 0.4 height 0.225", b"45 width 40 height 22.5", "line 2: .*meters up to 10"),
        (b"distance 0.45", b"distance 0", "line 2: .*meters up to 10"),
        (b"5000 602 299.5 1", b"5000 602 299.5", "line 4: '5000 602 299.5', expected `microsec"),
        (b"5000 602 299.5 1", b"5000 602 299.5 0.5", "line 4"),
        (b"5000 602 299.5 1", b"5000 nan 299.5 1", "line 4"),
        (b"5000 602 299.5 1", b"5000 6e2 299.5 1", "line 4"),
        (b"# \n5000", b"1000", "line 4: .*, expected a time after 1000, the time of"),
        (b"85000 ", b"9850000000 ", "line 14: .*, expected a time of at most an hour"),
        (b"294.5 1\n", b"294.5 1", "line 14: the file ends with .*, expected a line end"),
    ],
)
def test_a_damaged_recording_is_refused_by_line(old, new, message):
    data = FILE.replace(b"\n5000", b"\n# \n5000") if old.startswith(b"#") else FILE
    with pytest.raises(FormatError, match=f"AAA_beach.coord, {message}"):
        parse(data.replace(old, new, 1))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (0, "the file ends early, expected `gaze"),
        (1, "the file ends early, expected `geometry"),
        (2, "no samples"),
    ],
)
def test_a_recording_cut_before_its_samples_is_refused(lines, message):
    with pytest.raises(FormatError, match=message):
        parse(b"".join(FILE.splitlines(True)[:lines]) or b"\n")


def holds(recording):
    assert len(recording.time_us) == len(recording.sequence) == len(recording.confidence) > 0
    assert recording.sequence.dtype == np.float32 and np.isfinite(recording.sequence).all()
    assert recording.time_us.dtype == np.int64 and (np.diff(recording.time_us) > 0).all()
    assert recording.confidence.dtype == np.uint8 and recording.confidence.max() <= 1
    grid_us, sequence = uniform(recording.time_us, recording.sequence, recording.confidence)
    assert len(grid_us) == len(sequence) and recording.width > 0 and recording.distance_m > 0


def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error():
    check_parser(parse, FILE, holds)


def test_an_even_rate_is_linear_between_seen_neighbors_and_nan_elsewhere():
    time_us = np.array([2_000, 6_000, 9_000, 13_000, 18_000, 22_000, 42_000, 63_000])
    gaze_px = np.stack([np.arange(8.0) ** 2, -time_us / 1000], axis=1).astype(np.float32)
    confidence = np.array([1, 1, 1, 0, 1, 1, 1, 1])
    grid_us, sequence = uniform(time_us, gaze_px, confidence)
    assert grid_us.tolist() == list(range(2_000, 63_000, 4_000))
    assert sequence.dtype == np.float32
    expected = np.interp(grid_us, time_us, gaze_px[:, 0])
    lost = (grid_us > 9_000) & (grid_us < 18_000) | (grid_us > 42_000)
    np.testing.assert_array_equal(np.isnan(sequence[:, 0]), lost)
    np.testing.assert_allclose(sequence[~lost, 0], expected[~lost], rtol=1e-6)
    np.testing.assert_allclose(sequence[~lost, 1], -grid_us[~lost] / 1000, rtol=1e-6)


def test_a_sample_at_its_very_time_is_kept_beside_a_lost_one():
    time_us, confidence = np.array([0, 4_000, 8_000, 40_000]), np.array([0, 1, 0, 1])
    _, sequence = uniform(time_us, np.full((4, 2), 7, np.float32), confidence)
    assert np.flatnonzero(np.isfinite(sequence[:, 0])).tolist() == [1, 10]
    grid_us, sequence = uniform(time_us[:1], np.ones((1, 2)), np.array([1]))
    assert (grid_us.tolist(), sequence.tolist()) == ([0], [[1, 1]])


def test_the_example_of_the_even_rate_runs():
    assert doctest.testmod(resampling, extraglobs={"np": np}) == (0, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"gaze.tar.xz": samples.tar(FILES)},
        {name.removeprefix(FOLDER): content for name, content in FILES.items()}
        | {"gazecom_gaze.txt": b""},
        FILES | {"gaze/trailers_gaze/AAA_beach.coord": b"", "gaze/README": b""},
    ],
    ids=["tar", "loose files", "unpacked, with another folder"],
)
def test_a_record_has_the_samples_of_its_file_and_what_its_name_says(files, tmp_path):
    record = everything(prepared(tmp_path, files))["C1C/bridge_1"]
    agree_with = independent(FILES[f"{FOLDER}C1C_bridge_1.coord"])
    np.testing.assert_array_equal(record["sequence"], agree_with[:, 1:3].astype(np.float32))
    np.testing.assert_array_equal(record["time_us"], agree_with[:, 0])
    np.testing.assert_array_equal(record["confidence"], agree_with[:, 3])
    assert (record["subject"], record["movie"]) == (b"C1C", b"bridge_1")
    assert (record["session"], record["day"], record["device"]) == (-1, -1, b"")
    assert (record["width"], record["height"]) == (1280, 720)
    sizes = [record[key] for key in ("distance_m", "screen_width_m", "screen_height_m")]
    np.testing.assert_allclose(sizes, [0.45, 0.4, 0.225])


def test_uniform_records_are_250_hz_with_nan_where_the_eye_was_lost(tmp_path):
    record = everything(prepared(tmp_path, FILES, "gazecom_gaze/uniform"))["AAA/beach"]
    assert (np.diff(record["time_us"]) == 4000).all() and len(record["time_us"]) == 22
    seen = [0, 1, 2, *range(4, 11), 21]
    assert np.flatnonzero(record["confidence"]).tolist() == seen
    np.testing.assert_array_equal(np.isfinite(record["sequence"][:, 0]), record["confidence"])
    np.testing.assert_array_equal(record["sequence"][seen[:-1], 0], 600 + 2 * np.array(seen[:-1]))


def test_nobody_is_in_two_splits_and_the_ids_are_written_down(tmp_path):
    builder = prepared(tmp_path, FILES)
    written = builder.info.metadata["subjects"]
    assert [len(written[split]) for split in FRACTIONS] == [4, 1, 2]
    assert sorted(sum(written.values(), [])) == list(gaze.WATCHERS)
    for split, source in builder.as_data_source().items():
        assert {record["subject"].decode() for record in source} == set(written[split])
        assert len(source) == 2 * len(written[split])
    assert builder.info.metadata["movies"] == list(gaze.MOVIES)


def test_a_part_and_a_repeat_within_a_person_are_told(tmp_path, caplog):
    copy = {f"{FOLDER}AAA_bridge_1.coord": FILE}
    builder = prepared(tmp_path, {"gaze.zip": samples.zipped(FILES | copy)})
    assert "holds 14 of 844 recordings and 7 of 54 people" in caplog.text
    assert "unknown checksum" in caplog.text and "recordings: 1 (kept)" in caplog.text
    assert builder.info.metadata["same_as"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"gaze.zip": samples.zipped({"a.txt": b""})}, "holds no natural_movies_gaze/.*a.txt"),
        (FILES | {f"{FOLDER}AB_beach.coord": b""}, "is not a recording of GazeCom"),
        (FILES | {"gaze/b/natural_movies_gaze/AAA_beach.coord": b""}, "the same recording twice"),
        (FILES | {f"{FOLDER}HHH_sea.coord": FILE}, r"\(subject AAA\) and .* \(subject HHH\) have"),
        (FILES | {f"{FOLDER}AAA_sea.coord": FILE[:-9]}, "AAA_sea.coord, line 14"),
        (gaze.coord_files(gaze.WATCHERS[:2]), "at least 3 are needed"),
    ],
)
def test_a_wrong_or_damaged_archive_is_told_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError, ValueError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_recordings_are_prepared(data_dir, tmp_path):
    builder = reading.prepared("gazecom_gaze", data_dir, tmp_path)
    subjects = builder.info.metadata["subjects"]
    sizes = {split: len(people) for split, people in subjects.items()}
    assert sizes == {"train": 27, "validation": 7, "test": 11}
    records = everything(builder)
    assert len(records) == 482 and len(builder.info.metadata["movies"]) == 12
    assert not builder.info.metadata["same_as"]
    assert sum(len(record["sequence"]) for record in records.values()) == 2_408_536
    assert sum((record["confidence"] == 0).sum() for record in records.values()) == 15_930
    first = records["AAF/beach"]
    np.testing.assert_allclose(first["sequence"][:2], [[590.9, 5.2]] * 2, rtol=1e-6)
    assert first["time_us"][:2].tolist() == [1000, 5000]
