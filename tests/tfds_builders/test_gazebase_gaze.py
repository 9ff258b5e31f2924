"""Tests of `gazebase_gaze`: its parser, rounds, tasks, archive formats and errors."""

import csv
import io

import numpy as np
import pytest

from tests.tfds_builders import gaze, samples
from tests.tfds_builders.gaze import gazebase_file, gazebase_files, gazebase_recordings
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything, splits_of_people
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.gazebase_gaze import gazebase_gaze_dataset_builder
from tfds_builders.gazebase_gaze.archive import TASKS
from tfds_builders.gazebase_gaze.blocks import block_means
from tfds_builders.gazebase_gaze.gazebase_gaze_dataset_builder import Builder
from tfds_builders.parsers import gazebase

pytestmark = pytest.mark.usefixtures("quiet")
FILES = gazebase_files()
ZIP = "GazeBase_v2_0.zip"


def parse(data):
    return gazebase.parse(io.BytesIO(data), name="S_1001_S1_TEX.csv")


def prepared(folder, files, name="gazebase_gaze"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


@pytest.mark.parametrize("order", [*gaze.ORDERS, "yT,lab,val,y,x,n,dP,xT"])
def test_a_recording_has_the_values_of_its_columns_in_any_order(order):
    data = gazebase_file(seed=3, order=order, first_ms=1)
    recording = parse(data)
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    for at, column in enumerate(("x", "y", "dP")):
        expected = np.array([row[column] for row in rows]).astype(np.float64).astype(np.float32)
        np.testing.assert_array_equal(recording.sequence[:, at], expected)
    np.testing.assert_array_equal(recording.time_ms, np.arange(1, 41))
    np.testing.assert_array_equal(recording.valid, [not 5 <= at <= 7 for at in range(40)])
    assert recording.time_ms.dtype == np.int32 and recording.valid.dtype == np.uint8


def test_a_sample_without_a_position_is_not_valid_whatever_val_says():
    data = gazebase_file().replace(b"\n2,0.020000,", b"\n2,NaN,").replace(b",4,", b",0,")
    assert np.flatnonzero(parse(data).valid == 0).tolist() == [2, 5, 6, 7]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"n,x,y,val", b"t,x,y,val", "line 1: 't,x,y,val.*expected the columns n,x,y,val,dP"),
        (b"\n2,0.020000,", b"\n2,", "line 4: the line has 7 values, expected 8 values"),
        (b"\n2,0.020000,", b"\n2,inf,", "line 4: 'inf', expected a number or NaN"),
        (b"\n2,0.020000,", b"\n2,1e60,", "line 4: '1e60', expected a number or NaN"),
        (b"\n2,0.020000,", b"\n2,x,", "line 4: 'x', expected a number or NaN"),
        (b"\n2,", b"\n1,", "line 4: '1,0.02.*expected a time after 1, the time of the"),
        (b"\n2,", b"\n2.5,", "line 4: .*whole number from 0 to 3,600,000 in the column n"),
        (b"\n2,", b"\nNaN,", "line 4: .* in the column n"),
        (b"\n39,", b"\n3900000,", "line 41: .* in the column n"),
        (b",4,", b",-4,", "line 7: .*expected a whole number from 0 to 255 in the column val"),
        (b"\n2,", b"\n2\0,", "the byte 0x00, expected plain ASCII text"),
    ],
)
def test_a_damaged_recording_is_refused_by_line(old, new, message):
    assert old in gazebase_file()
    with pytest.raises(FormatError, match=message):
        parse(gazebase_file().replace(old, new, 1))


@pytest.mark.parametrize("data", [b"", gazebase_file(samples=0), gazebase_file()[:-8]])
def test_a_cut_recording_is_refused(data):
    with pytest.raises(FormatError):
        parse(data)


def test_a_last_line_without_an_end_is_refused_where_its_cut_number_would_be_kept():
    cut = gazebase_file(order="n,x,y,val,xT,yT,lab,dP")[:-2]
    message = "S_1001_S1_TEX.csv, line 41: the file ends with .*113', expected a line end"
    with pytest.raises(FormatError, match=message):
        parse(cut)
    assert len(parse(gazebase_file()[:-2]).time_ms) == 40  # the cut column yT is not used


