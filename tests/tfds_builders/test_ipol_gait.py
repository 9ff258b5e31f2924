"""Tests of `ipol_gait`: its values and splits, the official archive's oddities, and errors."""

import json

import numpy as np
import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.records import everything
from tests.tfds_builders.samples import zipped
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.ipol_gait.ipol_gait_dataset_builder import FRACTIONS

pytestmark = pytest.mark.usefixtures("quiet")


def prepared(folder, files, name="ipol_gait"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def test_a_record_has_the_values_of_its_files(tmp_path):
    record = everything(prepared(tmp_path, samples.gait_files()))["7/1"]
    np.testing.assert_allclose(record["sequence"][2], 70.3 + np.arange(16), rtol=1e-6)
    assert (record["subject"], record["trial"], record["group"]) == (b"7", 1, b"Neurological")
    assert (record["device"], record["is_control"], record["age"]) == (b"TCon", False, 70)
    assert (record["session"], record["day"]) == (-1, -1)
    np.testing.assert_array_equal(record["left_steps"], [[1, 3], [5, 7]])
    np.testing.assert_array_equal(record["right_steps"], [[2, 4]])
    assert "steps" not in record


def test_a_sensor_that_the_source_does_not_know_is_an_empty_device(tmp_path):
    notes = {"GaitData/7-1.json": samples.gait_json(7, Sensor="NC")}
    record = everything(prepared(tmp_path, samples.gait_files() | notes))["7/1"]
    assert record["device"] == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("foot", "columns", "steps"),
    [("left", [1, 2, 3, 5, 6, 7], [[1, 3], [5, 7]]), ("right", [9, 10, 11, 13, 14, 15], [[2, 4]])],
)
def test_one_foot_has_its_six_axes_and_its_steps(foot, columns, steps, tmp_path):
    builder = prepared(tmp_path, samples.gait_files(), f"ipol_gait/{foot}_foot")
    record = everything(builder)["1/1"]
    np.testing.assert_allclose(record["sequence"][0], 10.1 + np.array(columns), rtol=1e-6)
    np.testing.assert_array_equal(record["steps"], steps)
    np.testing.assert_array_equal(record["right_steps"], [[2, 4]])
    side = foot[0].upper()
    names = [side + kind + axis for kind in "AR" for axis in "XYZ"]
    assert builder.info.metadata["channels"] == names


def test_nobody_is_in_two_splits_and_the_ids_are_written_down(tmp_path):
    builder = prepared(tmp_path, samples.gait_files(trials=(1, 2)))
    written = builder.info.metadata["subjects"]
    assert [len(written[split]) for split in FRACTIONS] == [7, 1, 2]
    for split, source in builder.as_data_source().items():
        assert {record["subject"].decode() for record in source} == set(written[split])
        assert len(source) == 2 * len(written[split])


def official(people=230, trials=1020):
    """Returns an archive with the counts and oddities of the official one.

    Each trial has only 8 samples.
    """
    counts = [27, 1, 1, 1, 1, 1] + [4] * (people - 6)
    counts[79] = 7
    for person in range(6, 6 + trials - sum(counts)):
        counts[person] += 1
    files = {"GaitData/code_list.json": b"[]", "GaitData/README.txt": b"", "__MACOSX/1-1.csv": b""}
    for person, count in enumerate(counts, 1):
        files |= samples.gait_files([person], range(1, count + 1))
    files["GaitData/80-7.csv"] = files["GaitData/80-4.csv"]
    odd = {"Weight": "NC", "Age": "NC", "Height": 2, "LeftFootActivity": [[3, 7], [2, 5]]}
    files["GaitData/7-1.json"] = samples.gait_json(7, 1, **odd)
    return files


