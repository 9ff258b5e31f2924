"""Tests of `gaitauth_walks`: its parser, resampling, order of walks and errors."""

import csv
import io

import numpy as np
import pytest

from tests.tfds_builders import inertial, samples
from tests.tfds_builders.inertial import MINUTE, NOON, walk_file, walk_files, walk_name
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything, splits_of_people
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.common.even_times import uniform_parts
from tfds_builders.common.sittings import Place, places
from tfds_builders.parsers import gaitauth

pytestmark = pytest.mark.usefixtures("quiet")
FILES = walk_files()
NAME = walk_name("ID01", "M", "2100", 0)
HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE


def parse(data):
    return gaitauth.parse(io.BytesIO(data), name="walk.txt")


def prepared(folder, files, name="gaitauth_walks"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def test_a_walk_has_the_values_of_its_lines():
    data = walk_file(seed=3, gap_ms=500)
    walk = parse(data)
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    np.testing.assert_array_equal(walk.time_ms, [int(row[0]) for row in rows])
    np.testing.assert_array_equal(walk.sequence, np.array(rows)[:, 1:].astype(np.float32))
    assert walk.time_ms.dtype == np.int64 and walk.sequence.dtype == np.float32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b",9.75,", b",", r"line 1: '1356350400000,0.0,0.0', expected `milliseconds,x,y,z`"),
        (b"1356350400040,", b"1356350400.04,", "line 2: "),
        (b"1356350400040,", b"99999999999999999999,", "line 2: "),
        (
            b"1356350400040,",
            b"1356350399999,",
            "line 2: the time is 1 ms before the time of the previous line",
        ),
        (b",0.125,", b",nan,", "line 2: 'nan', expected a finite number"),
        (b",0.125,", b",1e60,", "line 2: '1e60', expected a finite number"),
        (b"\r\n", b"\r\n\r\n", "line 2: '', expected"),
        (b"9.75", b"9.75\xff", "the byte 0xff, expected plain ASCII text"),
    ],
)
def test_a_damaged_walk_is_refused_by_line(old, new, message):
    with pytest.raises(FormatError, match=message):
        parse(walk_file().replace(old, new, 1))


@pytest.mark.parametrize("data", [b"", walk_file()[:-2], walk_file()[:-8]])
def test_a_cut_walk_is_refused(data):
    with pytest.raises(FormatError):
        parse(data)


def test_accelerations_in_g_or_without_gravity_are_refused():
    """The README of the source states the unit g, but the files are in m/s^2."""
    data = b"1356350400000,0.1,0.2,0.95\n1356350400040,0.1,0.3,1.0\n"
    with pytest.raises(
        FormatError, match="the median acceleration is 1 m/s.2, expected about 9.8 m"
    ):
        parse(data)


def _walk_holds(walk):
    assert walk.time_ms.dtype == np.int64 and walk.time_ms.shape == walk.sequence.shape[:1]
    assert walk.sequence.dtype == np.float32 and walk.sequence.shape[1:] == (3,)
    assert len(walk.sequence) and np.isfinite(walk.sequence).all()
    assert (np.diff(walk.time_ms) >= 0).all()


@pytest.mark.slow
def test_a_thousand_mutations_end_in_a_sound_walk_or_a_format_error():
    check_parser(parse, walk_file(), _walk_holds)


def parts_of(time_ms, sequence, step_ms=20, longest_gap_ms=200):
    return uniform_parts(
        np.array(time_ms, np.int64), np.array(sequence, np.float32), step_ms=step_ms,
        longest_gap_ms=longest_gap_ms,
    )  # fmt: skip


def test_constants_and_straight_lines_are_kept_exactly_at_even_times(rng):
    time_ms = NOON + np.cumsum(rng.integers(0, 90, 500))
    past = time_ms - time_ms[0]
    lines = np.stack([np.full(500, 9.75), past / 8, -past / 4], axis=1)  # exact in float32
    ((times, values),) = parts_of(time_ms, lines)
    assert times.dtype == np.int64 and values.dtype == np.float32
    assert times[0] == time_ms[0] and 0 <= time_ms[-1] - times[-1] < 20
    np.testing.assert_array_equal(np.diff(times), 20)
    expected = times - times[0]
    np.testing.assert_array_equal(
        values, np.stack([np.full(len(times), 9.75), expected / 8, -expected / 4], axis=1)
    )


