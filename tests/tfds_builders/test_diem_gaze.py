"""Tests of `diem_gaze`: its parser, its records and its splits, which share no people or films."""

import io

import numpy as np
import pytest

from tests.tfds_builders import gaze, samples
from tests.tfds_builders.gaze import FILMS, VIEWERS, event_name
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.parsers import event_text

pytestmark = pytest.mark.usefixtures("quiet")
FILE = gaze.event_file()
FILES = gaze.event_files()
BROOKLYN, BEARS = FILMS


def parse(data):
    return event_text.parse(io.BytesIO(data), name="a.txt")


def prepared(folder, files, name="diem_gaze"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def test_a_recording_has_the_values_of_its_lines():
    recording = parse(FILE)
    assert recording.sequence.shape == (8, 6) and recording.sequence.dtype == np.float32
    assert recording.sequence[0].tolist() == [2, 3, 6, 7, 4, 8]
    assert recording.sequence[2].tolist() == [0] * 6 and recording.sequence[7, 0] == -3270
    assert recording.event.dtype == np.int8
    assert recording.event[[0, 2, 4]].tolist() == [[1, 1], [-1, 0], [2, 1]]


@pytest.mark.parametrize(
    ("old", "new"), [(b"", b""), (b"\r\n", b"\n"), (b"\t", b"  ")], ids=["CR LF", "LF", "blanks"]
)
def test_the_values_are_those_that_numpy_reads(old, new):
    data = FILE.replace(old, new)
    table = np.genfromtxt(io.BytesIO(data), dtype=np.float32)
    recording = parse(data)
    np.testing.assert_array_equal(recording.sequence, table[:, [1, 2, 5, 6, 3, 7]])
    np.testing.assert_array_equal(recording.event, table[:, [4, 8]])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (FILE, b"", ": the file has no frames, expected one line per frame"),
        (FILE, b"\n\n", ", line 1: the line has 0 values, expected 9 values"),
        (b"\r\n2\t3.0\t", b"\r\n2\t", ", line 2: the line has 8 values, expected 9 values"),
        (b"\r\n2\t3.0\t", b"\r\n2\tnan\t", ", line 2: 'nan', expected a finite number"),
        (b"\r\n2\t", b"\r\n3\t", ", line 2: .*, expected the number of the line"),
        (b"\t2\t10.0", b"\t3\t10.0", ", line 5: .*, expected events of -1, 0, 1, 2"),
        (b"\t2\t10.0", b"\t0.5\t10.0", ", line 5: .*, expected events of -1, 0, 1, 2"),
        (b"15.0\t1\r\n", b"15.0\t1", ", line 8: the file ends with .*, expected a line end"),
    ],
)
def test_a_damaged_recording_is_refused_by_line(old, new, message):
    with pytest.raises(FormatError, match=f"a.txt{message}"):
        parse(FILE.replace(old, new, 1))


def holds(recording):
    assert recording.sequence.dtype == np.float32 and np.isfinite(recording.sequence).all()
    assert recording.event.dtype == np.int8 and set(recording.event.flat) <= {-1, 0, 1, 2}
    assert recording.sequence.shape == (len(recording.event), 6) and len(recording.event)


@pytest.mark.slow
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error():
    check_parser(parse, FILE, holds)


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"DIEM_event_data.tar.xz": samples.tar(FILES)},
        gaze.event_files(folder="diem_gaze/")
        | {f"diem_gaze/{BEARS}/video/{BEARS}.mp4": b"", f"diem_gaze/{BEARS}/readme.txt": b""},
    ],
    ids=["tar", "the films' folders"],
)
def test_a_record_has_the_frames_of_its_file_and_what_its_name_says(files, tmp_path):
    builder = prepared(tmp_path, files, "diem_gaze/all")
    records = everything(builder)
    assert len(records) == len(FILES) and list(builder.info.splits) == ["train"]
    record = records[f"diem2s3/{BEARS}"]
    expected = parse(FILES[event_name("diem2s3", BEARS, 2)])
    np.testing.assert_array_equal(record["sequence"], expected.sequence)
    np.testing.assert_array_equal(record["event"], expected.event)
    assert (record["subject"], record["video"]) == (b"diem2s3", BEARS.encode())
    assert (record["place"], record["width"], record["height"]) == (2, 1066, 710)
    assert (record["session"], record["day"], record["device"]) == (0, 0, b"")


