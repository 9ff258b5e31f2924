"""Tests of the command `build`: its help, its table of splits and its error messages."""

import errno
import importlib.util
import json
import os
import pathlib
import re
import shutil

import pytest
import tensorflow_datasets as tfds
from tensorflow_datasets.core import constants, file_adapters
from typer.testing import CliRunner

import tfds_builders
from tests.tfds_builders import samples
from tests.tfds_builders.samples import zipped
from tfds_builders.build import app
from tfds_builders.common.disk import check_writable

pytestmark = pytest.mark.usefixtures("quiet")


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def manual(tmp_path):
    return samples.write(tmp_path / "manual", samples.gait_files())


def test_help_says_what_it_is_for_with_an_example_and_the_names():
    page = " ".join(run("--help").stdout.split())
    for told in ("Prepare data sets", "--manual-dir", "--file-format", "Example: python -m"):
        assert told in page
    names = ", ".join(tfds_builders.list_builders())
    assert names in page


def test_it_prepares_and_prints_counts_and_how_to_read(manual, tmp_path):
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d")
    result = run("ipol_gait", *arguments, "--file-format", "array_record")
    assert result.exit_code == 0
    assert "ipol_gait/trials/2.0.0" in result.stdout
    rows = [line.split("│")[1:4] for line in result.stdout.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["train", "7", "7"], ["validation", "1", "1"], ["test", "2", "2"]
    ]  # fmt: skip
    assert f"tfds.data_source('ipol_gait/trials', data_dir='{tmp_path}/d/array_record')" in (
        result.stdout
    )
    assert len(tfds.data_source("ipol_gait", data_dir=tmp_path / "d/array_record", split="train"))


@pytest.mark.slow
@pytest.mark.parametrize("name", tfds_builders.list_builders())
def test_every_data_set_is_prepared_with_a_table_of_its_splits(name, tmp_path):
    folder = pathlib.Path(tfds_builders.__file__).parent / name / "dummy_data"
    arguments = ("--manual-dir", folder, "--data-dir", tmp_path)
    wanted = {"uci_eeg": "uci_eeg/large"}.get(name, name)  # config of its dummy_data
    result = run(wanted, *arguments, "--file-format", "array_record", "--debug")
    assert result.exit_code == 0, result.output
    rows = [line.split("│")[2:4] for line in result.stdout.splitlines() if line.startswith("│")]
    assert rows and all(int(cell) > 0 for row in rows for cell in row)
    assert f"tfds.data_source('{name}/" in result.stdout


@pytest.mark.slow
def test_both_formats_live_side_by_side_and_tfrecord_loads(manual, tmp_path):
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d")
    for file_format, call in (("array_record", "data_source"), ("tfrecord", "load")):
        result = run("ipol_gait/left_foot", *arguments, "--file-format", file_format)
        assert result.exit_code == 0 and f"tfds.{call}('ipol_gait/left_foot'" in result.stdout
    data = tfds.load("ipol_gait/left_foot", data_dir=tmp_path / "d", split="train")
    assert sorted(int(record["subject"]) for record in tfds.as_numpy(data)) == [
        2, 3, 4, 7, 8, 9, 10
    ]  # fmt: skip


@pytest.mark.slow
def test_tfds_load_prepares_by_itself_from_tfds_own_manual_folder(tmp_path):
    samples.write(tmp_path / "downloads" / "manual", samples.gait_files())
    data = tfds.load("ipol_gait/left_foot", data_dir=tmp_path, split="train")
    assert len(list(tfds.as_numpy(data))) == 7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ipol_gait", "ipol_gait/left_foot"])
def test_the_command_that_tfds_load_names_makes_it_work(name, manual, tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "DATA_DIR", str(tmp_path / "home"))
    with pytest.raises(AssertionError, match="run `python -m tfds_builders.build") as refused:
        tfds.load(name)
    command = re.search("`python -m tfds_builders.build (.*?)`", str(refused.value))[1]
    printed = run(*command.replace("FOLDER", str(manual)).split())
    assert printed.exit_code == 0, printed.output
    assert len(tfds.load(name, split="train")) == 7
    call = printed.stdout.strip().rpartition("tfds_builders; ")[2]
    assert len(eval(call)["train"]) == 7 and "data_dir" not in call


