"""`keras-dml reproduce potato`, run as a person runs it, on made-up motions."""

import dataclasses
import json

import pytest

from keras_dml.cli import _reproduce_potato
from tests.reproduce import motions as small


@pytest.fixture
def few(monkeypatch):
    """A handful of runs in place of the scale `smoke`."""
    from keras_dml.reproduce.potato import plan

    monkeypatch.setitem(plan.SCALES, "smoke", dataclasses.replace(small.SCALE, people=1))
    monkeypatch.setattr(plan.Experiment.__init__, "__defaults__", (small.SIZES, ("RPL",)))
    monkeypatch.setattr(_reproduce_potato, "read", lambda *folders: small.motions())
    with small.step_by_step():
        yield


def reproduce(command, out, *words):
    return command("reproduce", "potato", "--manual-dir", "none", "--out", out, *words)


@pytest.mark.parametrize("words", [["reproduce"], ["reproduce", "potato"]])
def test_help_has_an_example(command, words):
    code, out, _ = command(*words, "--help")
    assert code == 0 and "Example: keras-dml reproduce potato --manual-dir" in out


@pytest.mark.parametrize(
    "words", [["potato"], ["potato", "--manual-dir", ".", "--scale", "huge"], ["prototype"]]
)
def test_wrong_use_exits_with_2(command, words):
    assert command("reproduce", *words)[0] == 2


@pytest.mark.slow
def test_the_table_is_printed_and_everything_is_written(command, few, tmp_path):
    out = tmp_path / "a [folder]"
    code, printed, told = reproduce(command, out, "--scale", "smoke", "--seeds", 1)
    assert code == 0, told
    for part in (
        "36 clips of 3 motions by 4 actors",
        "RPL",
        "66.7",
        "NRA",
        "Untrained",
        "one seed",
    ):
        assert part in printed, part
    table = json.loads((out / "figures.json").read_text())["figures"]
    assert table["method"][-1] == "RPL" and 0 <= table["recall_at_1"][-1] <= 1
    summary = printed.split("Written to")[1]
    for picture in out.glob("*.png"):
        assert picture.name in summary
    assert not list(out.rglob("*.part"))


@pytest.mark.slow
def test_programs_get_the_figures_that_are_written(command, few, tmp_path):
    code, printed, told = reproduce(command, tmp_path, "--scale", "smoke", "--seeds", 1, "--json")
    assert code == 0, told
    written = json.loads((tmp_path / "figures.json").read_text())
    assert json.loads(printed) == {**written, "path": str(tmp_path)}


def test_too_few_actors_are_one_clear_error(command, few, tmp_path, monkeypatch):
    monkeypatch.setattr(_reproduce_potato, "read", lambda *folders: small.motions(people="ab"))
    code, _, told = reproduce(command, tmp_path / "out", "--scale", "smoke")
    assert code == 2
    assert "Error: At least 3 people" in told and "Traceback" not in told
    assert not (tmp_path / "out").exists()


def test_a_missing_archive_is_one_clear_error(command, tmp_path):
    words = ("--manual-dir", tmp_path, "--data-dir", tmp_path / "prepared")
    code, _, told = command("reproduce", "potato", *words, "--out", tmp_path / "out")
    assert code == 2
    assert "HDM05_cut_amc" in told and "Traceback" not in told
    assert not (tmp_path / "out").exists()


def test_ctrl_c_says_how_to_go_on(command, tmp_path, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_reproduce_potato, "read", stopped)
    assert reproduce(command, tmp_path / "out")[0] == 130
    assert not (tmp_path / "out").exists()
