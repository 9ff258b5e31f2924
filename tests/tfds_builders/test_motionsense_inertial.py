"""Tests of `motionsense_inertial`: its parsers, trials, people, archive formats and errors."""

import csv
import io
import math

import numpy as np
import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.inertial import people_file, trial_file, trial_files, trial_name
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything, splits_of_people
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.motionsense_inertial.motionsense_inertial_dataset_builder import ALL_TRIALS
from tfds_builders.parsers import motionsense

pytestmark = pytest.mark.usefixtures("quiet")
FILES = trial_files()
NAME = trial_name()
TABLE = {"data_subjects_info.csv": people_file([1, 2, 3])}


def parse(data):
    return motionsense.parse(io.BytesIO(data), name="sub_1.csv")


def parse_people(data):
    return motionsense.parse_people(io.BytesIO(data), name="people.csv")


def prepared(folder, files, name="motionsense_inertial"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def test_a_trial_has_the_values_of_its_lines():
    data = trial_file(seed=0.1).replace(b"\n2,0.6,", b"\n2,-1.5e-05,")
    sequence = parse(data).sequence
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    for column, channel in enumerate(motionsense.CHANNELS):
        expected = np.array([row[channel] for row in rows]).astype(np.float32)
        np.testing.assert_array_equal(sequence[:, column], expected)
    assert sequence.dtype == np.float32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b",attitude.roll", b",roll", r"line 1: .*, expected the header ,attitude.roll"),
        (b"\n2,0.5,", b"\n2,", "line 4: .*, expected a sample number above 1, then 12 values"),
        (b"\n2,", b"\n1,", "line 4: .*, expected a sample number above 1"),
        (b"\n2,", b"\n2.0,", "line 4: "),
        (b"\n2,0.5,", b"\n2,nan,", "line 4: 'nan', expected a finite number"),
        (b"\n5,1.25,2.25,", b"\n5,1.25,", "line 7: "),
    ],
)
def test_a_damaged_trial_is_refused_by_line(old, new, message):
    assert old in trial_file()
    with pytest.raises(FormatError, match=message):
        parse(trial_file().replace(old, new, 1))


@pytest.mark.parametrize("data", [b"", trial_file()[:-1], trial_file().split(b"\n")[0] + b"\n"])
def test_a_cut_trial_is_refused(data):
    with pytest.raises(FormatError, match="sub_1.csv, line"):
        parse(data)


def test_the_table_has_a_person_a_line_and_no_last_line_end():
    people = parse_people(people_file()).by_code
    assert list(people) == [1, 2, 3, 4]
    assert people[3] == motionsense.Person(weight=63, height=163, age=23, sex="male")
    assert people == parse_people(people_file() + b"\r\n").by_code


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: '', expected the header code,weight,height,age,gender"),
        (people_file([]), "no people"),
        (people_file([1, 1]), "line 3: person 1 occurs again"),
        (people_file()[:-2], "line 5: the line has 4 values, expected 5"),
        (people_file()[:-1], "line 5, gender: '', expected a whole number from 0 to 1"),
        (people_file().replace(b"164", b"1.64"), "line 5, height: '1.64'"),
        (people_file().replace(b"164", b"999"), "line 5, height: '999', .* from 1 to 300"),
    ],
)
def test_an_impossible_table_is_refused_by_line(data, message):
    with pytest.raises(FormatError, match=message):
        parse_people(data)


def _trial_holds(trial):
    assert trial.sequence.dtype == np.float32 and trial.sequence.shape[1:] == (12,)
    assert len(trial.sequence) and np.isfinite(trial.sequence).all()


