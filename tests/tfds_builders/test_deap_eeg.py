"""Tests of `deap_eeg`: its parser, filters, classes, covariances, splits and errors."""

import io
import pickle

import numpy as np
import pytest
import scipy.signal

from tests.tfds_builders import eeg, samples
from tests.tfds_builders.eeg import deap_file, deap_files, python2_pickle, ratings, trials
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything, splits_of_people
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.deap_eeg.grouping import by_rounding, equal_parts
from tfds_builders.deap_eeg.signals import band_pass, moving_standardization
from tfds_builders.parsers import deap

pytestmark = pytest.mark.usefixtures("quiet")
FILES = deap_files()
ZIP = "data_preprocessed_python.zip"


def parse(data):
    return deap.parse(io.BytesIO(data), name="s01.dat")


def prepared(folder, files, name="deap_eeg"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def changed(**arrays):
    return python2_pickle({"labels": ratings(), "data": trials()} | arrays)


@pytest.mark.parametrize("protocol", [2, 4, "Python 2"])
def test_a_person_has_the_arrays_of_the_pickle(protocol):
    arrays = {"data": trials(seed=3), "labels": ratings(seed=3)}
    data = python2_pickle(arrays) if protocol == "Python 2" else pickle.dumps(arrays, protocol)
    person = parse(data)
    np.testing.assert_array_equal(person.data, arrays["data"])
    np.testing.assert_array_equal(person.ratings, arrays["labels"])
    assert person.data.dtype == person.ratings.dtype == np.float64


def _with(array, value):
    array[0, 1] = value
    return array


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            changed(more=ratings()),
            "the pickle has another content, expected a dict with the keys `data` and `labels`",
        ),
        (pickle.dumps([1]), "another content"),
        (
            pickle.dumps({"data": 1, "labels": 2}),
            "data: the value has the type int, expected a NumPy array",
        ),
        (
            changed(data=trials()[:, :39]),
            r"shape \(2, 39, 448\) .*, expected the shapes \(trials, 40",
        ),
        (changed(data=trials(samples=384)), r"shape \(2, 40, 384\)"),
        (changed(data=trials(count=0)), r"shape \(0, 40, 448\)"),
        (changed(labels=ratings(count=3)), r"`labels` the shape \(3, 4\)"),
        (
            changed(labels=_with(ratings(), 9.5)),
            "labels: the ratings are from 1 to 9.5, expected ratings from 1 to 9",
        ),
        (changed(labels=_with(ratings(), np.nan)), "labels: the array contains NaN or an infinity"),
        (changed(data=_with(trials(), np.inf)), "data: the array contains NaN or an infinity"),
        (deap_file()[:-100], "byte .*expected .* bytes in a string4, but only"),
        (b"cos\nsystem\n(U\x02lstR.", "byte 0: the pickle contains the object 'os system'"),
    ],
)
def test_a_damaged_person_is_refused_by_place(data, message):
    with pytest.raises(FormatError, match=message):
        parse(data)


def _person_holds(person):
    count, channels, length = person.data.shape
    assert count and channels == 40 and length > deap.BASELINE
    assert np.isfinite(person.data).all() and person.ratings.shape == (count, 4)
    assert 1 <= person.ratings.min() <= person.ratings.max() <= 9


@pytest.mark.slow
def test_a_thousand_mutations_end_in_a_sound_person_or_a_format_error():
    check_parser(parse, python2_pickle(eeg.SMALL), _person_holds)


def test_the_band_pass_halves_the_power_at_its_edges_and_looks_back_only():
    time = np.arange(20 * 128) / 128
    gains = {}
    for hz in (1, 4, 14, 47, 60):
        wave = np.sin(2 * np.pi * hz * time)[:, None]
        gains[hz] = band_pass(wave, 128)[1280:].std() / wave[1280:].std()
    assert gains[4] == pytest.approx(np.sqrt(0.5), rel=1e-3)
    assert gains[47] == pytest.approx(np.sqrt(0.5), rel=1e-3)
    assert gains[14] == pytest.approx(1, rel=1e-2) and max(gains[1], gains[60]) < 0.1
    signal = np.random.default_rng(0).normal(size=(500, 3))
    later = signal.copy()
    later[300:] = 9
    np.testing.assert_array_equal(band_pass(signal, 128)[:300], band_pass(later, 128)[:300])


