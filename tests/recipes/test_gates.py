"""Tests that the input gates of the zoo's models accept the recordings used in training."""

import importlib
import json
import shutil
import sys
import types

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from keras_dml import inputs, models, quality, zoo
from keras_dml.training import figure_files, page
from tests import memory
from tests.zoo.cards import CARD
from tests.zoo.test_models import NAMES
from zoo import evidence, gates, recipe

TAKES = CARD["input"]
SOUND = {"channels": ["sound"], "units": ["[-1, 1]"], "rate_hz": 16_000, "length": [400, None]}


def recordings(count=8, channels=3):
    rng = np.random.default_rng(3)
    return [rng.normal(size=(20 + i, channels)) for i in range(count)]


def test_a_gate_says_what_recordings_are_usually_like_and_how_long():
    found = gates.describe(TAKES, recordings())
    assert found["steps"] == 20 and not found["is_sound"]
    np.testing.assert_allclose(found["stddev"], 1, rtol=0, atol=0.3)


def test_a_gate_of_sound_holds_the_least_crest_factor_and_no_loudness():
    noise = [np.random.default_rng(seed).normal(size=(4000, 1)) for seed in range(5)]
    gate = gates.describe(SOUND, noise)
    least = min(quality.crest_factor(x) for x in noise)
    assert gate.pop("crest_db") == pytest.approx(least - quality.CREST_MARGIN_DB, abs=0.01)
    assert gate == {"is_sound": True, "stddev": None}
    quieter = gates.describe(SOUND, [1e-3 * x for x in noise])
    assert quieter["crest_db"] == pytest.approx(least - quality.CREST_MARGIN_DB, abs=0.01)


def test_a_gate_that_would_refuse_recordings_of_training_is_not_given():
    broken = recordings()
    broken[3][:, 1] = 0
    assert gates.describe(TAKES, broken) is None
    many = recordings(100)
    many[3][:, 1] = 0
    assert gates.describe(TAKES, many) is not None


def test_the_contract_of_sound_keeps_no_magnitudes():
    with_magnitudes, of_sound = (
        recipe.with_contract(models.sequence_encoder(len(takes["channels"])), takes, given)
        for takes, given in ((TAKES, recordings()), (SOUND, recordings(channels=1)))
    )
    found = [
        inputs.from_model(model).contract.stddev_range for model in (with_magnitudes, of_sound)
    ]
    assert found[0] is not None and found[1] is None


@pytest.mark.slow
def test_the_command_changes_card_and_page_and_not_the_file(tiny_zoo, tmp_path, monkeypatch):
    folder = tmp_path / "tiny"
    shutil.copytree(tiny_zoo / "tiny", folder)
    file = (folder / "model.keras").read_bytes()
    monkeypatch.setattr(evidence, "ZOO", tmp_path)
    own = types.SimpleNamespace(known_recordings=recordings)
    monkeypatch.setitem(sys.modules, "zoo.tiny.train", own)
    app = typer.Typer()
    app.command()(gates.main)
    done = CliRunner().invoke(app, ["tiny"])
    assert done.exit_code == 0 and "refuses 0 of 8 training recordings" in done.output, done.output
    card = json.loads((folder / "card.json").read_text())
    assert card["quality"] == gates.describe(TAKES, recordings())
    assert (folder / "README.md").read_text() == page.render(card, figure_files(folder))
    assert (folder / "model.keras").read_bytes() == file
    gate = quality.gate_of(zoo.load(str(folder)))
    good, weak = recordings(2)
    assert list(gate.refused([good, 0.01 * weak])) == [1]


def gate_of_training(name):
    """Computes the gate of a model from the recordings used in training."""
    known = importlib.import_module(f"{evidence.module(name)}.train").known_recordings()
    return gates.describe(zoo.card(name)["input"], known)


SMALL = "vowels_qp_wl"  # its recordings take little memory


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name != SMALL))
        for name in NAMES
        if "quality" in zoo.card(name)
    ],
)
def test_a_published_gate_is_that_of_the_recordings_of_training(name, data_dir):
    small = name == SMALL
    found = gate_of_training(name) if small else memory.in_new_process(gate_of_training, name)
    said = dict(zoo.card(name)["quality"])
    deviations = [gate.pop("stddev") or [] for gate in (found, said)]
    np.testing.assert_allclose(*deviations, rtol=1e-3)
    assert found == said


@pytest.mark.slow
@pytest.mark.parametrize("given", [None, recordings()])
def test_a_recipe_publishes_the_gate_of_its_recordings(tmp_path, given):
    folder = tmp_path / "some"
    about = {key: CARD[key] for key in ("name", "task", "paper", "input", "limits", "data")}
    run = recipe.Run("some", folder, tmp_path, steps=1, seed=0)
    model = models.sequence_encoder(3, size="edge", knots=4, halvings=0)
    run.publish(
        model,
        recordings(2),
        CARD["figures"],
        curves=None,
        about={**about, "name": "some"},
        recordings=given,
        headline=CARD["headline"],
    )
    card = zoo.card(folder)
    assert ("quality" in card) == (given is not None)
