"""`keras-dml reproduce prototypes`, run as a person runs it, on made-up digits."""

import json

import pytest

from keras_dml.cli import _reproduce_prototypes
from tests.reproduce import digits as small


@pytest.fixture
def few(monkeypatch):
    """A handful of runs in place of the scale `smoke`."""
    from keras_dml.reproduce.prototypes import plan

    monkeypatch.setitem(plan.SCALES, "smoke", small.SCALE)
    monkeypatch.setattr(plan.Experiment.__init__, "__defaults__", (("DOL",), "float32"))
    monkeypatch.setattr(
        _reproduce_prototypes, "read", lambda folder: [small.arrays(128, 1), small.arrays(10, 2)]
    )


def reproduce(command, out, *words):
    return command("reproduce", "prototypes", "--manual-dir", "none", "--out", out, *words)


def test_help_has_an_example(command):
    code, out, _ = command("reproduce", "prototypes", "--help")
    assert code == 0 and "Example: keras-dml reproduce prototypes --manual-dir" in out


@pytest.mark.parametrize("words", [[], ["--manual-dir", ".", "--seeds", 0]])
def test_wrong_use_exits_with_2(command, words):
    assert command("reproduce", "prototypes", *words)[0] == 2


@pytest.mark.slow
def test_the_table_is_printed_and_everything_is_written(command, few, tmp_path):
    out = tmp_path / "a [folder]"
    code, printed, told = reproduce(command, out, "--scale", "smoke", "--seeds", 1)
    assert code == 0, told
    for part in (
        "128 digits to train on, 10 to attack",
        "DOL",
        "APGD-2",
        "99.3",
        "figures mean",
    ):
        assert part in printed, part
    table = json.loads((out / "figures.json").read_text())["figures"]
    assert table["method"] == ["DOL"] and 0 <= table["worst"][0] <= table["clean"][0]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<img ") == 1 and "--seeds 1 --images 10" in page and "99.3" in page
    assert {path.name for path in out.glob("t*")} == {"table1.png", "table1.svg", "table1.csv"}
    assert not list(out.rglob("*.part*"))


@pytest.mark.slow
def test_fewer_images_are_attacked_by_the_same_networks(command, few, tmp_path):
    for images in (10, 4):
        code, _, told = reproduce(command, tmp_path, "--scale", "smoke", "--images", images)
        assert code == 0, told
        table = json.loads((tmp_path / "figures.json").read_text())["figures"]
        assert table["count"] == [images]
    runs = [path.name for path in (tmp_path / "runs").glob("*.json")]
    trained = [name for name in runs if name.startswith("train_")]
    assert len(trained) == 1 and len(runs) == len(trained) + 2


def test_missing_digits_are_one_clear_error(command, tmp_path):
    words = ("--manual-dir", tmp_path, "--out", tmp_path / "out")
    code, _, told = command("reproduce", "prototypes", *words)
    assert code == 2
    assert "no train-images-idx3-ubyte.gz" in told and "Traceback" not in told
    assert not (tmp_path / "out").exists()


def test_ctrl_c_exits_with_130(command, tmp_path, monkeypatch):
    def stopped(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(_reproduce_prototypes, "read", stopped)
    assert reproduce(command, tmp_path / "out")[0] == 130
    assert not (tmp_path / "out").exists()
