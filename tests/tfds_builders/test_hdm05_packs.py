"""Tests that `hdm05_mocap` reads two packs of matrices and refuses wrong or damaged packs."""

import io

import numpy as np
import pytest
import scipy.io

from tests.tfds_builders import samples
from tests.tfds_builders.records import everything
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError, MissingArchiveError

pytestmark = pytest.mark.usefixtures("quiet")


def spd(seed):
    """Returns a random positive definite matrix of shape (93, 93)."""
    signal = np.random.default_rng(seed).normal(size=(120, 93))
    return signal.T @ signal / 120


def mat(matrix, name="Y1"):
    out = io.BytesIO()
    scipy.io.savemat(out, {name: matrix})
    return out.getvalue()


def npy(matrix):
    out = io.BytesIO()
    np.save(out, matrix)
    return out.getvalue()


ETH = {
    f"HDM05_SPDData/feature/{motion}/{number}.mat": mat(spd(10 * at + number))
    for at, motion in enumerate(("cartwheelLHandStart1Reps", "squat1Reps"))
    for number in (1, 2)
} | {"HDM05_SPDData/index.mat": b"not read"}
BROOKS = {
    f"hdm05/{number}_50_{label}.npy": npy(spd(number).astype(complex))
    for number, label in ((1, 0), (2, 7), (3, 116))
}


def prepared(folder, config, files):
    manual = samples.write(folder / "manual", files)
    return reading.prepared(f"hdm05_mocap/{config}", manual, folder / "data")


def test_the_matrices_of_spdnet_have_the_motion_of_their_folder(tmp_path):
    builder = prepared(tmp_path, "spd_eth", {"HDM05_SPDData.zip": samples.zipped(ETH)})
    records = everything(builder)
    record = records["squat1Reps/2"]
    np.testing.assert_allclose(record["matrix"], spd(12), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(record["matrix"], record["matrix"].T)
    assert record["motion"] == b"squat1Reps" and len(records) == 4
    assert (record["subject"], record["session"], record["device"]) == (b"", -1, b"Vicon")
    assert builder.info.metadata["motions"] == ["cartwheelLHandStart1Reps", "squat1Reps"]


@pytest.mark.slow
def test_the_matrices_of_torchspdnet_are_the_real_parts_with_the_label_of_their_name(
    tmp_path, caplog
):
    builder = prepared(tmp_path, "spd_brooks117", {"hdm05.tgz": samples.tar(BROOKS, "w:gz")})
    records = everything(builder)
    np.testing.assert_allclose(records["3_50_116"]["matrix"], spd(3), rtol=0, atol=1e-15)
    assert records["3_50_116"]["matrix"].dtype == np.float64
    labels = {key: record["motion"].decode() for key, record in records.items()}
    assert labels == {"1_50_0": "0", "2_50_7": "7", "3_50_116": "116"}
    assert list(builder.info.splits) == ["train"]
    assert "hdm05.tgz holds 3 of 2,086 matrices, so it is only a part of the pack." in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "files"),
    [
        ("spd_eth", ETH),
        ("spd_eth", {name.replace("HDM05_SPDData", "hdm05_mocap"): ETH[name] for name in ETH}),
        ("spd_brooks117", BROOKS),
        ("spd_brooks117", {f"hdm05_mocap/{name[6:]}": BROOKS[name] for name in BROOKS}),
    ],
)
def test_a_pack_is_found_unpacked_also_beside_the_motions(config, files, tmp_path):
    motions = samples.mocap_files(folder="hdm05/HDM05_cut_amc/")
    alone = everything(prepared(tmp_path / "alone", config, files))
    assert alone.keys() == everything(prepared(tmp_path / "both", config, files | motions)).keys()
    clips = reading.prepared("hdm05_mocap", tmp_path / "both/manual", tmp_path / "both/data")
    assert len(everything(clips)) == 4


@pytest.mark.parametrize("config", ["spd_eth", "spd_brooks117"])
def test_a_folder_of_motions_is_not_a_pack(config, tmp_path):
    files = {f"hdm05/{name}": content for name, content in samples.mocap_files().items()}
    with pytest.raises(MissingArchiveError, match="hdm05_mocap/sequences"):
        prepared(tmp_path, config, files)


def test_matrices_that_are_not_definite_are_kept_and_told(tmp_path, caplog):
    rank_one = np.ones((93, 93)) - 2 * np.eye(93)
    prepared(tmp_path, "spd_brooks117", BROOKS | {"hdm05/9_50_3.npy": npy(rank_one)})
    assert "1 of 4 matrices in the files are not positive definite" in caplog.text
    assert "The smallest eigenvalue is -2." in caplog.text


@pytest.mark.slow
def test_a_repeat_is_kept_and_named_whatever_its_motion(tmp_path):
    prepared(tmp_path, "spd_brooks117", BROOKS | {"hdm05/4_50_9.npy": npy(spd(1))})
    again = reading.prepared("hdm05_mocap/spd_brooks117", None, tmp_path / "data")
    assert again.info.metadata["same_as"] == {"4_50_9": "1_50_0"}


@pytest.mark.parametrize(
    ("config", "files", "message"),
    [
        ("spd_eth", {"HDM05_SPDData.zip": b"<html>"}, "neither a zip nor a tar"),
        ("spd_eth", {"HDM05_SPDData/a.txt": b""}, "holds no matrix of spd_eth. It holds a.txt"),
        (
            "spd_eth",
            {"feature/a/1.mat": mat(spd(1), "Y")},
            "a/1.mat: the file contains 'Y' but no variable Y1",
        ),
        ("spd_eth", {"feature/a/1.mat": mat(np.eye(92))}, r"the shape \(92, 92\), expected a matr"),
        ("spd_eth", {"feature/a/1.mat": mat(np.eye(93))[:-9]}, "a/1.mat: .*incomplete"),
        ("spd_brooks117", {"hdm05/1_50_117.npy": npy(spd(1))}, "the label 117, expected 0 to 116"),
        (
            "spd_brooks117",
            {"hdm05/1_50_2.npy": npy(spd(1)), "hdm05/b/1_50_2.npy": npy(spd(2))},
            "the same recording twice",
        ),
        (
            "spd_brooks117",
            {"hdm05/1_50_2.npy": npy(spd(1) + 1j)},
            "1_50_2.npy: the matrix is complex, expected real numbers",
        ),
        (
            "spd_brooks117",
            {"hdm05/1_50_2.npy": npy(spd(1) + np.triu(np.ones((93, 93))))},
            "1_50_2.npy: the matrix differs from its transpose by up to 1, expected a symm",
        ),
        ("spd_brooks117", {"hdm05/1_50_2.npy": npy(np.full((93, 93), np.nan))}, "NaN or an inf"),
    ],
)
def test_a_wrong_or_damaged_pack_is_told_and_nothing_is_kept(config, files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, config, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))
