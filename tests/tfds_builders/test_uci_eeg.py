"""Tests that `uci_eeg` reads its three official archives, with missing parts and oddities."""

import gzip
import io

import numpy as np
import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.samples import zipped
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError, MissingArchiveError
from tfds_builders.parsers import smni

pytestmark = pytest.mark.usefixtures("quiet")
PEOPLE = ("co2a0000364", "co2c0000337")
TRAIN = samples.smni_files(PEOPLE)
ONE = {name: content for name, content in TRAIN.items() if PEOPLE[0] in name}


def prepared(folder, files, name="uci_eeg/large"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def everything(builder):
    """Returns the records by split and id."""
    return {
        split: {record["id"].decode(): record for record in source}
        for split, source in builder.as_data_source().items()
    }


def subject_archive(subject):
    """Returns a person's archive as in `eeg_full.tar`: a tar.gz of gzipped trials."""
    return samples.tar(samples.smni_files([subject], folder="", zipped=True), "w:gz")


@pytest.mark.slow
def test_a_record_has_the_values_of_its_file(tmp_path):
    builder = prepared(tmp_path, {"SMNI_CMI_TRAIN.tar.xz": samples.tar(TRAIN)})
    record = everything(builder)["train"]["co2c0000337/004"]
    assert record["sequence"].shape == (256, 64) and record["sequence"].dtype == np.float32
    np.testing.assert_allclose(record["sequence"][3, :3], [(63 - 500) / 10, 0.1, 0.2], rtol=1e-6)
    assert (record["subject"], record["trial"], record["error"]) == (b"co2c0000337", 4, False)
    assert (record["session"], record["day"], record["device"]) == (-1, -1, b"")
    features = builder.info.features
    assert features["group"].int2str(record["group"]) == "control"
    assert features["condition"].int2str(record["condition"]) == "S2 match"
    assert builder.info.metadata["channels"] == list(smni.CHANNELS)


def test_values_come_back_bit_for_bit(tmp_path):
    record = everything(prepared(tmp_path, TRAIN))["train"]["co2a0000364/000"]
    trial = smni.parse(io.BytesIO(samples.smni_trial(PEOPLE[0])), name="t")
    np.testing.assert_array_equal(record["sequence"], trial.sequence)


@pytest.mark.slow
def test_a_covariance_config_has_a_matrix_for_each_trial(tmp_path):
    trials = everything(prepared(tmp_path, TRAIN))["train"]
    builder = prepared(tmp_path, TRAIN, "uci_eeg/large_spd64")
    for key, record in everything(builder)["train"].items():
        expected = np.cov(trials[key]["sequence"].T, dtype=np.float64)
        expected += 1e-6 * np.trace(expected) / 64 * np.eye(64)
        assert "sequence" not in record and record["matrix"].dtype == np.float64
        np.testing.assert_allclose(record["matrix"], expected, rtol=1e-12, atol=1e-12)
        assert np.linalg.eigvalsh(record["matrix"]).min() > 0  # although 63 electrodes are constant
        assert record["subject"] == trials[key]["subject"]
    assert builder.info.metadata["subjects"] == {"train": sorted(PEOPLE)}


@pytest.mark.slow
def test_without_the_test_archive_its_split_is_left_out_and_named(tmp_path, caplog):
    builder = prepared(tmp_path, TRAIN)
    assert list(builder.info.splits) == ["train"]
    assert builder.info.metadata["subjects"] == {"train": sorted(PEOPLE)}
    assert "SMNI_CMI_TEST.tar.gz does not exist, so the split `test` is left out" in caplog.text
    assert "2 of 20 subjects" in caplog.text


def test_a_part_of_the_test_archive_is_told_too(tmp_path, caplog):
    files = TRAIN | samples.smni_files(PEOPLE[:1], range(20, 26), "SMNI_CMI_TEST/")
    prepared(tmp_path, files)
    assert "SMNI_CMI_TRAIN holds 2 of 20 subjects" in caplog.text
    assert "SMNI_CMI_TEST holds 1 of 20 subjects, so it is only a part of" in caplog.text


@pytest.mark.slow
def test_the_official_archives_of_large_hold_gzipped_trials(tmp_path):
    files = {
        f"SMNI_CMI_{part}.tar.gz": samples.tar(
            samples.smni_files(PEOPLE, trials, f"SMNI_CMI_{part}/", zipped=True), "w:gz"
        )
        for part, trials in (("TRAIN", range(6)), ("TEST", range(6, 12)))
    }
    records = everything(prepared(tmp_path, files))
    assert {split: len(ids) for split, ids in records.items()} == {"train": 12, "test": 12}
    assert "co2a0000364/011" in records["test"]


@pytest.mark.slow
def test_the_archive_of_all_archives_will_do(tmp_path):
    inner = samples.tar(samples.smni_files(PEOPLE, zipped=True), "w:gz")
    builder = prepared(tmp_path, {"eeg+database.zip": zipped({"SMNI_CMI_TRAIN.tar.gz": inner})})
    assert builder.info.splits["train"].num_examples == 12


@pytest.mark.slow
def test_full_reads_three_nested_levels_and_splits_by_subject(tmp_path, caplog):
    people = [f"co2{'ac'[i % 2]}{i:07d}" for i in range(10)]
    files = {f"{person}.tar.gz": subject_archive(person) for person in people}
    trials = samples.smni_files(["co2c1000367"], folder="", zipped=True)
    empty = {name: gzip.compress(b"# co2c1000367.rd\n") for name in list(trials)[:2]}
    files["co2c1000367.tar.gz"] = samples.tar(trials | empty, "w:gz")
    builder = prepared(tmp_path, {"eeg_full.tar": samples.tar(files, "w:")}, "uci_eeg/full")
    subjects = builder.info.metadata["subjects"]
    assert {split: len(ids) for split, ids in subjects.items()} == {
        "train": 4, "validation": 1, "test": 5
    }  # fmt: skip
    assert sorted(sum(subjects.values(), [])) == sorted(people)
    assert builder.info.splits.total_num_examples == 60
    assert "left out people with fewer than 6 non-empty trials: co2c1000367." in caplog.text


def test_full_in_the_archive_of_all_archives_has_nobody_in_two_splits(tmp_path):
    people = [f"co2{'ac'[i % 2]}{i:07d}" for i in range(3)]
    inner = samples.tar({f"{person}.tar.gz": subject_archive(person) for person in people}, "w:")
    files = {"eeg+database.zip": zipped({"eeg_full.tar": inner})}
    records = everything(prepared(tmp_path, files, "uci_eeg/full_spd64"))
    assert {split: len(ids) for split, ids in records.items()} == {
        "train": 6, "validation": 6, "test": 6
    }  # fmt: skip
    held = [{r["subject"] for r in part.values()} for part in records.values()]
    assert len(set.union(*held)) == 3


def small_archives(trials=(range(0, 3), range(3, 6), range(6, 9))):
    """Returns the small data set: three archives per person, one for each condition."""
    return {
        f"smni_eeg_data/{person[3]}_{condition}_{person}.tar.gz": samples.tar(
            samples.smni_files([person], numbers, f"{person[3]}_{condition}_", zipped=True), "w:gz"
        )
        for person in PEOPLE
        for condition, numbers in zip("1mn", trials, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smni_eeg_data", "smni97_eeg_data"])
def test_small_has_three_archives_a_person_in_one_split(name, tmp_path, caplog):
    files = {f"{name}.tar.gz": samples.tar(small_archives(), "w:gz")}
    records = everything(prepared(tmp_path, files, "uci_eeg/small"))["train"]
    assert len(records) == 18
    assert [log.message for log in caplog.records if "unknown checksum" not in log.message] == []
    np.testing.assert_allclose(
        records["co2c0000337/007"]["sequence"][3, :3], [(90 - 500) / 10, 0.1, 0.2], rtol=1e-6
    )


@pytest.mark.slow
def test_small_is_found_unpacked_and_refuses_a_trial_that_is_there_twice(tmp_path):
    assert len(everything(prepared(tmp_path, small_archives(), "uci_eeg/small"))["train"]) == 18
    twice = small_archives((range(0, 3), range(3, 6), range(5, 8)))
    message = "a_m_co2a0000364.tar.gz: .*rd.005.gz and .*a_n_.*rd.005.gz are the same trial"
    with pytest.raises(ArchiveError, match=message):
        prepared(tmp_path / "b", twice, "uci_eeg/small")


@pytest.mark.slow
def test_an_empty_trial_is_left_out_and_named(tmp_path, caplog):
    files = samples.smni_files(PEOPLE, trials=range(7))
    name = f"SMNI_CMI_TRAIN/{PEOPLE[0]}/{PEOPLE[0]}.rd.006"
    builder = prepared(tmp_path, files | {name: b""})
    assert builder.info.splits["train"].num_examples == 13
    assert f"{PEOPLE[0]}.rd.006 has no samples and is left out" in caplog.text


def test_a_repeat_within_a_person_is_kept_and_told(tmp_path, caplog):
    name = f"SMNI_CMI_TRAIN/{PEOPLE[0]}/{PEOPLE[0]}.rd.006"
    first = TRAIN[f"SMNI_CMI_TRAIN/{PEOPLE[0]}/{PEOPLE[0]}.rd.002"]
    builder = prepared(tmp_path, TRAIN | {name: first})
    assert builder.info.splits["train"].num_examples == 13
    again = reading.prepared("uci_eeg/large", None, tmp_path / "data")
    assert again.info.metadata["same_as"] == {"co2a0000364/006": "co2a0000364/002"}
    told = "trials: 1 (kept). The first is co2a0000364/006, which is the same as co2a0000364/002"
    assert told in caplog.text


def test_the_number_of_a_trial_is_that_of_its_file(tmp_path):
    name = f"SMNI_CMI_TRAIN/{PEOPLE[0]}/{PEOPLE[0]}.rd.042"
    files = TRAIN | {name: samples.smni_trial(PEOPLE[0], 41)}
    assert everything(prepared(tmp_path, files))["train"]["co2a0000364/042"]["trial"] == 42


def test_electrodes_in_another_order_are_put_in_order(tmp_path):
    turned = samples.smni_trial(PEOPLE[0], 6, channels=smni.CHANNELS[::-1])
    files = ONE | {f"SMNI_CMI_TRAIN/{PEOPLE[0]}/{PEOPLE[0]}.rd.006": turned}
    record = everything(prepared(tmp_path, files))["train"]["co2a0000364/006"]
    np.testing.assert_allclose(record["sequence"][0, :2], [6.3, 6.2], rtol=1e-6)


def test_the_config_whose_archive_is_there_is_proposed(tmp_path):
    with pytest.raises(MissingArchiveError, match="uci_eeg/large. Prepare uci_eeg/large"):
        prepared(tmp_path, TRAIN, "uci_eeg")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"SMNI_CMI_TRAIN.tar.gz": b"<html>"}, "neither a zip nor a tar"),
        ({"SMNI_CMI_TRAIN.tar.xz": samples.tar(dict([*ONE.items()][:1]))[:5000]}, "is damaged or"),
        (
            {"SMNI_CMI_TRAIN/README": b""},
            "holds no person with at least 6 non-empty trials .* It holds README",
        ),
        (samples.smni_files(PEOPLE, range(5)), "holds no person with at least 6 non-empty trials"),
        (ONE | {f"SMNI_CMI_TRAIN/{PEOPLE[0]}.rd.000": b""}, "the same recording twice"),
        (
            TRAIN
            | {
                f"SMNI_CMI_TRAIN/{PEOPLE[1]}.rd.009": samples.smni_trial(PEOPLE[0]).replace(
                    *(f"# {person}".encode() for person in PEOPLE)
                )
            },
            r"000 \(co2a0000364, train\) and co2c0000337/009 \(co2c0000337, train\) have the same",
        ),
        (
            TRAIN | {name.replace("TRAIN", "TEST"): content for name, content in TRAIN.items()},
            r"000 \(co2a0000364, train\) and .*/000 \(co2a0000364, test\) have the same",
        ),
        (
            ONE | {f"SMNI_CMI_TRAIN/{PEOPLE[0]}.tar.gz": subject_archive(PEOPLE[0])},
            "holds co2a0000364 twice: co2a0000364.tar.gz and co2a0000364/co2a0000364.rd.000",
        ),
        (
            ONE | {f"SMNI_CMI_TRAIN/{PEOPLE[0]}.rd.009": samples.smni_trial(PEOPLE[1])},
            "co2a0000364.rd.009, line 1: the subject is co2c0000337, expected co2a0000364",
        ),
        (
            ONE
            | {
                f"SMNI_CMI_TRAIN/{PEOPLE[0]}.rd.009": samples.smni_trial(PEOPLE[0], channels=("X",))
            },
            "the 1 electrodes differ in .*, expected the 64 electrodes",
        ),
    ],
)
def test_a_missing_wrong_or_damaged_archive_is_told_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


@pytest.mark.slow
def test_the_real_recordings_are_prepared(data_dir):
    builder = reading.prepared("uci_eeg/large", data_dir)
    assert len(builder.info.metadata["subjects"]["train"]) == 17
    records = everything(builder)["train"]
    assert len(records) == 510
    first = records["co2a0000364/000"]
    np.testing.assert_allclose(first["sequence"][:2, 0], [-8.921, -8.433], rtol=1e-6)
    assert np.ptp(records["co2a0000368/000"]["sequence"][:, smni.CHANNELS.index("CZ")]) == 0
    conditions = np.bincount([record["condition"] for record in records.values()])
    assert conditions.tolist() == [170, 170, 170]


@pytest.mark.slow
def test_covariances_of_the_real_recordings_are_definite(data_dir, tmp_path):
    records = everything(reading.prepared("uci_eeg/large_spd64", data_dir, tmp_path))["train"]
    matrices = np.stack([record["matrix"] for record in records.values()])
    assert matrices.shape == (510, 64, 64)
    assert np.linalg.eigvalsh(matrices).min() > 0