@pytest.mark.slow
def test_the_whole_official_archive_is_read_with_its_oddities(tmp_path, caplog):
    builder = prepared(tmp_path, {"GaitData.zip": zipped(official())})
    sizes = [len(people) for people in builder.info.metadata["subjects"].values()]
    assert sizes == [150, 23, 57]
    records = everything(builder)
    assert len(records) == 1019 and "80/7" not in records and "80/4" in records
    assert np.isnan([records["7/1"]["weight"], records["7/1"]["age"]]).all()
    np.testing.assert_array_equal(records["7/1"]["left_steps"], [[3, 7], [2, 5]])
    assert (
        "repeated trials: 1 (left out). The first is 80-7, which is the same as 80-4" in caplog.text
    )
    assert "a part of the official" not in caplog.text


def test_a_part_is_said_to_be_one(tmp_path, caplog):
    prepared(tmp_path, {"GaitData.tar.xz": samples.tar(samples.gait_files())})
    assert "holds 10 of 230 subjects and 10 of 1,020 trials" in caplog.text
    assert "unknown checksum" in caplog.text


@pytest.mark.slow
def test_trials_that_are_not_there_are_told_though_everybody_is(tmp_path, caplog):
    prepared(tmp_path, {"GaitData.zip": zipped(official(trials=960))})
    assert "holds 230 of 230 subjects and 960 of 1,020 trials, so it is only a part" in caplog.text
    assert "Its splits differ" not in caplog.text


LATER_SET = {"GaitData/1/1-1_lb.txt": b"", "GaitData/1/1-1_lf.txt": b"", "GaitData/x_rf.txt": b""}
FILES = samples.gait_files()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"GaitData.zip": zipped(LATER_SET)}, "another, later data set .* 19 subjects"),
        ({"GaitData.zip": zipped({"a.txt": b""})}, "no <subject>-<trial>.csv. It holds a.txt"),
        ({"GaitData.zip": b"<html>"}, "neither a zip nor a tar"),
        ({"GaitData.zip": zipped(FILES)[:3000]}, "damaged or incomplete"),
        ({"GaitData.zip": zipped(samples.gait_files([1, 2]))}, "at least 3 are needed"),
        (
            FILES | {"GaitData/11-1.csv": b""},
            "trial 11-1 has only one of the two files .csv and .json",
        ),
        (
            FILES | {"GaitData/2-1.csv": FILES["GaitData/1-1.csv"]},
            r"1-1 \(subject 1\) and 2-1 \(subject 2\) have the same content",
        ),
        (FILES | {"GaitData/old/1-1.csv": b""}, "the same recording twice"),
        (FILES | {"GaitData/1-1.csv": samples.gait_csv(2)}, "a step ends at sample 7"),
        (FILES | {"GaitData/1-1.csv": b"a,b\n"}, "1-1.csv, line 1: 'a,b'"),
    ],
)
def test_a_missing_wrong_or_damaged_archive_is_told_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError, ValueError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


def test_a_byte_changed_within_a_zip_is_noticed(tmp_path):
    content = bytearray(zipped(FILES))
    content[len(content) // 3] ^= 1
    with pytest.raises(ArchiveError, match="damaged or incomplete"):
        prepared(tmp_path, {"GaitData.zip": bytes(content)})


@pytest.mark.slow
def test_the_real_recordings_are_prepared(data_dir):
    builder = reading.prepared("ipol_gait/left_foot", data_dir)
    subjects = builder.info.metadata["subjects"]
    assert {split: len(people) for split, people in subjects.items()} == {
        "train": 117, "validation": 18, "test": 45
    }  # fmt: skip
    records = everything(builder)
    assert len(records) == 355
    assert sum(len(record["sequence"]) for record in records.values()) == 934_833
    first = records["1/2"]
    np.testing.assert_allclose(first["sequence"][0, :3], [-1.444737e-3, -5.905263e-3, 2.002632e-3])
    np.testing.assert_allclose(first["sequence"][0, 3:], [0, 1, -0.4], rtol=1e-6)
    assert first["left_steps"][0].tolist() == [646, 728] and first["age"] == 70
    assert "180 of 230" in json.dumps(builder.info.metadata["archives"])