def _recording_holds(recording):
    length = len(recording.time_ms)
    assert length and recording.sequence.shape == (length, 3) and recording.valid.shape == (length,)
    assert (np.diff(recording.time_ms) > 0).all() and not np.isinf(recording.sequence).any()
    assert np.isfinite(recording.sequence[recording.valid == 1, :2]).all()
    means = block_means(recording.time_ms, recording.sequence, recording.valid, 10)
    assert len({len(signal) for signal in means}) == 1


@pytest.mark.slow
def test_a_thousand_mutations_end_in_a_sound_recording_or_a_format_error():
    check_parser(parse, gazebase_file(), _recording_holds)


def test_a_block_is_the_mean_of_its_valid_samples(rng):
    time_ms = np.sort(rng.choice(400, 300, replace=False)).astype(np.int32) + 7
    sequence = rng.normal(size=(300, 3)).astype(np.float32)
    valid = rng.integers(0, 2, 300).astype(np.uint8)
    valid[time_ms // 10 == 9] = 0
    sequence[valid == 0] = np.nan
    starts_ms, means, seen = block_means(time_ms, sequence, valid, 10)
    np.testing.assert_array_equal(
        starts_ms, np.arange(time_ms[0] // 10, time_ms[-1] // 10 + 1) * 10
    )
    for start, mean, is_seen in zip(starts_ms, means, seen, strict=True):
        inside = (time_ms // 10 == start // 10) & (valid == 1)
        assert is_seen == inside.any()
        expected = sequence[inside].mean(axis=0) if is_seen else [np.nan] * 3
        np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {ZIP: samples.zipped(FILES)},
        FILES,
        gazebase_files(folder="GazeBase_v2_0/", packed=False),
        gazebase_files(folder="gazebase_gaze/"),
    ],
    ids=["zip of zips", "folder of zips", "unpacked", "own folder"],
)
def test_a_record_has_the_samples_of_its_file_and_what_its_name_says(files, tmp_path):
    builder = prepared(tmp_path, files)
    records, found = everything(builder), splits_of_people(builder)
    assert len(records) == 14 and set(found) == set(gaze.ROUNDS)
    record = records["001/6/2/TEX"]
    expected = parse(gazebase_file(seed=1602))
    np.testing.assert_array_equal(record["sequence"], expected.sequence)
    np.testing.assert_array_equal(record["time_ms"], expected.time_ms)
    np.testing.assert_array_equal(record["valid"], expected.valid)
    assert (record["subject"], record["task"], record["device"]) == (
        b"001", b"TEX", b"EyeLink 1000"
    )  # fmt: skip
    assert (record["round"], record["session"], record["day"]) == (6, 11, 5)


@pytest.mark.slow
def test_every_config_has_its_task_at_its_rate(tmp_path):
    files = gazebase_files(tasks=TASKS)
    for config in Builder.BUILDER_CONFIGS:
        folder = tmp_path / config.name
        records = everything(prepared(folder, files, f"gazebase_gaze/{config.name}"))
        assert len(records) == 14 * (1 if config.task else len(TASKS))
        tasks = {record["task"].decode() for record in records.values()}
        assert tasks == ({config.task} if config.task else set(TASKS))
        record = next(iter(records.values()))
        assert len(record["time_ms"]) == 40 * config.rate_hz // 1000
        assert set(np.diff(record["time_ms"])) == {1000 // config.rate_hz}


def test_the_lower_rate_has_the_means_of_what_was_seen(tmp_path):
    record = everything(prepared(tmp_path, FILES, "gazebase_gaze/tex100"))["002/1/1/TEX"]
    seen = np.array([0, 1, 2, 3, 4, 8, 9])
    expected = [2101 + seen.mean() / 100, -seen.mean() / 2, 1100 + seen.mean()]
    np.testing.assert_allclose(record["sequence"][0], expected, rtol=1e-6)
    assert record["valid"].tolist() == [1] * 4


def test_who_came_to_a_late_round_tests_and_is_one_person_in_all_rounds(tmp_path, caplog):
    rounds = {f"{n:03d}": (1, 2, 7) if n <= 4 else (1, 2) for n in range(1, 25)}
    builder = prepared(tmp_path, gazebase_files(rounds, tasks=("TEX",)))
    found = splits_of_people(builder)
    subjects = builder.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 16, "validation": 4, "test": 4
    }  # fmt: skip
    assert {person: split for split, ids in subjects.items() for person in ids} == found
    assert sorted(subjects["test"]) == ["001", "002", "003", "004"]
    assert "holds 52 of 881 visits and 24 of 322 people" in caplog.text


@pytest.mark.slow
def test_a_late_round_that_is_not_there_is_told_though_everybody_is(tmp_path, caplog, monkeypatch):
    """One visit to a late round is missing. People who came to this round are then in the split
    `train` instead of `test`.
    """
    rounds = {f"{n:03d}": (1, 2, 7) if n <= 4 else (1, 2) for n in range(1, 25)}
    monkeypatch.setattr(gazebase_gaze_dataset_builder, "SUBJECTS", 24)
    monkeypatch.setattr(gazebase_gaze_dataset_builder, "VISITS", 53)
    prepared(tmp_path, gazebase_files(rounds, tasks=("TEX",)))
    assert "holds 52 of 53 visits and 24 of 24 people, so it is only a part" in caplog.text
    assert "part of GazeBase. Its splits differ" in caplog.text


def test_a_recording_that_an_unpacked_visit_lacks_is_told(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(gazebase_gaze_dataset_builder, "SUBJECTS", len(gaze.ROUNDS))
    monkeypatch.setattr(gazebase_gaze_dataset_builder, "VISITS", 7)
    files = gazebase_files(tasks=TASKS, folder="GazeBase_v2_0/", packed=False)
    files.pop(next(name for name in files if name.endswith("S2_BLG.csv")))
    prepared(tmp_path, files)
    told = "97 of 98 recordings of unpacked visits, so it is only a part of GazeBase."
    assert told in caplog.text


def test_without_late_rounds_the_test_split_is_left_out_and_told(tmp_path, caplog):
    rounds = dict.fromkeys(gaze.ROUNDS, (1,))
    builder = prepared(tmp_path, gazebase_files(rounds))
    assert list(builder.info.splits) == ["train", "validation"]
    assert "nobody came to round 6 or later" in caplog.text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"GazeBase/readme.txt": b""}, "no file such as Round_1/Subject_1001.zip. It holds readme"),
        (FILES | {"Round_1/old/Subject_1001.zip": b""}, "the same recording twice"),
        (
            FILES | {"Round_1/S1_TEX/S_1001_S1_TEX.csv": b""},
            "holds round 1 of 001 twice: Round_1/Subject_1001.zip and Round_1/S1_TEX/S_1001",
        ),
        (
            FILES | {"Round_1/Subject_1002.zip": samples.zipped(gazebase_recordings("009"))},
            "S_1009_S1_TEX.csv is a recording of 009 in round 1, but is in the archive of another",
        ),
        (
            FILES | {"Round_1/Subject_1002.zip": samples.zipped({"S_1002_S1_ABC.csv": b""})},
            "S_1002_S1_ABC.csv has the task ABC in its name, expected one of TEX, FXS",
        ),
        (
            FILES | {"Round_1/Subject_1002.zip": samples.zipped({"S_1002_S1_TEX.csv": b"n\n"})},
            "Subject_1002.zip: S_1002_S1_TEX.csv, line 1: 'n'",
        ),
        (FILES | {"Round_1/Subject_1002.zip": b"<html>"}, "neither a zip nor a tar"),
        (
            FILES
            | {
                f"Round_1/Subject_1{subject}.zip": samples.zipped(gazebase_recordings(subject))
                for subject in ("002", "003")
            },
            r"\((002|003)\) and .* \((002|003)\) have the same content",
        ),
        (gazebase_files({"001": (1,)}), r"holds round 1\. 0 people came .* 1 people remain"),
        (
            gazebase_files({"001": (6, 7), "002": (7,)}),
            r"holds round 6, 7\. 2 people came to round 6 or later .* 0 people remain .* at "
            "least 2. Add Round_1, which has all 322 people. Get GazeBase",
        ),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, files)
    assert isinstance(error.value, ArchiveError | FormatError)
    assert not list((tmp_path / "data").rglob("*.array_record*"))
