"""Tests the command line that all recipes share."""

import json
import pathlib
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from keras_dml import inputs, models
from keras_dml.training import People, measure
from zoo import recipe


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Builds a recipe with two options in its own folder.

    Returns:
        Typer app, and the list of the arguments of each run.
    """
    seen = []

    def main(run, method: Annotated[str, typer.Option(help="How.")] = "a", part: bool = False):
        """Trains something."""
        seen.append((run, method, part))

    monkeypatch.setitem(globals(), "__file__", str(tmp_path / "some_model" / "train.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, main.__module__, _Module(globals()))
    app = typer.Typer()
    app.command()(recipe.command(30)(main))
    return app, seen


class _Module:
    def __init__(self, names):
        self.__file__ = names["__file__"]


def test_a_recipe_has_the_options_of_all_recipes_and_its_own(runs):
    app, seen = runs
    text = CliRunner().invoke(app, ["--help"], terminal_width=100).output
    assert "Trains something." in text
    for option in ("--steps", "--seed", "--out", "--resume", "--publish", "--method", "--part"):
        assert option in text
    assert not seen


def test_without_options_a_run_has_the_recipes_defaults_and_a_folder_of_its_own(runs):
    app, seen = runs
    assert CliRunner().invoke(app, []).exit_code == 0
    ((run, method, part),) = seen
    assert (run.steps, run.seed, run.resume, run.publishes) == (30, 0, False, False)
    assert (method, part) == ("a", False)
    assert run.name == "some_model" and run.folder == pathlib.Path.cwd() / "some_model"
    assert run.out == pathlib.Path("build/some_model_a_0") and run.out.is_dir()


def test_options_reach_the_run(runs):
    app, seen = runs
    given = "--steps 7 --seed 3 --out here --resume --publish --method b --part".split()
    assert CliRunner().invoke(app, given).exit_code == 0
    ((run, method, part),) = seen
    assert (run.steps, run.seed, run.resume, run.publishes) == (7, 3, True, True)
    assert (method, part, run.out) == ("b", True, pathlib.Path("here"))


def test_a_part_of_a_run_has_a_folder_and_minutes_of_its_own(tmp_path):
    run = recipe.Run("some_model", tmp_path, tmp_path, 1, 0, minutes=3.0)
    part = run.part("fold_1")
    assert part.out == tmp_path / "fold_1" and part.out.is_dir() and part.minutes == 0
    figures = [{"protocol": "p", "n": 1, "metric": "m", "value": 0.5, "stderr": 0.1, "trials": 4}]
    assert part.keep(figures) == json.loads((part.out / "figures.json").read_text())


def test_a_run_leaves_a_page_of_its_figures_and_curves(tmp_path, rng):
    subjects = [name for name in "abcdef" for _ in range(14)]
    people = People([rng.normal(size=(9, 2)) for _ in subjects], subjects, 6 * (7 * [0] + 7 * [1]))
    x = rng.normal(size=(84, 1)) + np.repeat(3.0 * np.arange(6), 14)[:, None]
    measured = measure.measure_people(np.abs(x - x.T), people)
    run = recipe.Run("some_model", tmp_path, tmp_path, steps=70, seed=5)
    run.save(measured, "Everybody's last session.")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http:" not in text and "https:" not in text and "<script" not in text
    assert "data:image/svg+xml" in text and "Everybody&#39;s last session." in text
    assert (
        "EER" in text
        and "42 probes of 6 people" in text
        and "zoo.some_model.train" in text
        and "70" in text
    )


def test_a_published_model_carries_the_contract_of_its_card(rng):
    described = {
        "channels": ["x", "y"],
        "units": ["g", "g"],
        "rate_hz": 50,
        "length": [8, None],
    }
    recordings = [scale * rng.normal(size=(500, 2)) for scale in (1.0, 2.0)]
    model = recipe.with_contract(models.sequence_encoder(2), described, recordings)
    contract = inputs.from_model(model).contract
    assert (contract.channels, contract.rate_hz, contract.min_steps) == (("x", "y"), 50, 8)
    low, high = contract.stddev_range[0]
    assert low < 1.2 and 1.8 < high
    assert recipe.with_contract(model, described) is model


def test_a_model_of_images_carries_none():
    model = models.conv4((16, 16, 1), width=2)
    assert recipe.with_contract(model, {"size": [16, 16], "channels": ["ink"]}) is model


def test_figures_of_the_evidence_replace_those_of_the_run(tmp_path, monkeypatch):
    """Tests a recipe whose evidence measures the figures of the card from the published files."""
    built, row = {}, {"protocol": "verification"}
    measured = SimpleNamespace(card=lambda about: {"figures": [row], "thresholds": []})
    monkeypatch.setattr(recipe.evidence, "find", lambda name: lambda trained: measured)
    monkeypatch.setattr(recipe.training, "build_card", lambda about, **given: built.update(given))
    monkeypatch.setattr(recipe.training, "publish", lambda *given: None)
    run = recipe.Run("watch_lda", tmp_path, tmp_path, steps=1, seed=0)
    run.publish(None, [], [{"protocol": "identification"}], about={"input": {}}, curves=None)
    assert built["figures"] == [row] and built["thresholds"] == []
