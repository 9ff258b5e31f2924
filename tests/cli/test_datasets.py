"""Tests of `keras-dml datasets`."""

import json
import re

import pytest

import tfds_builders
from keras_dml.cli import _console, _extras
from tests.tfds_builders import samples


@pytest.fixture
def folders(tmp_path):
    manual = samples.write(tmp_path / "manual", samples.gait_files())
    samples.write(manual, {"hdm05/HDM05_SPDData.zip": b"", "PACS.zip": b"", "PACS/a": b""})
    return "--manual-dir", manual, "--data-dir", tmp_path / "data"


def test_each_data_set_has_a_row_with_its_state(command, folders):
    code, out, err = command("datasets", *folders)
    assert (code, err) == (0, "")
    table, missing, unusable = (
        " ".join(part.split()) for part in re.split("Missing|Not usable", out)
    )
    rows = {
        line.split()[0]: " ".join(line.split()[1:])
        for line in out.partition("Missing")[0].splitlines()
        if line[:1] > " "
    }
    assert {*tfds_builders.list_builders(), "name"} <= {*rows}
    assert rows["ipol_gait"] == "230 1,020 walks, 200 MB CC BY-NC-SA archive is there"
    assert rows["pacs_images"] == "– 9,991 images none is stated not usable"
    assert "archive is there: spd_eth" in table and "GaitData.zip" not in missing
    assert "ltmm_gait long-term-movement-monitoring-database-1.0.0.zip" in missing
    assert "hdm05_mocap hdm05.tgz" in missing and "HDM05_SPDData.zip" not in missing
    assert "pacs_images" in unusable and "PACS and PACS.zip" in unusable
    assert unusable.endswith("python -m tfds_builders.build NAME --manual-dir DIR")


def test_json_contains_every_config(command, folders):
    result = json.loads(command("datasets", *folders, "--json")[1])
    assert list(result) == tfds_builders.list_builders()
    assert result["ipol_gait"]["people"] == 230
    assert result["hdm05_mocap"]["configs"]["spd_brooks117"]["missing"] == "hdm05.tgz"


def test_a_missing_folder_is_noted(command, tmp_path, monkeypatch):
    messages = []
    monkeypatch.setattr(_console, "note", messages.append)
    gone = tmp_path / "gone"
    code, out, _ = command("datasets", "--manual-dir", gone, "--data-dir", tmp_path)
    assert code == 0 and "ipol_gait GaitData.zip" in " ".join(out.split())
    assert messages == [f"The folder {gone} does not exist."]


def test_a_missing_extra_is_named_with_its_install_command(command, monkeypatch):
    monkeypatch.setattr(_extras.importlib.util, "find_spec", lambda name: None)
    code, out, err = command("datasets")
    assert (code, out) == (2, "") and 'pip install "keras-dml[data]"' in err


def test_ctrl_c_ends_it(command, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tfds_builders.inventory.inventory", stopped)
    assert command("datasets")[:2] == (130, "")
