"""Tests of `ltmm_gait`: WFDB's format 16, the choice of active minutes, splits and errors."""

import io

import numpy as np
import pytest

from tests.tfds_builders import inertial, samples
from tests.tfds_builders.inertial import ltmm_files, movement, record_files, record_header
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything, splits_of_people
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.ltmm_gait.activity import minute_figures, most_active
from tfds_builders.ltmm_gait.ltmm_gait_dataset_builder import CHANNELS
from tfds_builders.parsers import wfdb16

pytestmark = pytest.mark.usefixtures("quiet")
FILES = ltmm_files()
HEADER = record_header()
ZIP = "long-term-movement-monitoring-database-1.0.0.zip"


def parse_header(data):
    return wfdb16.parse_header(io.BytesIO(data), name="CO001.hea")


def prepared(folder, files, name="ltmm_gait"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def test_a_header_has_the_values_of_its_lines():
    header = parse_header(HEADER)
    assert (header.record, header.rate_hz, header.samples) == ("CO001", 100, 6000)
    assert header.file == "CO001.dat" and header.notes == {"age": "75.0", "sex": "F"}
    assert {signal.name: signal.unit for signal in header.signals} == CHANNELS
    assert header.signals[0] == wfdb16.Signal("v-acceleration", "g", 16384.0, -50)


@pytest.mark.parametrize(
    ("fields", "gain", "baseline", "unit"),
    [
        ("200/mV 12 7", 200, 7, "mV"),  # default baseline: zero of the converter
        ("0(3)/g 12 7", 200, 3, "g"),  # gain 0 means the default gain
        ("1.5e+02 12 0", 150, 0, "mV"),
        ("163.7981651376147(0)/deg/s 12 0", 163.7981651376147, 0, "deg/s"),
    ],
)
def test_fields_that_may_be_missing_have_the_values_of_the_format(fields, gain, baseline, unit):
    line = f"r 1 100 2 10:00:00 01/01/2010\nr.dat 16 {fields} 0 0 0 a signal\n"
    (signal,) = parse_header(line.encode()).signals
    assert signal == wfdb16.Signal("a signal", unit, gain, baseline)


def test_values_are_samples_less_baseline_through_gain_and_missing_ones_are_nan():
    header = parse_header(record_header(samples=3))
    digital = np.zeros((3, 6), "<i2")
    digital[:, 0] = (-50, 16384 - 50, -32768)
    digital[:, 5] = (-60, 90, 32767)
    view = wfdb16.samples(digital.tobytes(), header, name="CO001.dat")
    np.testing.assert_array_equal(view, digital)
    values = wfdb16.physical(view, header)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values[:, 0], [0, 1, np.nan])
    np.testing.assert_array_equal(values[:, 5], np.float32([-1, 1.5, 32767 / 60]))


def test_a_record_is_read_as_wfdb_reads_it():
    """The expected values are the result of `wfdb.rdrecord` in wfdb 4.3.1 for these bytes."""
    digital = [
        [-32768, -32767, -1, 0, 1, 32767],
        [12345, -23456, 16384, -60, 90, -32768],
        [7, 300, -5000, 32767, -32767, 59],
    ]
    expected = [
        [np.nan, -1.99688720703125, 0.00299072265625, 0, 0.016666666666666666, 546.1166666666667],
        [0.75653076171875, -1.4285888671875, 1.0030517578125, -1, 1.5, np.nan],
        [0.00347900390625, 0.0213623046875, -0.3021240234375, 546.1166666666667,
         -546.1166666666667, 0.9833333333333333],
    ]  # fmt: skip
    header = parse_header(record_header(samples=3))
    view = wfdb16.samples(np.array(digital, "<i2").tobytes(), header, name="CO001.dat")
    np.testing.assert_array_equal(wfdb16.physical(view, header), np.float32(expected))
    assert [signal.unit for signal in header.signals] == ["g"] * 3 + ["deg/s"] * 3
    assert header.notes == {"age": "75.0", "sex": "F"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"CO001 6 100 6000", b"CO001 6 100", "line 1: 'CO001 6 100', expected `name signals"),
        (b"CO001 6 100 6000", b"CO001/2 6 100 6000", "line 1: .* of one segment"),
        (b"CO001 6 100 6000", b"CO001 6 100 0", "line 1: .* with numbers above 0"),
        (b"CO001 6 100 6000", b"CO001 7 100 6000", "6 lines of signals, expected 7"),
        (b"CO001.dat 16 ", b"CO001.dat 212 ", "line 2: 'CO001.dat 212 .*expected `file 16"),
        (b"CO001.dat 16 ", b"CO001.dat 16x2 ", "line 2: "),
        (b"16384.0", b"1e-30", "line 2: the gain is 1e-30, expected a gain of 1e-06 to 1e"),
        (b"CO001.dat 16 ", b"other.dat 16 ", "2 files of samples, expected one"),
        (b"v-acc", b"v\xffacc", "the byte 0xff, expected plain ASCII text"),
    ],
)
def test_a_damaged_header_is_refused_by_line(old, new, message):
    assert old in HEADER
    with pytest.raises(FormatError, match=message):
        parse_header(HEADER.replace(old, new, 1))