def test_nothing_is_made_up_across_a_gap():
    time_ms = [0, 100, 300, 501, 601]
    first, second = parts_of(time_ms, np.array([[0.0], [10], [30], [-1], [-11]]))
    np.testing.assert_array_equal(first[0], np.arange(0, 301, 20))  # 200 ms is not a gap
    np.testing.assert_array_equal(first[1][:, 0], np.arange(0, 31, 2))
    np.testing.assert_array_equal(second[0], [501, 521, 541, 561, 581, 601])
    np.testing.assert_array_equal(second[1][:, 0], [-1, -3, -5, -7, -9, -11])


def test_samples_of_one_time_count_as_their_mean_and_one_sample_is_a_part():
    ((times, values),) = parts_of([0, 20, 20, 40], [[1.0], [2], [4], [7]])
    np.testing.assert_array_equal(times, [0, 20, 40])
    np.testing.assert_array_equal(values[:, 0], [1, 3, 7])
    ((times, values),) = parts_of([5], [[1.0, 2.0]])
    np.testing.assert_array_equal(values, [[1, 2]])


def test_walks_are_numbered_by_their_first_times():
    starts = {
        "late": NOON + 3 * HOUR, "first": NOON, "next": NOON + HOUR, "tomorrow": NOON + 3 * DAY
    }  # fmt: skip
    assert places(starts) == {
        "first": Place(0, 0, 0),
        "next": Place(1, 0, 0),
        "late": Place(2, 1, 0),
        "tomorrow": Place(3, 2, 1),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"GaitAuth_DATASET.tar.xz": samples.tar(FILES)},
        {"GaitAuth-master.zip": samples.zipped(
            {f"GaitAuth-master/{name}": content for name, content in FILES.items()}
            | {f"GaitAuth-master/{NAME.replace(inertial.SENSOR, 'Rotation Matrix')}": b"1"}
        )},
        {f"gaitauth_walks/{name}": content for name, content in FILES.items()},
    ],
    ids=["tar", "zip of the repository", "folder"],
)  # fmt: skip
def test_a_record_has_the_samples_of_its_file_and_what_its_name_says(files, tmp_path):
    builder = prepared(tmp_path, files)
    records, found = everything(builder), splits_of_people(builder)
    assert len(records) == len(FILES)
    record, walk = records["ID02/2110_1"], parse(FILES[walk_name("ID02", "F", "2110", 1)])
    np.testing.assert_array_equal(record["sequence"], walk.sequence)
    np.testing.assert_array_equal(record["time_ms"], walk.time_ms)
    assert record["time_ms"].dtype == np.int64
    assert (record["subject"], record["sex"], record["device"]) == (b"ID02", b"female", b"NexusOne")
    assert (record["walk"], record["session"], record["day"]) == (1, 0, 0)
    assert builder.info.metadata["channels"] == ["x", "y", "z"]
    assert set(found) == set(inertial.WALKERS)


def test_uniform50_has_even_times_and_a_record_for_each_part_of_a_second(tmp_path):
    files = {
        NAME: walk_file(samples=80, gap_ms=201),
        walk_name("ID01", "M", "2110", 1): walk_file(NOON + MINUTE, samples=40, gap_ms=201),
    }
    records = everything(prepared(tmp_path, FILES | files, "gaitauth_walks/uniform50"))
    assert sorted(key for key in records if "ID01" in key) == ["ID01/2100_0/0", "ID01/2100_0/1"]
    for part, start in enumerate((0, 40 * 40 + 201)):
        record = records[f"ID01/2100_0/{part}"]
        times = start + np.arange(0, 39 * 40 + 1, 20)
        np.testing.assert_array_equal(record["time_ms"] - NOON, times)
        x = (40 * part + np.arange(0, 39.1, 0.5)) / 8
        np.testing.assert_allclose(record["sequence"][:, 0], x, rtol=1e-6)
        np.testing.assert_array_equal(record["sequence"][:, 1], np.float32(9.75))
        assert record["walk"] == 0


