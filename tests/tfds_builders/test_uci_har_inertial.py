"""Tests of `uci_har_inertial`: its parser, overlapping windows, archive formats and errors."""

import functools
import io

import numpy as np
import pytest

from tests.tfds_builders import inertial, samples
from tests.tfds_builders.inertial import HAR_FOLDER, har_files, har_window
from tests.tfds_builders.mutations import check_parser
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.parsers import har
from tfds_builders.uci_har_inertial.overlap import joined, runs

pytestmark = pytest.mark.usefixtures("quiet")
FILES = har_files()
SIGNAL = f"{HAR_FOLDER}train/Inertial Signals/body_acc_x_train.txt"
SUBJECTS = f"{HAR_FOLDER}train/subject_train.txt"
LABELS = f"{HAR_FOLDER}activity_labels.txt"
COLUMN = functools.partial(har.parse_column, name="subject_train.txt", most=30)


def signal_file(rows=2):
    """Returns a file of signals in the source's style: two spaces and exponents of three digits."""
    values = (np.arange(rows * har.SAMPLES) - 100) / 7
    words = [f"{v:.7e}".replace("e+0", "e+00").replace("e-0", "e-00") for v in values]
    lines = [
        "  " + "  ".join(words[at : at + har.SAMPLES]) for at in range(0, len(words), har.SAMPLES)
    ]
    return ("\n".join(lines) + "\n").encode()


def parse(data):
    return har.parse(io.BytesIO(data), name="body_acc_x_train.txt")


def prepared(folder, files, name="uci_har_inertial"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def everything(builder):
    """Returns the records by split and id."""
    return {
        split: {record["id"].decode(): record for record in source}
        for split, source in builder.as_data_source().items()
    }


def test_a_signal_has_the_values_of_its_lines():
    data = signal_file(3)
    assert b"  -1.4285714e+001  " in data
    windows = parse(data).windows
    expected = np.genfromtxt(io.BytesIO(data))
    assert windows.shape == (3, 128) and windows.dtype == np.float32
    np.testing.assert_array_equal(windows, expected.astype(np.float32))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a line end"),
        (signal_file()[:-3], "line 2: the file ends with .*, expected a line end"),
        (signal_file() + b"1 2\n", "line 3: the line has 2 values, expected 128 values"),
        (signal_file().replace(b"0.0000000e+000", b"nan"), "line 1: 'nan', expected a finite"),
    ],
)
def test_a_damaged_signal_is_refused_by_line(data, message):
    with pytest.raises(FormatError, match=message):
        parse(data)


def test_a_column_has_its_numbers_and_no_others():
    np.testing.assert_array_equal(COLUMN(io.BytesIO(b"30\n 1\n1 \x1c\n")).values, [30, 1, 1])
    for data in (b"31\n", b"0\n", b"1.0\n", b"1\n\n", b"", b"1\n3"):
        with pytest.raises(FormatError, match="subject_train.txt"):
            COLUMN(io.BytesIO(data))


@pytest.mark.parametrize(
    "data", [b"", FILES[LABELS][:-2], FILES[LABELS].replace(b"1", b"2"), b"WALKING\n"]
)
def test_other_activities_are_refused(data):
    har.check_activities(io.BytesIO(FILES[LABELS]), name="activity_labels.txt")
    with pytest.raises(FormatError, match="activity_labels.txt: .*, expected 1 WALKING, 2 "):
        har.check_activities(io.BytesIO(data), name="activity_labels.txt")


def _signal_holds(signal):
    assert signal.windows.dtype == np.float32 and signal.windows.shape[1:] == (128,)
    assert len(signal.windows) and np.isfinite(signal.windows).all()


def _column_holds(column):
    assert column.values.dtype == np.int32 and column.values.ndim == 1 and len(column.values)
    assert ((1 <= column.values) & (column.values <= 30)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "data", "check"),
    [
        (har.parse, signal_file(), _signal_holds),
        (functools.partial(har.parse_column, most=30), b"1\n12\n30\n" * 9, _column_holds),
        (har.check_activities, FILES[LABELS], lambda _: None),
    ],
    ids=["signal", "column", "activities"],
)
def test_a_thousand_mutations_end_in_a_sound_result_or_a_format_error(run, data, check):
    def parser(mutated):
        return run(io.BytesIO(mutated), name="a.txt") or True

    check_parser(parser, data, check)


def test_joined_windows_are_the_signal_that_they_were_cut_from(rng):
    signal = rng.normal(size=(64 * 7, 9)).astype(np.float32)
    windows = np.stack([signal[at : at + 128] for at in range(0, 64 * 6, 64)])
    places = runs(windows, np.ones(6), np.ones(6))
    np.testing.assert_array_equal(places, [np.arange(6)])
    np.testing.assert_array_equal(joined(windows), signal)
    np.testing.assert_array_equal(joined(windows[:1]), windows[0])