@pytest.mark.parametrize("change", [b"", b"\0\0"])
def test_samples_of_another_length_than_the_header_says_are_refused(change):
    data = movement((1,), length=10).tobytes()[: None if change else -1] + change
    with pytest.raises(
        FormatError, match=rf"{len(data)} bytes, expected 120, as its header states"
    ):
        wfdb16.samples(data, parse_header(record_header(samples=10)), name="CO001.dat")


def _header_holds(header):
    assert header.signals and header.samples > 0 and header.rate_hz > 0
    assert all(1e-6 <= signal.gain <= 1e9 for signal in header.signals)
    digital = np.full((2, len(header.signals)), 32767, "<i2")
    assert np.isfinite(wfdb16.physical(digital, header)).all()


def test_a_thousand_mutations_end_in_a_sound_header_or_a_format_error():
    check_parser(parse_header, HEADER, _header_holds)


def test_figures_are_those_of_each_minute(rng):
    minutes = [rng.normal(size=(50, 3)).astype(np.float32) for _ in range(4)]
    means, variances = minute_figures(iter(minutes))
    np.testing.assert_allclose(means, [minute.mean(axis=0) for minute in minutes], rtol=1e-4)
    np.testing.assert_allclose(variances, [minute.var(axis=0) for minute in minutes], rtol=1e-4)


def test_the_most_active_minutes_are_those_of_the_scaled_recording(rng):
    heights = rng.uniform(0.1, 5, (40, 1, 6)) * (1, 1, 1, 90, 90, 90)
    minutes = rng.normal(size=(40, 60, 6)) * heights + rng.normal(size=(40, 1, 6))
    whole = minutes.reshape(-1, 6)
    scaled = (minutes - whole.mean(axis=0)) / whole.std(axis=0)
    for recording, is_scaled in ((scaled, True), (minutes, False)):
        activity = [np.sqrt(minute.var(axis=0).mean()) for minute in recording]
        expected = sorted(np.argsort(activity)[-7:])
        assert most_active(*minute_figures(minutes), 7, is_scaled).tolist() == expected


def test_minutes_with_a_missing_sample_are_passed_over_and_dead_channels_count_nothing():
    minutes = np.stack([movement((level,), length=60) for level in (5, 9, 7)]).astype(np.float32)
    minutes[..., 2] = 1  # a dead channel has a constant value
    minutes[1, 3, 4] = np.nan
    figures = minute_figures(minutes)
    assert most_active(*figures, 1).tolist() == [2]
    assert most_active(*figures, 9).tolist() == [0, 2]
    assert most_active(*minute_figures(np.zeros((3, 9, 6))), 2).tolist() == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {ZIP: samples.zipped(FILES)},
        {"ltmm.tar.gz": samples.tar(FILES, "w:gz")},
        ltmm_files(folder="ltmm_gait/"),
    ],
    ids=["zip", "tar", "folder"],
)
def test_a_record_has_the_samples_of_its_minute_and_what_the_header_says(files, tmp_path):
    builder = prepared(tmp_path, files)
    records, found = everything(builder), splits_of_people(builder)
    assert set(found) == set(inertial.ELDERS) and len(records) == 10
    record = records["FL001/0001"]
    expected = movement((30, 10), seed=3)[6000:] + np.array([50] * 3 + [0] * 3)
    expected = expected / np.array([16384.0] * 3 + [60.0] * 3)
    np.testing.assert_array_equal(record["sequence"], expected.astype(np.float32))
    assert (record["subject"], record["sex"], record["age"]) == (b"FL001", b"female", 75)
    assert (record["start_sample"], record["session"], record["day"]) == (6000, 0, 0)
    assert builder.info.features["group"].int2str(record["group"]) == "faller"
    assert builder.info.metadata["channels"] == list(CHANNELS)


@pytest.mark.slow
def test_active30_keeps_thirty_minutes_and_minutes_all_of_them(tmp_path):
    levels = [*range(1, 36)]
    files = FILES | record_files("CO001", levels)
    wanted = {f"CO001/{at:04d}" for at in range(5, 35)}
    for name, count in (("active30", 30), ("active30_raw", 30), ("minutes", 35)):
        records = everything(prepared(tmp_path / name, files, f"ltmm_gait/{name}"))
        keys = {key for key in records if "CO001" in key}
        assert len(keys) == count and wanted <= keys


