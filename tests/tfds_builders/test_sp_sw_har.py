"""Tests of `sp_sw_har`: its parsers, resampling, tables and errors."""

import csv
import io

import numpy as np
import pytest

from tests.tfds_builders import inertial, samples
from tests.tfds_builders.inertial import MINUTE, NOON, run_file, run_files, run_name, run_tables
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything, splits_of_people
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.parsers import sp_sw_har

pytestmark = pytest.mark.usefixtures("quiet")
FILES = run_files()
NAME = run_name("s01", 1, "sw")
PEOPLE, RUNS = "DATA/subjects_info.csv", "DATA/executions_info.csv"
DAY = 24 * 60 * MINUTE


def parse(data):
    return sp_sw_har.parse(io.BytesIO(data), name="run.csv")


def parse_people(data):
    return sp_sw_har.parse_people(io.BytesIO(data), name="people.csv")


def parse_runs(data):
    return sp_sw_har.parse_runs(io.BytesIO(data), name="runs.csv")


def prepared(folder, files, name="sp_sw_har"):
    placed = {
        f"sp-sw-har-dataset/{path}" if path.startswith("DATA/") else path: content
        for path, content in files.items()
    }
    return reading.prepared(name, samples.write(folder / "manual", placed), folder / "data")


def test_a_run_has_the_values_of_its_lines():
    data = run_file(seed=3, gap_ms=500)
    run = parse(data)
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    np.testing.assert_array_equal(run.time_ms, [int(row["timestamp"]) for row in rows])
    for channel, column in zip(sp_sw_har.CHANNELS, run.sequence.T, strict=True):
        np.testing.assert_array_equal(column, [np.float32(row[channel]) for row in rows])
    named = [sp_sw_har.ACTIVITIES[code] for code in run.activity]
    assert named == [row["label"] for row in rows]
    assert run.time_ms.dtype == np.int64 and run.sequence.dtype == np.float32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"x_acc,", b"", "line 1: .* expected the header x_acc"),
        (b",9.75,", b",", "line 2: the line has 5 values, expected 6 values"),
        (b"1356350400010,", b"1356350400.01,", "line 3: "),
        (b"1356350400010,", b"99999999999999999999,", "line 3: "),
        (
            b"1356350400010,",
            b"1356350399999,",
            "line 3: the time is 1 ms before the time of the previous line",
        ),
        (b"0,WALKING", b"0,FLYING", "line 2: .* an activity"),
        (b",WALKING", b"", "line 2: "),
        (b"0.125,", b"nan,", "line 3: 'nan', expected a finite number"),
        (b"0.125,", b"1e60,", "line 3: '1e60', expected a finite number"),
        (b"WALKING\n", b"WALKING\n\n", "line 3: '', expected"),
        (b"9.75", b"9.75\xff", "the byte 0xff, expected plain ASCII text"),
    ],
)
def test_a_damaged_run_is_refused_by_line(old, new, message):
    with pytest.raises(FormatError, match=message):
        parse(run_file().replace(old, new, 1))


@pytest.mark.parametrize("data", [b"", run_file()[:-1], run_file()[:-8], run_file(samples=0)])
def test_a_cut_run_is_refused(data):
    with pytest.raises(FormatError):
        parse(data)


def test_accelerations_in_g_are_refused():
    data = run_file(samples=1).replace(b",9.75,", b",0.99,")
    with pytest.raises(
        FormatError, match="the median acceleration is 0.99 m/s.2, expected about 9"
    ):
        parse(data)


def test_the_tables_have_the_values_of_their_lines():
    files = run_tables()
    person = parse_people(files[PEOPLE]).by_id["s02"]
    assert person == sp_sw_har.Person(21, "male", 161, 61, "left", 2)
    run = parse_runs(files[RUNS]).by_id["s02_01"]
    assert run == sp_sw_har.Conditions("back_inv", "left", "right")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b"age,", b"", 1),
        (b"s01,", b"1,", 2),
        (b"s01,20", b"s01,old", 2),
        (b",F,", b",f,", 2),
        (b",R,2", b",R", 2),
        (b",R,2", b",B,2", 2),
        (b"s02,", b"s01,", 3),
    ],
)
def test_a_wrong_line_of_the_people_is_named(old, new, line):
    with pytest.raises(FormatError, match=f"line {line}: "):
        parse_people(run_tables()[PEOPLE].replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b"orientation", b"pocket", 1),
        (b"s01_01", b"s0101", 2),
        (b"back_inv", b"side", 2),
        (b",l,r", b",l,x", 2),
        (b",l,r", b",l", 2),
        (b"s01_02", b"s01_01", 3),
    ],
)
def test_a_wrong_line_of_the_runs_is_named(old, new, line):
    with pytest.raises(FormatError, match=f"line {line}: "):
        parse_runs(run_tables()[RUNS].replace(old, new, 1))