def test_without_tensorflow_the_files_are_those_of_data_sources(manual, tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "tensorflow" else found(name)
    )
    result = run("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d")
    assert result.exit_code == 0 and "tfds.data_source(" in result.stdout
    assert (tmp_path / "d" / "array_record" / "ipol_gait").is_dir()


@pytest.mark.slow
def test_several_data_sets_are_prepared_though_one_of_them_fails(manual, tmp_path):
    vowels = pathlib.Path(tfds_builders.__file__).parent / "japanese_vowels_lpc/dummy_data"
    shutil.copytree(vowels, manual / "japanese_vowels_lpc")
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d", "--json")
    result = run("hyke_voice", "ipol_gait", "japanese_vowels_lpc", "ipol_gait", *arguments)
    assert result.exit_code == 1 and "hyke_voice: no archive in" in result.stderr
    prepared = [json.loads(line)["name"] for line in result.stdout.splitlines()]
    assert prepared == ["ipol_gait/trials/2.0.0", "japanese_vowels_lpc/uci/1.1.0"]


def test_an_error_names_the_data_set_once(tmp_path):
    broken = {"GaitData/1-1.csv": b"x", "GaitData/1-1.json": b"", "dataset/ID01_F_1_x.txt": b""}
    manual = samples.write(tmp_path / "manual", broken | samples.smni_files(["co2a0000364"], [0]))
    result = run("--all", "--manual-dir", manual, "--data-dir", tmp_path / "d")
    told = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert result.exit_code == 1 and len(told) == 3
    assert told[0].startswith("Error: gaitauth_walks: dataset holds no ID<nn>")
    assert told[1].startswith("Error: ipol_gait: 1 subject(s) cannot be divided")
    assert told[2].startswith("Error: uci_eeg: SMNI_CMI_TRAIN holds no person with at least 6")
    result = run("ipol_gait", "--manual-dir", tmp_path / "none", "--data-dir", tmp_path / "d")
    assert result.stderr.startswith("Error: ipol_gait: the folder")


@pytest.mark.slow
def test_all_are_those_with_an_archive_and_the_others_are_named(manual, tmp_path):
    eeg = pathlib.Path(tfds_builders.__file__).parent / "uci_eeg/dummy_data"
    shutil.copytree(eeg, manual / "uci_eeg")
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d", "--json")
    result = run("--all", *arguments)
    assert result.exit_code == 0
    prepared = [json.loads(line)["name"] for line in result.stdout.splitlines()]
    assert prepared == ["ipol_gait/trials/2.0.0", "uci_eeg/large/1.1.0"]
    assert "Found no archive of" in result.stderr and "hyke_voice" in result.stderr
    assert run("--all", "--manual-dir", tmp_path / "d").exit_code == 1  # no data set was prepared
    result = run("--all", "--manual-dir", tmp_path / "missing")
    assert result.exit_code == 1 and f"{tmp_path}/missing does not exist" in result.stderr


@pytest.mark.parametrize("words", [(), ("ipol_gait", "--all")])
def test_either_names_or_all_are_asked_for(words, tmp_path):
    result = run(*words, "--manual-dir", tmp_path)
    assert result.exit_code == 2 and "or give --all" in result.output


def test_programs_get_the_printed_figures(manual, tmp_path):
    result = run("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d", "--json")
    report = json.loads(result.stdout)
    assert report["name"] == "ipol_gait/trials/2.0.0"
    assert report["examples"] == {"train": 7, "validation": 1, "test": 2}
    assert len(eval(report["read_with"])["test"]) == 2


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
    assert not (tmp_path / "d").exists()


def test_a_refused_command_leaves_a_folder_that_was_there_as_it_was(tmp_path):
    (tmp_path / "d").mkdir()
    files = samples.gait_files() | {"GaitData/3-1.csv": b"x"}
    manual = samples.write(tmp_path / "manual", files)
    assert run("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d").exit_code == 1
    assert list((tmp_path / "d").iterdir()) == []


def test_an_archive_as_manual_dir_is_told_with_its_folder(tmp_path):
    archive = samples.write(tmp_path, {"GaitData.zip": zipped(samples.gait_files())})
    result = run("ipol_gait", "--manual-dir", archive / "GaitData.zip", "--data-dir", tmp_path)
    assert result.exit_code == 1 and f"Give its folder: --manual-dir {tmp_path}" in result.stderr