@pytest.mark.slow
def test_only_the_unit_decides_between_the_two_rankings(tmp_path):
    digital = movement((2,) * 31)
    digital[:6000] = 0
    digital[:6000, :3] = movement((99,))[:, :3]  # large in g, but smaller than values in deg/s
    files = FILES | {
        "ltmm/CO001.hea": record_header(samples=len(digital)), "ltmm/CO001.dat": digital.tobytes()
    }  # fmt: skip
    first = "CO001/0000"
    assert first in everything(prepared(tmp_path / "z", files))
    assert first not in everything(prepared(tmp_path / "raw", files, "ltmm_gait/active30_raw"))


@pytest.mark.slow
def test_missing_samples_are_left_out_of_active30_and_nan_in_minutes(tmp_path):
    digital = movement((9, 8))
    digital[7, 3] = wfdb16.MISSING
    files = FILES | {"ltmm/CO001.dat": digital.tobytes()}
    records = everything(prepared(tmp_path, files))
    assert [key for key in records if "CO001" in key] == ["CO001/0001"]
    record = everything(prepared(tmp_path, files, "ltmm_gait/minutes"))["CO001/0000"]
    assert np.argwhere(np.isnan(record["sequence"])).tolist() == [[7, 3]]


@pytest.mark.slow
def test_a_person_has_the_same_split_at_home_and_in_the_lab(tmp_path, caplog):
    people = [f"{group}{n:03d}" for group in ("CO", "FL") for n in range(1, 11)]
    walks = {
        name: content
        for name, content in ltmm_files([*people, "FL030"], levels=(1,)).items()
        if "FL030." not in name
    }
    home = prepared(tmp_path, walks, "ltmm_gait/minutes")
    lab = prepared(tmp_path, walks, "ltmm_gait/lab")
    found = splits_of_people(lab)
    assert found == splits_of_people(home) | {"FL030": "test"}
    subjects = home.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 8, "validation": 2, "test": 11
    }  # fmt: skip
    assert "20 of 71 recordings of three days" in caplog.text
    record = everything(lab)["CO001"]
    assert record["sequence"].shape == (200, 6)
    assert (record["session"], record["day"], record["start_sample"]) == (-1, -1, 0)


def test_notes_that_say_nothing_give_nan_and_an_empty_text(tmp_path):
    files = FILES | {"ltmm/CO001.hea": record_header(samples=12_000, notes=("#Age:N/A",))}
    record = everything(prepared(tmp_path, files))["CO001/0000"]
    assert np.isnan(record["age"]) and record["sex"] == b""


def test_signals_in_another_order_are_put_in_order(tmp_path):
    turned = dict(reversed(CHANNELS.items()))
    files = FILES | {"ltmm/CO001.hea": record_header(samples=12_000, signals=turned)}
    record = everything(prepared(tmp_path, files))["CO001/0000"]
    value = (movement((30,))[0, 5] + 50) / 16384
    np.testing.assert_allclose(record["sequence"][0, 0], value, rtol=1e-6)


def test_a_file_that_is_cut_is_told_before_any_other_is_read(tmp_path, monkeypatch):
    def read(*_, **__):
        raise AssertionError("samples are read")

    monkeypatch.setattr(wfdb16, "samples", read)
    with pytest.raises(FormatError, match="FL001.dat: the file has 9 bytes, expected 144,000"):
        prepared(tmp_path, {**FILES, "ltmm/FL001.dat": b"123456789"})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"ltmm/RECORDS": b""}, "holds no recording such as CO001.hea. It holds RECORDS"),
        (record_files("CO001") | {"ltmm/old/CO001.hea": b""}, "the same recording twice"),
        ({**FILES, "ltmm/CO001.dat": b"1"}, "CO001.dat: the file has 1 bytes, expected 144,000"),
        (
            {name: FILES[name] for name in FILES if name != "ltmm/FL001.dat"},
            "FL001.hea: the header has no samples, expected the samples in FL001.dat. Get",
        ),
        (
            FILES | {"ltmm/CO001.hea": record_header(samples=12_000).replace(b"/deg/s", b"/rad/s")},
            "CO001.hea: the recording has yaw-velocity in rad/s, pitch.* at 100 Hz, expected v-acc",
        ),
        (
            FILES | {"ltmm/CO001.hea": record_header(samples=12_000).replace(b" 100 ", b" 50 ")},
            "CO001.hea: the recording has 6 signals at 50 Hz, expected v-acceleration in g",
        ),
        (
            FILES | {"ltmm/FL001.dat": FILES["ltmm/CO001.dat"]},
            r"\((CO001|FL001)\) and .*\((FL001|CO001)\) have the same content",
        ),
        (ltmm_files(("CO001", "FL001")), r"2 subject\(s\) cannot be divided"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, files)
    assert isinstance(error.value, ArchiveError | FormatError) or "subject" in message
    assert not list((tmp_path / "data").rglob("*.array_record*"))
