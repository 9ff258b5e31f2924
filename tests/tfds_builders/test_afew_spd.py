"""Tests that `afew_spd` reads matrices, splits and labels and refuses invalid files."""

import io

import numpy as np
import pytest

from tests.tfds_builders import samples
from tests.tfds_builders.faces import face_file, face_files, face_matrix
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything
from tfds_builders import reading
from tfds_builders.afew_spd.afew_spd_dataset_builder import parse
from tfds_builders.common.errors import ArchiveError, FormatError

pytestmark = pytest.mark.usefixtures("quiet")
FILES = face_files()
ROOT = "spdface_400_inter_histeq/"
FIRST, LAST = f"{ROOT}train/1/10_1.mat", f"{ROOT}val/7/95_1.mat"
INDEX = {"spddb_afew_train_spd400_int_histeq.mat": b"not looked at"}


def prepared(folder, files):
    return reading.prepared("afew_spd", samples.write(folder / "manual", files), folder / "data")


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        {"AFEW_SPD_data.zip": samples.zipped(FILES | INDEX)},
        {f"afew_spd/{n}": FILES[n] for n in FILES},
    ],
    ids=["zip", "folder"],
)
def test_a_record_has_the_very_matrix_of_its_file_and_the_label_of_its_folder(files, tmp_path):
    builder = prepared(tmp_path, files)
    records = everything(builder)
    assert len(records) == 11
    record = records["train/3/30_1"]
    assert record["matrix"].dtype == np.float64
    np.testing.assert_array_equal(record["matrix"], face_matrix(3))
    assert builder.info.features["label"].int2str(record["label"]) == "3"
    assert (record["clip"], record["video"]) == (b"30_1", b"30")
    assert record["smallest_eigenvalue"] == pytest.approx(3.75)
    assert builder.info.supervised_keys == ("matrix", "label")


def test_splits_are_the_folders_and_share_no_video(tmp_path, caplog):
    builder = prepared(tmp_path, FILES)
    found = {
        split: {record["video"].decode() for record in source}
        for split, source in builder.as_data_source().items()
    }
    assert found == {"train": {f"{10 * n}" for n in range(1, 8)}, "validation": {"80", "90", "95"}}
    assert builder.info.metadata["videos"] == {split: sorted(ids) for split, ids in found.items()}
    assert "holds 11 of 2,118 matrices, so it is only a part of AFEW" in caplog.text
    assert "in both splits" not in caplog.text


def test_a_video_in_both_splits_is_told(tmp_path, caplog):
    prepared(tmp_path, FILES | {f"{ROOT}val/1/10_3.mat": face_file(face_matrix(50))})
    assert "1 names of videos occur in both splits (first: 10)" in caplog.text


@pytest.mark.slow
def test_rounding_is_taken_away_and_a_singular_matrix_is_kept_and_told(tmp_path, caplog):
    matrix = face_matrix(1) - 2 * np.eye(400)
    matrix[0, 1] *= 1 + 1e-7
    record = everything(prepared(tmp_path, FILES | {LAST: face_file(matrix)}))["validation/7/95_1"]
    np.testing.assert_array_equal(record["matrix"], record["matrix"].T)
    np.testing.assert_allclose(record["matrix"], matrix, rtol=1e-7)
    assert record["smallest_eigenvalue"] == pytest.approx(-0.25, rel=1e-4)
    assert "validation: 1 matrices are not positive definite" in caplog.text


def test_a_repeat_within_a_label_is_kept_and_told(tmp_path, caplog):
    builder = prepared(tmp_path, FILES | {f"{ROOT}train/1/10_2.mat": FILES[FIRST]})
    assert builder.info.metadata["same_as"] == {"train/1/10_2": "train/1/10_1"}
    assert "matrices: 1 (kept)" in caplog.text


SKEW = face_matrix()
SKEW[0, 1] = 0.5


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        (
            {f"{ROOT}readme.txt": b""},
            "no files train/<1-7>/<clip>.mat and no files val/.* It holds readme",
        ),
        ({n: FILES[n] for n in FILES if "val/" not in n}, "holds no files val/<1-7>"),
        (FILES | {f"{ROOT}train/8/1_1.mat": b""}, "train/8/1_1.mat' is not in a folder 1 to 7"),
        (FILES | {f"{ROOT}again/train/1/10_1.mat": b""}, "the same clip twice"),
        (FILES | {LAST: FILES[FIRST]}, r"\(train, 1\) and .* \(validation, 7\) have the same"),
        (
            FILES | {FIRST: face_file(SKEW)},
            "10_1.mat: the matrix differs from its transpose by up to 0.25, expected",
        ),
        (
            FILES | {FIRST: face_file(np.eye(93))},
            r"Y1: the value has the shape \(93, 93\), expected .* 400 col",
        ),
        (
            FILES | {FIRST: face_file(np.eye(400)[:93])},
            r"\(93, 400\), expected a square",
        ),
        (FILES | {FIRST: face_file(SKEW * np.nan)}, "Y1: the value contains NaN or an infinity"),
        (FILES | {FIRST: FILES[FIRST][:-40]}, "10_1.mat: an element of .* bytes"),
        (FILES | {FIRST: b"<html>".ljust(200)}, "expected a MATLAB 5 file"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


def check(matrix):
    assert matrix.shape == (4, 4) and np.isfinite(matrix).all() and (matrix == matrix.T).all()


def test_a_mutated_file_gives_a_symmetric_matrix_or_a_format_error():
    check_parser(
        lambda data: parse(io.BytesIO(data), name="a.mat", side=4),
        face_file(face_matrix(side=4)),
        check,
    )
