"""The command that prepares a data set: its page, its table, one line for each mistake."""

import pytest
import tensorflow_datasets as tfds
from typer.testing import CliRunner

from tests.tfds_builders import samples
from tests.tfds_builders.samples import zipped
from tfds_builders.build import app

pytestmark = pytest.mark.usefixtures("quiet")


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def manual(tmp_path):
    return samples.write(tmp_path / "manual", samples.gait_files())


def test_help_says_what_it_is_for_with_an_example_and_the_names():
    page = " ".join(run("--help").stdout.split())
    for told in ("Prepare a data set", "--manual-dir", "--file-format", "Example: python -m"):
        assert told in page
    names = "hdm05_mocap, ipol_gait, japanese_vowels_lpc, pacs_images, ravdess_speech, uci_eeg"
    assert names in page


def test_it_prepares_and_prints_counts_and_how_to_read(manual, tmp_path):
    result = run("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d")
    assert result.exit_code == 0
    assert "ipol_gait/trials/1.0.0" in result.stdout
    rows = [line.split("│")[1:4] for line in result.stdout.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["train", "7", "7"], ["validation", "1", "1"], ["test", "2", "2"]
    ]  # fmt: skip
    assert f"tfds.data_source('ipol_gait/trials', data_dir='{tmp_path}/d/array_record')" in (
        result.stdout
    )
    assert len(tfds.data_source("ipol_gait", data_dir=tmp_path / "d/array_record", split="train"))


def test_both_formats_live_side_by_side_and_tfrecord_loads(manual, tmp_path):
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d")
    assert run("ipol_gait/left_foot", *arguments).exit_code == 0
    result = run("ipol_gait/left_foot", *arguments, "--file-format", "tfrecord")
    assert result.exit_code == 0 and "tfds.load('ipol_gait/left_foot'" in result.stdout
    data = tfds.load("ipol_gait/left_foot", data_dir=tmp_path / "d/tfrecord", split="train")
    assert sorted(int(record["subject"]) for record in tfds.as_numpy(data)) == [
        2, 3, 4, 7, 8, 9, 10
    ]  # fmt: skip


def test_tfds_load_prepares_by_itself_from_tfds_own_manual_folder(tmp_path):
    samples.write(tmp_path / "downloads" / "manual", samples.gait_files())
    data = tfds.load("ipol_gait/left_foot", data_dir=tmp_path, split="train")
    assert len(list(tfds.as_numpy(data))) == 7


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ipol_gate", "Did you mean 'ipol_gait'"),
        ("ipol_gait/both", "has no config 'both'. There are: trials, left_foot, right_foot"),
    ],
)
def test_an_unknown_name_is_wrong_use(name, message, tmp_path):
    result = run(name, "--manual-dir", tmp_path)
    assert result.exit_code == 2 and message in result.output


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        ({"GaitData.zip": b"<html>"}, "neither a zip nor a tar"),
        ({"GaitData.zip": zipped({"a.txt": b""})}, "no <subject>-<trial>.csv"),
        (samples.gait_files() | {"GaitData/3-1.csv": b"x"}, "3-1.csv, line 1: 'x'"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(files, message, tmp_path):
    manual = samples.write(tmp_path / "manual", files)
    result = run("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d")
    assert result.exit_code == 1 and result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert message in line and "Traceback" not in result.stderr
    assert not list((tmp_path / "d").rglob("*.array_record*"))


def test_debug_shows_where_it_arose(tmp_path):
    result = run(
        "ipol_gait", "--manual-dir", tmp_path / "absent", "--data-dir", tmp_path, "--debug"
    )
    assert result.exit_code == 1 and "absent does not exist" in str(result.exception)