def test_a_stop_by_the_keyboard_exits_130_with_a_sentence(manual, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tfds_builders.parsers.gait.parse", stopped)
    result = run("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d")
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "Stopped. The unfinished files were removed. Run the same command again.\n"
    )
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("error", [RuntimeError, OSError], ids=["array_record's", "the system's"])
def test_a_full_disk_is_told_and_nothing_is_kept(error, manual, tmp_path, monkeypatch):
    def full(*_):
        raise error("write() failed: No space left on device; at byte 2093056")

    adapter = file_adapters.ADAPTER_FOR_FORMAT[file_adapters.FileFormat.ARRAY_RECORD]
    monkeypatch.setattr(adapter, "write_examples", full)
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d")
    result = run("ipol_gait", *arguments, "--file-format", "array_record")
    assert result.exit_code == 1 and "Traceback" not in result.stderr
    message = result.stderr.splitlines()[-1]
    assert message.startswith("Error: ipol_gait: The disk is full:") and " MB in " in message
    assert "unpacked archive has 0 MB" in message and "give another --data-dir" in message
    assert not (tmp_path / "d").exists()


def test_a_full_disk_of_temporary_files_is_told(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    manual = samples.write(tmp_path, {"GaitData.tar.xz": samples.tar(samples.gait_files())})
    monkeypatch.setattr("tfds_builders.common.archive.spooled", full)
    result = run("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d")
    assert result.exit_code == 1 and "Error: ipol_gait: The disk is full" in result.stderr


def test_a_folder_that_another_run_clears_meanwhile_is_in_nobody_s_way(tmp_path, monkeypatch):
    exists, seen = os.path.lexists, [True]
    monkeypatch.setattr(os.path, "lexists", lambda path: bool(seen and seen.pop()) or exists(path))
    check_writable(tmp_path / "set")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["d", "d/array_record/ipol_gait", "d/parquet/ipol_gait"])
@pytest.mark.parametrize("kind", ["a file", "a link to a file that does not exist"])
def test_a_file_in_the_place_of_a_folder_is_named(kind, place, manual, tmp_path):
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    if kind == "a file":
        (tmp_path / place).touch()
    else:
        (tmp_path / place).symlink_to(tmp_path / "unmounted")
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d", "--to", "parquet")
    result = run("ipol_gait", *arguments)
    assert result.exit_code == 1
    assert (
        f"Error: ipol_gait: {tmp_path / place} is {kind}, so the folder {tmp_path}/d/"
        in result.stderr
    )
    assert "away, or give another --data-dir." in result.stderr
    assert "[Errno" not in result.stderr and not (tmp_path / "unmounted").exists()


@pytest.mark.parametrize("place", ["d", "d/parquet"])
def test_a_folder_that_may_not_be_written_is_named(place, manual, tmp_path, monkeypatch):
    (tmp_path / place).mkdir(parents=True)

    def access(path, mode, real=os.access):  # root may write to every folder
        return not (mode & os.W_OK and path == tmp_path / place) and real(path, mode)

    monkeypatch.setattr("os.access", access)
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d", "--to", "parquet")
    result = run("ipol_gait", *arguments)
    assert result.exit_code == 1 and "[Errno" not in result.stderr
    assert (
        f"Error: ipol_gait: {tmp_path / place} is not writable, so {tmp_path}/d/" in result.stderr
    )
    assert list((tmp_path / place).iterdir()) == []


def test_a_terminal_without_unicode_gets_readable_text(manual, tmp_path):
    arguments = ["ipol_gait", "--manual-dir", str(manual), "--data-dir", str(tmp_path / "dä")]
    result = CliRunner(charset="ascii").invoke(app, arguments)
    assert result.exit_code == 0 and result.stdout_bytes.isascii()
    assert "| train      |        7 |        7 |" in result.stdout
    assert f"data_dir='{tmp_path}/d\\xe4'" in result.stdout


def test_a_folder_whose_name_is_no_text_is_refused(manual, tmp_path):
    result = run("ipol_gait", "--manual-dir", manual, "--data-dir", tmp_path / "d\udce4")
    assert result.exit_code == 1 and "has a name that this terminal" in result.stderr


def test_debug_shows_where_it_arose(tmp_path):
    result = run(
        "ipol_gait", "--manual-dir", tmp_path / "absent", "--data-dir", tmp_path, "--debug"
    )
    assert result.exit_code == 1 and "absent does not exist" in str(result.exception)