def test_the_band_pass_is_that_of_the_coefficients_and_leaves_nothing_of_an_offset(rng):
    signal = rng.normal(size=(400, 2))
    signal[0] = 0
    b, a = scipy.signal.butter(3, (4, 47), "bandpass", fs=128)
    np.testing.assert_allclose(
        band_pass(signal, 128), scipy.signal.lfilter(b, a, signal, axis=0), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(band_pass(np.full((50, 2), 7.0), 128), 0, rtol=0, atol=1e-9)


def test_the_moving_standardization_is_its_recursion(rng):
    signal = rng.normal(size=(300, 3)) * (1, 5, 100) + (0, 3, -40)
    mean, variance = signal[:50].mean(axis=0), signal[:50].var(axis=0)
    expected = []
    for sample in signal:
        mean = 0.1 * sample + 0.9 * mean
        variance = 0.1 * (sample - mean) ** 2 + 0.9 * variance
        expected.append((sample - mean) / np.sqrt(variance))
    found = moving_standardization(signal, 50, update=0.1)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_array_equal(moving_standardization(np.full((9, 2), 3.0), 4), 0)


@pytest.mark.parametrize("classes", [2, 3, 4, 9])
def test_every_rating_has_a_class_and_a_higher_one_no_lower_class(classes):
    grid = np.linspace(1, 9, 1601)
    for group in (equal_parts, by_rounding):
        found = group(grid, classes)
        assert found.min() == 0 and found.max() == classes - 1
        assert set(np.diff(found)) <= {0, 1}
    width = 8 / classes
    for part in range(classes):
        inside = (grid > 1 + part * width + 1e-9) & (grid <= 1 + (part + 1) * width - 1e-9)
        assert (equal_parts(grid, classes)[inside] == part).all()


def test_three_classes_by_rounding_are_those_of_the_paper():
    assert by_rounding(np.arange(1, 10), 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [{ZIP: samples.zipped(FILES)}, deap_files(folder="deap_eeg/"), {"s.txt": b""} | FILES],
    ids=["zip", "files", "folder"],
)
def test_a_record_has_the_signals_of_its_trial(files, tmp_path):
    builder = prepared(tmp_path, files)
    records, found = everything(builder), splits_of_people(builder)
    assert len(records) == 10 and set(found) == set(eeg.VOLUNTEERS)
    record, expected = records["s03/02"], trials(seed=2)[1].T.astype(np.float32)
    np.testing.assert_array_equal(record["baseline"], expected[:384, :32])
    np.testing.assert_array_equal(record["sequence"], expected[384:, :32])
    np.testing.assert_array_equal(record["peripheral"], expected[384:, 32:])
    np.testing.assert_array_equal(record["ratings"], ratings(seed=2)[1].astype(np.float32))
    assert (record["subject"], record["video"], record["session"]) == (b"s03", 2, 0)
    metadata = builder.info.metadata
    assert len(metadata["channels"]) == 32 and metadata["peripheral"][0] == "hEOG"


def test_a_matrix_is_the_covariance_of_the_standardized_trial_to_the_bit(tmp_path):
    records = everything(prepared(tmp_path, FILES, "deap_eeg/cov32"))
    signal = moving_standardization(band_pass(trials(seed=2)[1, :32].T, 128), 384)[384:]
    expected = np.cov(signal.T)
    expected += 1e-6 * np.trace(expected) / 32 * np.eye(32)
    matrix = records["s03/02"]["matrix"]
    assert matrix.dtype == np.float64
    np.testing.assert_allclose(matrix, expected, rtol=1e-9, atol=1e-12)
    assert np.any(matrix != matrix.astype(np.float32))  # float32 could not store it
    assert min(np.linalg.eigvalsh(record["matrix"]).min() for record in records.values()) > 0


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 4, 9])
def test_a_label_is_the_class_of_the_valence(classes, tmp_path):
    builder = prepared(tmp_path, FILES, f"deap_eeg/cov32_valence{classes}")
    assert builder.info.features["label"].num_classes == classes
    for record in everything(builder).values():
        assert record["label"] == equal_parts(record["ratings"][0], classes)
        assert record["matrix"].shape == (32, 32)


def test_nobody_is_in_two_splits_and_all_configs_have_the_same(tmp_path, caplog):
    people = [f"s{number:02d}" for number in range(1, 17)]
    files = {
        f"{person}.dat": python2_pickle(
            {"labels": ratings(count=1), "data": trials(seed=at, count=1, samples=400)}
        )
        for at, person in enumerate(people)
    }
    manual = samples.write(tmp_path / "manual", files)
    builders = [
        reading.prepared(f"deap_eeg/{config}", manual, tmp_path / "data")
        for config in ("raw", "cov32_valence3")
    ]
    subjects = builders[0].info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 10, "validation": 2, "test": 4
    }  # fmt: skip
    found = {person: split for split, ids in subjects.items() for person in ids}
    assert found == splits_of_people(builders[0]) == splits_of_people(builders[1])
    assert "holds 16 of 32 people" in caplog.text
    assert "has the shape (1, 40, 400) instead of (40, 40, 8064)" in caplog.text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({ZIP: b"<html>"}, "neither a zip nor a tar"),
        (
            {"data_preprocessed_python/s01.bdf": b""},
            "none of the files s01.dat to s32.dat. It holds s01",
        ),
        (FILES | {"data_preprocessed_python/old/s01.dat": b""}, "the same recording twice"),
        (
            FILES | {"data_preprocessed_python/s04.dat": deap_file(seed=0)},
            r"(s01|s04)/01 .* and (s01|s04)/01 .* have the same content",
        ),
        (
            FILES | {"data_preprocessed_python/s04.dat": b"\x80\x02]."},
            "s04.dat: the pickle has another content",
        ),
        (
            FILES | {"data_preprocessed_python/s04.dat": changed(data=0 * trials())},
            "s04.dat, trial 1: all channels are constant over 64 steps",
        ),
        (deap_files(("s01", "s02")), r"2 subject\(s\) cannot be divided"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises(ValueError, match=message) as error:
        prepared(tmp_path, files, "deap_eeg/cov32")
    assert isinstance(error.value, ArchiveError | FormatError) or "subject" in message
    assert not list((tmp_path / "data").rglob("*.array_record*"))