def _people_hold(people):
    assert people.by_code
    for code, person in people.by_code.items():
        assert 0 < code < 1000 and person.sex in ("female", "male")
        assert 0 < person.weight <= 500 and 0 < person.height <= 300 and 0 < person.age <= 130


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "data", "check"),
    [(parse, trial_file(samples=20), _trial_holds), (parse_people, people_file(), _people_hold)],
    ids=["trial", "people"],
)
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error(run, data, check):
    check_parser(run, data, check)


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"A_DeviceMotion_data.zip": samples.zipped(
            FILES | {f"__MACOSX/{NAME.replace('sub', '._sub')}": b"\0"}
        )},
        {"A_DeviceMotion_data.zip": samples.zipped(
            FILES | {f"A_DeviceMotion_data/{name}": content for name, content in FILES.items()}
        )},
        {f"motionsense_inertial/{name}": content for name, content in FILES.items()},
    ],
    ids=["zip", "the folder twice", "folder"],
)  # fmt: skip
def test_a_record_has_the_samples_of_its_file_and_what_its_name_says(files, tmp_path, caplog):
    builder = prepared(tmp_path, files)
    records = everything(builder)
    assert len(records) == len(FILES)
    record = records["3/ups_3"]
    np.testing.assert_array_equal(record["sequence"][2], 0.5 + np.arange(12) + 310)
    assert (record["subject"], record["trial"], record["device"]) == (b"3", 3, b"iPhone 6s")
    assert builder.info.features["label"].int2str(record["label"]) == "ups"
    assert (record["session"], record["day"], record["sex"]) == (-1, -1, b"")
    assert all(math.isnan(record[key]) for key in ("weight", "height", "age"))
    assert "data_subjects_info.csv does not exist" in caplog.text
    assert "holds 16 of 360 trials and 4 of 24 people" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"A_DeviceMotion_data.zip": samples.zipped(FILES), **TABLE},
        {f"motionsense_inertial/{name}": content for name, content in (FILES | TABLE).items()},
        FILES | {f"A_DeviceMotion_data/{name}": content for name, content in TABLE.items()},
    ],
    ids=["beside the zip", "beside the folder", "within the folder"],
)
def test_the_table_gives_the_bodies_of_those_who_are_in_it(files, tmp_path):
    records = everything(prepared(tmp_path, files))
    body = [records["2/dws_1"][key] for key in ("weight", "height", "age", "sex")]
    assert body == [62, 162, 22, b"female"]
    assert math.isnan(records["4/dws_1"]["weight"]) and records["4/dws_1"]["sex"] == b""


@pytest.mark.slow
def test_a_table_that_comes_later_is_another_archive(tmp_path, caplog):
    without = prepared(tmp_path, FILES)
    assert "people" not in without.info.metadata["fingerprints"]
    records = everything(prepared(tmp_path, TABLE))
    assert records["1/wlk_7"]["height"] == 161
    assert "prepared from another archive" in caplog.text


def test_walk6_has_acceleration_and_rotation_of_three_activities(tmp_path):
    builder = prepared(tmp_path, FILES, "motionsense_inertial/walk6")
    records = everything(builder)
    assert {key.split("/")[1] for key in records} == {"dws_1", "ups_3", "wlk_7"}
    np.testing.assert_array_equal(records["1/wlk_7"]["sequence"][0] - 120, [9, 10, 11, 6, 7, 8])
    assert builder.info.metadata["channels"][0] == "userAcceleration.x"
    assert builder.info.features["label"].int2str(records["1/wlk_7"]["label"]) == "wlk"


def test_nobody_is_in_two_splits_and_the_ids_are_written_down(tmp_path):
    files = trial_files(range(1, 25), ("wlk_7", "sit_13"))
    trials, walks = (
        prepared(tmp_path, files, f"motionsense_inertial/{config}")
        for config in ("trials", "walk6")
    )
    subjects = trials.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 14, "validation": 4, "test": 6
    }  # fmt: skip
    found = splits_of_people(trials)
    assert {person: split for split, ids in subjects.items() for person in ids} == found
    assert splits_of_people(walks) == found


def test_fifteen_trials_of_each_person_make_the_whole():
    assert ALL_TRIALS == 360


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"A_DeviceMotion_data/x.txt": b""}, "holds no <activity>_<trial>/sub_<n>.csv. It holds x"),
        (FILES | {trial_name(1, "wlk_10"): b""}, "wlk_10/sub_1.csv' is not a trial of MotionSense"),
        (FILES | {trial_name(25): b""}, "sub_25.csv' is not a trial of MotionSense"),
        (FILES | {f"A_DeviceMotion_data/{NAME}": b""}, "are the same trial, but differ"),
        (
            FILES | {trial_name(2, "wlk_8"): FILES[NAME]},
            r"1/wlk_7 \(person 1\) and 2/wlk_8 \(person 2\) have the same content",
        ),
        (FILES | {NAME: b"1,2\n"}, "wlk_7/sub_1.csv, line 1: '1,2', expected the header"),
        (FILES | {"data_subjects_info.csv": b"a,b\n"}, "data_subjects_info.csv, line 1: 'a,b'"),
        (trial_files([1, 2]), r"2 subject\(s\) cannot be divided"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, files)
    assert isinstance(error.value, ArchiveError | FormatError) or "subject" in message
    assert not list((tmp_path / "data").rglob("*.array_record*"))