def test_train_and_test_share_neither_people_nor_films(tmp_path, caplog):
    builder = prepared(tmp_path, FILES)
    found = {
        split: [(r["subject"].decode(), r["video"].decode()) for r in source]
        for split, source in builder.as_data_source().items()
    }
    assert {split: len(part) for split, part in found.items()} == {
        "train": 4, "validation": 1, "test": 5
    }  # fmt: skip
    people = {split: {subject for subject, _ in part} for split, part in found.items()}
    assert sum(map(len, people.values())) == len(set.union(*people.values())) == len(VIEWERS)
    films = {split: {film for _, film in part} for split, part in found.items()}
    assert films["train"] == films["validation"] and not films["train"] & films["test"]
    metadata = builder.info.metadata
    assert metadata["subjects"] == {split: sorted(ids) for split, ids in people.items()}
    assert metadata["videos"] == {split: sorted(names) for split, names in films.items()}
    assert "kept 10 of 20 recordings" in caplog.text and "holds 2 of 84 films" in caplog.text


@pytest.mark.parametrize("film", FILMS)
def test_two_files_of_a_person_are_never_in_two_splits(film, tmp_path):
    files = FILES | {event_name("diem2s1b", film, 3): gaze.event_file(seed=999)}
    subjects = prepared(tmp_path, files).info.metadata["subjects"]
    assert sum("diem2s1" in ids for ids in subjects.values()) == 1
    assert not any("diem2s1b" in ids for ids in subjects.values())


def test_a_second_file_of_a_person_is_another_session_also_of_the_same_film(tmp_path):
    files = FILES | {event_name("diem2s1b", BEARS, 3): gaze.event_file(seed=999)}
    records = everything(prepared(tmp_path, files, "diem_gaze/all"))
    two = [records[f"{file}/{BEARS}"] for file in ("diem2s1", "diem2s1b")]
    assert [record["subject"] for record in two] == [b"diem2s1", b"diem2s1"]
    assert [record["session"] for record in two] == [0, 1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"DIEM.zip": samples.zipped({"a.txt": b""})}, "holds no <video>_.*. It holds a.txt"),
        (FILES | {f"{BEARS}/event_data/p01_0.txt": b""}, "is not a recording of DIEM"),
        (
            FILES | {f"{BEARS}/event_data/diem2s9.asc_1_{BROOKLYN}.txt": b""},
            "is not a recording of DIEM",
        ),
        (FILES | {event_name("diem2s1", BEARS, 7): b""}, "the same recording twice"),
        (
            FILES | {event_name("diem3s9", BEARS): FILES[event_name("diem2s1", BEARS, 2)]},
            r"diem2s1/arctic.* and diem3s9/arctic.* have the same content",
        ),
        (
            FILES | {event_name("diem3s1", BEARS, 2): FILE[:-2]},
            "line 8: the file ends with .*, expected a line end",
        ),
        (
            gaze.event_files(films=FILMS[:1]),
            r"1 video\(s\) cannot be divided .* prepare diem_gaze/all",
        ),
    ],
)
def test_a_wrong_or_damaged_archive_is_told_and_nothing_is_kept(files, message, tmp_path):
    name = "diem_gaze" if "prepare" in message else "diem_gaze/all"
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files, name)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_recordings_are_prepared(data_dir, tmp_path):
    builder = reading.prepared("diem_gaze/all", data_dir, tmp_path)
    records = everything(builder)
    assert len(records) == 231 and len(builder.info.metadata["subjects"]["train"]) == 163
    lengths = {record["video"].decode(): len(record["sequence"]) for record in records.values()}
    assert lengths == {
        "50_people_brooklyn_1280x720": 3667,
        "documentary_dolphins_1280x720": 3180,
        "arctic_bears_1066x710": 2785,
    }
    events = np.concatenate([record["event"] for record in records.values()])
    assert (events == -1).sum(axis=0).tolist() == [1788, 1788]
    assert (events == 2).sum(axis=0).tolist() == [76_292, 0]
    first = records["diem2s1/50_people_brooklyn_1280x720"]
    expected = np.float32([589.6, 472.2, 614.9, 469.3, 1622, 1355])
    np.testing.assert_array_equal(first["sequence"][0], expected)
    assert first["place"] == 4


@pytest.mark.slow
def test_the_real_people_and_films_are_divided(data_dir, tmp_path, caplog):
    builder = reading.prepared("diem_gaze", data_dir, tmp_path)
    assert "kept 119 of 231 recordings" in caplog.text and "3 of 84 films" in caplog.text
    subjects, videos = (builder.info.metadata[key] for key in ("subjects", "videos"))
    assert [len(ids) for ids in subjects.values()] == [52, 13, 54]
    assert videos["test"] == ["documentary_dolphins_1280x720"]
    assert not set(videos["test"]) & {*videos["train"], *videos["validation"]}