@pytest.mark.parametrize("parser", [parse_people, parse_runs])
def test_a_table_without_lines_or_with_a_cut_line_is_refused(parser):
    data = run_tables()[PEOPLE if parser is parse_people else RUNS]
    for wrong in (b"", data.split(b"\n")[0] + b"\n", data[:-1]):
        with pytest.raises(FormatError):
            parser(wrong)


def _run_holds(run):
    assert run.time_ms.dtype == np.int64 and run.time_ms.shape == run.sequence.shape[:1]
    assert run.sequence.dtype == np.float32 and run.sequence.shape[1:] == (6,)
    assert len(run.sequence) and np.isfinite(run.sequence).all()
    assert (np.diff(run.time_ms) >= 0).all()
    assert run.activity.dtype == np.uint8 and run.activity.shape == run.time_ms.shape
    assert run.activity.max() < len(sp_sw_har.ACTIVITIES)


def _people_hold(people):
    assert people.by_id
    for key, person in people.by_id.items():
        assert key.startswith("s") and person.sex in ("female", "male")
        assert all(0 <= x <= 999 for x in (person.age, person.height, person.weight, person.runs))


def _runs_hold(runs):
    assert runs.by_id
    for run in runs.by_id.values():
        assert {run.first_turn, run.second_turn} <= {"left", "right"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parser", "data", "holds"),
    [
        (parse, run_file(), _run_holds),
        (parse_people, run_tables()[PEOPLE], _people_hold),
        (parse_runs, run_tables()[RUNS], _runs_hold),
    ],
)
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error(parser, data, holds):
    check_parser(parser, data, holds)


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"sp-sw-har-dataset.tar.xz": samples.tar(FILES)},
        {"sp-sw-har-dataset-main.zip": samples.zipped(
            {f"sp-sw-har-dataset-main/{name}": content for name, content in FILES.items()}
            | {"sp-sw-har-dataset-main/README.md": b"1"}
        )},
        {f"sp_sw_har/{name.removeprefix('DATA/')}": content for name, content in FILES.items()},
        FILES,
    ],
    ids=["tar", "zip of the repository", "what DATA holds", "folder"],
)  # fmt: skip
def test_a_record_has_the_samples_of_its_file_and_the_lines_of_the_tables(files, tmp_path):
    builder = prepared(tmp_path, files)
    records = everything(builder)
    assert len(records) == 20
    for device, name in {"watch": "sw", "phone": "sp"}.items():
        record = records[f"s02/02/{device}"]
        run = parse(FILES[run_name("s02", 2, name)])
        np.testing.assert_array_equal(record["sequence"], run.sequence)
        np.testing.assert_array_equal(record["time_ms"], run.time_ms)
        np.testing.assert_array_equal(record["activity"], run.activity)
        assert record["device"] == device.encode()
        assert (record["subject"], record["run"], record["session"]) == (b"s02", 2, 0)
        assert (record["age"], record["sex"], record["hand"]) == (21, b"male", b"left")
        assert (record["height"], record["weight"], record["day"]) == (161, 61, 0)
        conditions = [record[key] for key in ("orientation", "first_turn", "second_turn")]
        assert conditions == [b"back_inv", b"left", b"right"]
    assert builder.info.metadata["channels"] == list(sp_sw_har.CHANNELS)
    assert builder.info.metadata["activities"] == list(sp_sw_har.ACTIVITIES)
    assert set(splits_of_people(builder)) == set(inertial.RUNNERS)


