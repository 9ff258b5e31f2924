"""Tests `python -m zoo.papers prototypes` on synthetic digits."""

import dataclasses
import json

import pytest

from tests.papers import digits as small
from zoo.papers.prototypes import SCALES, data


@pytest.fixture
def small_experiment(monkeypatch):
    """Replaces the scale `smoke` and the archive by an experiment of a few runs."""
    settings = dataclasses.replace(small.SETTINGS, rows=("DOL",))
    monkeypatch.setitem(SCALES, "smoke", settings)
    arrays = [small.arrays(128, 1), small.arrays(10, 2)]
    monkeypatch.setattr(data, "read", lambda folder: arrays)


def run(command, out, *words):
    return command("prototypes", "--manual-dir", "none", "--out", out, *words)


def test_help_has_an_example(command):
    status, out, _ = command("prototypes", "--help")
    assert status == 0 and "Example: python -m zoo.papers prototypes --manual-dir" in out


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--manual-dir", ".", "--seeds", 0],
        ["--manual-dir", ".", "--precision", "float16"],
    ],
)
def test_wrong_use_exits_with_2(command, words):
    status, _, errors = command("prototypes", *words)
    assert status == 2 and (words[-2] if words else "--manual-dir") in errors


@pytest.mark.slow
def test_the_command_prints_the_tables_and_writes_all_files(command, small_experiment, tmp_path):
    out = tmp_path / "a [folder]"
    status, printed, progress = run(command, out, "--scale", "smoke", "--seeds", 1)
    assert status == 0, progress
    for part in (
        "128 digits to train on, 10 to attack",
        "DOL",
        "APGD-2",
        "99.3",
        "only shows that the experiment runs",
    ):
        assert part in printed, part
    table = json.loads((out / "figures.json").read_text())["figures"]
    assert table["method"] == ["DOL"] and 0 <= table["worst"][0] <= table["clean"][0]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<img ") == 1 and "--scale smoke --images 10" in page and "99.3" in page
    assert {path.name for path in out.glob("t*")} == {"table1.png", "table1.svg", "table1.csv"}
    assert not list(out.rglob("*.part*"))


@pytest.mark.slow
def test_networks_are_trained_once_for_any_number_of_attacked_images(
    command, small_experiment, tmp_path
):
    for images in (10, 4):
        status, _, progress = run(command, tmp_path, "--scale", "smoke", "--images", images)
        assert status == 0, progress
        table = json.loads((tmp_path / "figures.json").read_text())["figures"]
        assert table["count"] == [images]
    names = [path.name for path in (tmp_path / "runs").glob("*.json")]
    trained = [name for name in names if name.startswith("train_")]
    assert len(trained) == 1 and len(names) == len(trained) + 2


def test_missing_digits_are_an_error(command, tmp_path):
    words = ("--manual-dir", tmp_path, "--out", tmp_path / "out")
    status, _, errors = command("prototypes", *words)
    assert status == 2
    assert "train-images-idx3-ubyte.gz" in errors and "Traceback" not in errors
    assert not (tmp_path / "out").exists()


def test_an_unknown_row_is_an_error_of_its_option(command, small_experiment, tmp_path):
    status, _, errors = run(command, tmp_path / "out", "--scale", "smoke", "--row", "SIN")
    assert status == 2 and "--row" in errors and "SIN" in errors
    assert not (tmp_path / "out").exists()


def test_ctrl_c_exits_with_130(command, tmp_path, monkeypatch):
    def stop(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(data, "read", stop)
    assert run(command, tmp_path / "out")[0] == 130
    assert not (tmp_path / "out").exists()