def test_a_run_ends_with_the_person_the_activity_and_the_agreement():
    signal = np.arange(64 * 7, dtype=np.float32)[:, None]
    windows = np.stack([signal[at : at + 128] for at in range(0, 64 * 6, 64)])
    windows[5, 0] += 1e-3
    people, activities = np.array([1, 2, 2, 2, 2, 2]), np.array([1, 1, 1, 4, 4, 4])
    found = [rows.tolist() for rows in runs(windows, people, activities)]
    assert found == [[0], [1, 2], [3, 4], [5]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"UCI HAR Dataset.zip": samples.zipped(
            FILES | {"__MACOSX/UCI HAR Dataset/._activity_labels.txt": b"\0"}
        )},
        {"human+activity+recognition+using+smartphones.zip": samples.zipped(
            {
                "UCI HAR Dataset.zip": samples.zipped(FILES),
                "UCI HAR Dataset.names": b"",
                "__MACOSX/._UCI HAR Dataset.zip": b"\0",
            }
        )},
        {f"uci_har_inertial/{name.removeprefix(HAR_FOLDER)}": f for name, f in FILES.items()},
    ],
    ids=["zip", "zip in a zip", "folder"],
)  # fmt: skip
def test_a_window_has_nine_channels_of_its_line(files, tmp_path):
    builder = prepared(tmp_path, files)
    records = everything(builder)
    assert {split: len(part) for split, part in records.items()} == {"train": 4, "test": 3}
    record = records["test"]["2/0001"]
    assert record["sequence"].dtype == np.float32
    np.testing.assert_array_equal(record["sequence"], har_window(2, 4, 64).astype(np.float32))
    assert builder.info.features["label"].int2str(record["label"]) == "SITTING"
    assert (record["subject"], record["window"]) == (b"2", 1)
    assert (record["session"], record["day"], record["device"]) == (-1, -1, b"Samsung Galaxy S II")
    assert builder.info.metadata["channels"][3] == "body_gyro_x"


def test_the_channels_are_those_that_their_files_say(tmp_path):
    part = har.parse(io.BytesIO(FILES[SIGNAL.replace("body_acc_x", "total_acc_z")]), name="f")
    record = everything(prepared(tmp_path, FILES))["train"]["1/0002"]
    np.testing.assert_array_equal(record["sequence"][:, 8], part.windows[2])


def test_joined_has_each_sample_once(tmp_path):
    records = everything(prepared(tmp_path, FILES, "uci_har_inertial/joined"))
    lengths = {
        key: len(record["sequence"]) for part in records.values() for key, record in part.items()
    }
    assert lengths == {"1/0000": 256, "3/0003": 128, "2/0000": 192, "2/0002": 128}
    whole = np.concatenate([har_window(1, 1), har_window(1, 1, 128)]).astype(np.float32)
    np.testing.assert_array_equal(records["train"]["1/0000"]["sequence"], whole)


def test_nobody_is_in_both_parts_and_the_ids_are_written_down(tmp_path, caplog):
    builder = prepared(tmp_path, FILES)
    found = {
        split: {record["subject"].decode() for record in records.values()}
        for split, records in everything(builder).items()
    }
    written = {split: set(ids) for split, ids in builder.info.metadata["subjects"].items()}
    assert found == written == {"train": {"1", "3"}, "test": {"2"}}
    assert "holds 4 of 7,352 windows of `train`" in caplog.text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({LABELS: FILES[LABELS]}, "holds no body_acc_x_train.txt, body_acc_y_train.txt"),
        ({k: v for k, v in FILES.items() if k != SUBJECTS}, "holds no subject_train.txt. It holds"),
        ({k: v for k, v in FILES.items() if k != LABELS}, "holds no activity_labels.txt"),
        (FILES | {f"{HAR_FOLDER}copy/body_acc_x_train.txt": b""}, "the same recording twice"),
        (FILES | {SUBJECTS: b"1\n1\n1\n"}, "body_acc_x_train.txt has 4 lines, .* 3. The"),
        (FILES | {SUBJECTS: b"1\n1\n1\n2\n"}, "subject 2 is in train and in test"),
        (
            har_files({"train": [(1, 1, 0)] * 2, "test": [(2, 1, 0)]})
            | {SUBJECTS: b"1\n3\n"},
            r"1/0000 \(subject 1\) and 3/0001 \(subject 3\) have the same content",
        ),
        (
            FILES | {SIGNAL: b"1 2\n"},
            "body_acc_x_train.txt, line 1: the line has 2 values, expected 128",
        ),
        ({"UCI HAR Dataset.zip": samples.zipped(FILES)[:3000]}, "damaged or incomplete"),
    ],
)  # fmt: skip
def test_a_wrong_or_damaged_archive_is_told_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


def test_a_repeat_within_a_person_is_kept_and_told(tmp_path, caplog):
    files = har_files(inertial.HAR_ROWS | {"train": [(1, 1, 0), (1, 1, 0)]})
    builder = prepared(tmp_path, files)
    assert builder.info.metadata["same_as"] == {"1/0001": "1/0000"}
    assert builder.info.splits["train"].num_examples == 2
    assert "windows: 1 (kept). The first is 1/0001, which is the same as 1/0000" in caplog.text