def test_uniform50_has_even_times_and_a_record_for_each_part(tmp_path):
    files = FILES | {NAME: run_file(samples=80, gap_ms=201)}
    records = everything(prepared(tmp_path, files, "sp_sw_har/uniform50"))
    keys = sorted(key for key in records if key.startswith("s01/01/watch"))
    assert keys == ["s01/01/watch/0", "s01/01/watch/1"]
    for part, start in enumerate((0, 400 + 201)):
        record = records[f"s01/01/watch/{part}"]
        times = record["time_ms"] - NOON
        np.testing.assert_array_equal(times, start + np.arange(0, 381, 20))
        x = (40 * part + np.arange(0, 38.1, 2)) / 8
        # Samples 2 and 3 of every four have the same time. Their mean is half a sample later.
        shift = np.where((times - start) // 10 % 4 == 2, 0.5 / 8, 0)
        np.testing.assert_allclose(record["sequence"][:, 0], x + shift, rtol=1e-6)
        np.testing.assert_array_equal(record["sequence"][:, 1], np.float32(9.75))
        np.testing.assert_array_equal(record["activity"], 3 if part else 2)
        assert record["run"] == 1


def test_another_day_is_another_sitting(tmp_path):
    later = {
        run_name("s01", 2, device): run_file(NOON + 2 * DAY, seed=7 + at)
        for at, device in enumerate(("sw", "sp"))
    }
    records = everything(prepared(tmp_path, FILES | later))
    for device in ("watch", "phone"):
        places = [
            (records[f"s01/{run}/{device}"]["session"], records[f"s01/{run}/{device}"]["day"])
            for run in ("01", "02")
        ]
        assert places == [(0, 0), (1, 1)]


def test_nobody_is_in_two_splits_and_the_ids_are_written_down(tmp_path, caplog):
    runners = [f"s{number:02d}" for number in range(1, 21)]
    builder = prepared(tmp_path, run_files(runners, runs=1))
    subjects = builder.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 13, "validation": 2, "test": 5
    }  # fmt: skip
    people = splits_of_people(builder)
    assert {person: split for split, ids in subjects.items() for person in ids} == people
    assert "holds 20 of 23 people and 40 of 446 recordings" in caplog.text


def without(name):
    return {key: content for key, content in FILES.items() if key != name}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"sp-sw-har-dataset/readme.txt": b""}, "holds no sXX_YY_sp.csv"),
        (FILES | {"DATA/s01/s1_01_sw.csv": b""}, "is not a run of this data set"),
        (FILES | {"DATA/s02/s01_01_sw.csv": b""}, "the same recording twice"),
        (without(PEOPLE), "not the table subjects_info.csv"),
        (without(RUNS), "not the table executions_info.csv"),
        (FILES | {run_name("s09"): run_file(seed=1)}, "of s09, who is not in subjects_info.csv"),
        (FILES | {run_name("s01", 3): run_file(seed=1)}, "a run that is not in executions_info"),
        (
            FILES | {PEOPLE: FILES[PEOPLE].replace(b",R,2", b",R,1", 1)},
            "states 1 runs of this person",
        ),
        (
            FILES | {run_name("s02"): FILES[NAME]},
            r"\(s01\) and s02/01/watch \(s02\) have the same content",
        ),
        (FILES | {NAME: b"1,2,3\n"}, "line 1: '1,2,3'"),
        (run_files(inertial.RUNNERS[:2]), r"2 subject\(s\) cannot be divided"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, files)
    assert isinstance(error.value, ArchiveError | FormatError) or "subject" in message
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_runs_are_prepared(data_dir, tmp_path):
    builder = reading.prepared("sp_sw_har", data_dir, tmp_path)
    records, people = everything(builder), splits_of_people(builder)
    subjects = builder.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 10, "validation": 1, "test": 4
    }  # fmt: skip
    assert {person: split for split, ids in subjects.items() for person in ids} == people
    assert "15 of 23 people" in builder.info.metadata["archives"][0]["holds"]
    samples_of = {"watch": 172_845, "phone": 170_370}
    for device, count in samples_of.items():
        group = [record for record in records.values() if record["device"] == device.encode()]
        assert len(group) == 145 and sum(len(record["sequence"]) for record in group) == count
    first = records["s01/01/watch"]
    assert first["time_ms"][0] == 1657533977810
    np.testing.assert_allclose(
        first["sequence"][0],
        [0.38320315, -3.535049, 9.110655, -0.01099557, -0.07208207, 0.09040802],
        rtol=1e-6,
    )
    assert (first["age"], first["sex"], first["height"]) == (54, b"male", 190)
    assert {(record["session"], record["day"]) for record in records.values()} == {(0, 0)}
    walking = sum(int((record["activity"] == 2).sum()) for record in records.values())
    assert walking == 152_975
    for person in people:  # run numbers follow the order of time
        starts = [
            record["time_ms"][0]
            for record in sorted(records.values(), key=lambda record: record["run"])
            if record["subject"] == person.encode() and record["device"] == b"watch"
        ]
        assert len(starts) >= 6 and (np.diff(starts) > 0).all()


@pytest.mark.slow
def test_the_real_runs_are_read_at_even_times(data_dir, tmp_path):
    records = everything(reading.prepared("sp_sw_har/uniform50", data_dir, tmp_path))
    assert len(records) == 290  # no run has a gap
    for record in records.values():
        assert (np.diff(record["time_ms"]) == 20).all() and len(record["time_ms"]) > 400
