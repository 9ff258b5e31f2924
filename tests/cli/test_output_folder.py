"""Tests that the output folder of a command is created, and is removed if it stays empty."""

import pytest

from keras_dml.cli import _output_folder


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_new_empty_folders_are_removed_after_an_error(tmp_path, error):
    with pytest.raises(error), _output_folder.create(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "runs").mkdir()
        raise error
    assert list(tmp_path.iterdir()) == []


def test_written_files_stay_after_an_error(tmp_path):
    with pytest.raises(ValueError), _output_folder.create(tmp_path / "a"):
        (tmp_path / "a" / "empty").mkdir()
        (tmp_path / "a" / "figures.json").write_text("{}")
        raise ValueError
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "figures.json"]


def test_an_existing_folder_is_not_changed(tmp_path):
    (tmp_path / "a" / "empty").mkdir(parents=True)
    with pytest.raises(ValueError), _output_folder.create(tmp_path / "a"):
        raise ValueError
    assert (tmp_path / "a" / "empty").is_dir()


def test_the_folder_exists_during_and_after_the_work(tmp_path):
    with _output_folder.create(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    assert (tmp_path / "a" / "b").is_dir()


def test_an_existing_file_is_refused_and_not_changed(tmp_path):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "a"):
        with pytest.raises(OSError, match="The folder '.*file.*Name another folder with --out"):
            with _output_folder.create(path):
                pytest.fail("the work began")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["scores.png", "figures.json", "vowels_qp_wl.tflite"])
def test_a_folder_with_the_name_of_a_result_is_refused_first(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"{name}' is a folder"), _output_folder.create(tmp_path):
        raise AssertionError("the work began")
    assert (tmp_path / name).is_dir()
