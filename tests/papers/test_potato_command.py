"""Tests `python -m zoo.papers potato` on synthetic motions."""

import dataclasses
import json

import pytest

from tests.papers import motions as small
from zoo.papers.potato import SCALES, data


@pytest.fixture
def small_experiment(monkeypatch):
    """Replaces the scale `smoke` and the archive by an experiment of a few runs."""
    settings = dataclasses.replace(small.SETTINGS, people=1, methods=("RPL",))
    monkeypatch.setitem(SCALES, "smoke", settings)
    monkeypatch.setattr(data, "read", lambda *folders: small.motions())
    with small.eager_functions():
        yield


def run(command, out, *words):
    return command("potato", "--manual-dir", "none", "--out", out, *words)


@pytest.mark.parametrize("words", [[], ["potato"]])
def test_help_has_an_example(command, words):
    status, out, _ = command(*words, "--help")
    assert status == 0 and "Example: python -m zoo.papers potato --manual-dir" in out


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["potato"], "--manual-dir"),
        (["potato", "--manual-dir", ".", "--scale", "huge"], "huge"),
        (["potato", "--manual-dir", ".", "--stops", "many"], "many"),
        (["potato", "--manual-dir", ".", "--weights", "0.1,-1"], "--weights"),
        (["potatoes"], "potatoes"),
    ],
)
def test_wrong_use_exits_with_2(command, words, option):
    status, _, errors = command(*words)
    assert status == 2 and option in errors


@pytest.mark.slow
def test_the_command_prints_the_table_and_writes_all_files(command, small_experiment, tmp_path):
    out = tmp_path / "a [folder]"
    status, printed, progress = run(command, out, "--scale", "smoke", "--seeds", 1)
    assert status == 0, progress
    for part in (
        "36 clips of 3 motions by 4 actors",
        "RPL",
        "66.7",
        "NRA",
        "Untrained",
        "one seed",
    ):
        assert part in printed, part
    assert "1/3 choose settings, runs: 4 of 4 done" in progress and "left" in progress
    table = json.loads((out / "figures.json").read_text())["figures"]
    assert table["method"][-1] == "RPL" and 0 <= table["recall_at_1"][-1] <= 1
    summary = printed.split("Written to")[1]
    pictures = list(out.glob("*.png"))
    assert len(pictures) == 6 and "of processor time" in summary
    for picture in pictures:
        assert picture.name in summary
    assert "--scale smoke --seeds 1" in (out / "report.html").read_text(encoding="utf-8")
    assert not list(out.rglob("*.part*"))


@pytest.mark.slow
def test_json_prints_the_figures_that_are_written(command, small_experiment, tmp_path):
    words = ("--scale", "smoke", "--seeds", 1, "--json")
    status, printed, progress = run(command, tmp_path, *words)
    assert status == 0, progress
    content = json.loads((tmp_path / "figures.json").read_text())
    assert json.loads(printed) == {**content, "path": str(tmp_path)}


def test_too_few_actors_are_an_error(command, small_experiment, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "read", lambda *folders: small.motions(people="ab"))
    status, _, errors = run(command, tmp_path / "out", "--scale", "smoke")
    assert status == 2
    assert "At least 3 people" in errors and "Traceback" not in errors
    assert not (tmp_path / "out").exists()


def test_a_missing_archive_is_an_error(command, tmp_path):
    words = ("--manual-dir", tmp_path, "--data-dir", tmp_path / "prepared", "--json")
    status, printed, errors = command("potato", *words, "--out", tmp_path / "out")
    assert status == 2
    error = json.loads(printed)["error"]
    assert "HDM05_cut_amc" in error["message"] and "Traceback" not in errors
    assert not (tmp_path / "out").exists()


def test_ctrl_c_exits_with_130(command, tmp_path, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(data, "read", stop)
    status, _, errors = run(command, tmp_path / "out")
    assert status == 130 and "run the command again" in errors
    assert not (tmp_path / "out").exists()