def test_another_hour_is_another_sitting_and_names_do_not_order_the_walks(tmp_path):
    files = {
        walk_name("ID01", "M", "959", 0): walk_file(NOON + DAY, seed=1),
        walk_name("ID01", "M", "1001", 1): walk_file(NOON + DAY - 2 * HOUR, seed=2),
        walk_name("ID01", "M", "1000", 2, device="Nexus_One"): walk_file(NOON - DAY, seed=3),
    }
    others = {name: content for name, content in FILES.items() if "ID01" not in name}
    records = everything(prepared(tmp_path, others | files))
    order = ("ID01/1000_2", "ID01/1001_1", "ID01/959_0")
    for at, (key, day) in enumerate(zip(order, (0, 1, 1), strict=True)):
        record = records[key]
        assert (record["walk"], record["session"], record["day"]) == (at, at, day)


def test_nobody_is_in_two_splits_and_the_ids_are_written_down(tmp_path, caplog):
    walkers = {f"ID{number:02d}": "FM"[number % 2] for number in range(1, 21)}
    builder = prepared(tmp_path, walk_files(walkers, walks=1))
    found = splits_of_people(builder)
    subjects = builder.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 13, "validation": 2, "test": 5
    }  # fmt: skip
    assert {person: split for split, ids in subjects.items() for person in ids} == found
    assert "holds 20 of 38 people" in caplog.text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"DATASET/readme.txt": b""}, "holds no ID<nn>_<F|M>_"),
        (FILES | {walk_name("ID1"): b""}, "is not a walk of GaitAuth"),
        (FILES | {walk_name("ID01", device="Nexus_One"): b""}, "the same recording twice"),
        (FILES | {walk_name("ID01", "F", "2130"): b""}, "ID01 has walks with the letter F and"),
        (
            FILES | {walk_name("ID02", "F", "2130"): FILES[NAME]},
            r"\(ID01\) and ID02/2130_0 \(ID02\) have the same content",
        ),
        (FILES | {NAME: b"1,2,3\n"}, "line 1: '1,2,3'"),
        (walk_files(dict([*inertial.WALKERS.items()][:2])), r"2 subject\(s\) cannot be divided"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, files)
    assert isinstance(error.value, ArchiveError | FormatError) or "subject" in message
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_walks_are_prepared(data_dir, tmp_path):
    builder = reading.prepared("gaitauth_walks", data_dir, tmp_path)
    records, found = everything(builder), splits_of_people(builder)
    subjects = builder.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 17, "validation": 3, "test": 6
    }  # fmt: skip
    assert {person: split for split, ids in subjects.items() for person in ids} == found
    assert "26 of 38" in builder.info.metadata["archives"][0]["holds"]
    assert len(records) == 475
    assert sum(len(record["sequence"]) for record in records.values()) == 428_135
    first = records["ID02/12257_0"]
    assert first["time_ms"][0] == 1356625384295
    np.testing.assert_allclose(first["sequence"][0], [-1.525479, 10.119919, 0.040861044])
    assert {(record["session"], record["day"]) for record in records.values()} == {(0, 0)}
    medians = [np.median(np.linalg.norm(record["sequence"], axis=1)) for record in records.values()]
    assert (min(medians), max(medians)) == pytest.approx((9.10, 11.62), abs=0.005)
    still = [int((np.diff(record["time_ms"]) == 0).sum()) for record in records.values()]
    assert sum(still) == 27 and np.count_nonzero(still) == 8


@pytest.mark.slow
def test_the_real_walks_are_read_at_even_times(data_dir, tmp_path):
    builder = reading.prepared("gaitauth_walks/uniform50", data_dir, tmp_path)
    records, found = everything(builder), splits_of_people(builder)
    assert len(found) == 26
    for record in records.values():
        assert (np.diff(record["time_ms"]) == 20).all() and len(record["time_ms"]) > 50
    assert len(records) == 488
