"""The comparison on made-up motions: who is held out, what is run, what comes out."""

import json

import numpy as np
import pytest

from keras_dml.reproduce.potato import figures, plots
from keras_dml.reproduce.potato.clips import clips_of
from keras_dml.reproduce.potato.methods import METHODS
from keras_dml.reproduce.potato.plan import PER_CLASS, Experiment
from keras_dml.reproduce.potato.training import Trainer, train
from keras_dml.training import Runs
from tests.reproduce import motions as small

SETTINGS = {
    "held_out": ["a"],
    "seed": 0,
    "learning_rate": 1e-2,
    "seen": 30,
    "stops": 1,
    "batch_classes": 3,
    "per_class": PER_CLASS,
    "samples": 100,
    "spread": False,
}


@pytest.fixture(scope="module")
def clips():
    return clips_of(*small.motions(), PER_CLASS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def experiment(clips, folder):
    return Experiment(clips, Runs(folder), small.SCALE, small.SIZES, small.METHODS)


@pytest.fixture(scope="module")
def found(experiment):
    with small.step_by_step():
        choices = experiment.choose()
        return choices, *experiment.compare(choices), experiment.ablate(choices)


@pytest.fixture(scope="module")
def kept(found, folder):
    return [json.loads(path.read_text()) for path in sorted(folder.iterdir())]


@pytest.mark.slow
def test_settings_are_chosen_on_another_person_without_the_tested_one(found, kept):
    choices = found[0]
    assert set(choices) == {(name, person) for name in small.METHODS for person in "ac"}
    assert {person: choice.person for (_, person), choice in choices.items()} == {
        "a": "c",
        "c": "a",
    }
    grid = [one["settings"] for one in kept if one["settings"]["stops"] == 2]
    assert {tuple(settings["held_out"]) for settings in grid if not settings["spread"]} >= {
        ("a", "c")
    }
    for (name, _), choice in choices.items():
        assert choice.constants in METHODS[name].constants and choice.seen in (15, 30)


def test_the_best_point_is_that_of_the_highest_recall_on_the_partner(found, kept):
    choice = found[0]["RPL", "a"]
    grid = [
        stop["figures"]["c"]
        for one in kept
        if one["settings"]["method"] == "RPL" and one["settings"]["held_out"] == ["a", "c"]
        for stop in one["result"]["history"]
    ]
    assert len(grid) == 8  # two thresholds, two margins, two stops
    assert choice.figures["recall_at_1"] == max(one["recall_at_1"] for one in grid)


def test_every_loss_is_tested_on_every_person_from_every_seed(found):
    rows = found[1]
    trained = [(row["method"], row["person"], row["seed"]) for row in rows]
    names = ("Untrained", *small.METHODS)
    expected = {(name, person, seed) for name in names for person in "ac" for seed in range(2)}
    assert set(trained) == expected | {("No network", person, 0) for person in "ac"}
    assert len(trained) == len(set(trained))
    for row in rows:
        assert all(0 <= row[name] <= 1 for name in figures.FIGURES)


def test_one_seed_starts_all_losses_alike(clips):
    starts = []
    for name in ("RPL", "Proxy NCA"):
        trainer = Trainer(name, METHODS[name].constants[0], small.SIZES, 3)
        trainer.restart(3, 1e-3)
        starts.append(trainer.embed(clips.matrices[:2].astype("float32")))
        frame = trainer.matrices.get_layer("bimap_1").kernel
        np.testing.assert_allclose(np.transpose(frame) @ frame, np.eye(3), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(*starts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, constants",
    [(name, constants) for name, method in METHODS.items() for constants in method.constants],
)
def test_every_loss_takes_a_step(name, constants, clips):
    trainer = Trainer(name, constants, small.SIZES, 3)
    with small.step_by_step():
        result = train(trainer, clips, {**SETTINGS, "seen": 6 if METHODS[name].pairs else 15})
    (stop,) = result["history"]
    assert np.isfinite(stop["loss"]) and set(stop["figures"]) == {"a"}
    assert all(np.isfinite(stop["figures"]["a"][figure]) for figure in figures.FIGURES)


def test_a_run_repeats_itself_on_a_network_that_was_used(clips):
    trainer = Trainer("RPL", {}, small.SIZES, 3)
    first, other, again = (train(trainer, clips, {**SETTINGS, "seed": seed}) for seed in (1, 2, 1))
    assert first == again != other


def test_people_held_out_change_nothing_in_training(clips):
    matrices, classes, people = small.motions()
    matrices[people == "a"] *= 50.0
    trainer = Trainer("RPL", {}, small.SIZES, 3)
    kernel, kernels = trainer.matrices.get_layer("bimap_1").kernel, []
    for one in (clips, clips_of(matrices, classes, people, PER_CLASS)):
        with small.step_by_step():
            train(trainer, one, SETTINGS)
        kernels.append(np.array(kernel))
    np.testing.assert_array_equal(*kernels)
    trainer.restart(SETTINGS["seed"], 0.0)
    assert np.abs(kernel - kernels[0]).max() > 1e-3


def test_ablations_change_one_thing(found, kept):
    ablations = found[3]
    values = {what: sorted({row["value"] for row in rows}) for what, rows in ablations.items()}
    assert all({row["seed"] for row in rows} == {0, 1} for rows in ablations.values())
    assert values == {"batch_size": [10, 15], "weight": [0.1, 1.0], "samples": [2, 100]}
    assert {row["seen"] for row in ablations["samples"]} == {15, 30}
    weights = {one["settings"]["constants"].get("weight", 1.0) for one in kept}
    assert weights == {0.1, 1.0}


def test_nothing_is_run_twice(clips, folder, found, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a finished run was repeated")

    monkeypatch.setattr("keras_dml.reproduce.potato.plan.train", refuse)
    again = Experiment(clips, Runs(folder), small.SCALE, small.SIZES, small.METHODS)
    assert again.choose() == found[0]
    assert again.compare(found[0]) == found[1:3]


def test_tables_and_pictures_are_written(found, tmp_path):
    table, written = plots.write(tmp_path, *found, seeds=2, source="Made up.")
    stems = {path.stem for path in written}
    assert stems == {
        "table1",
        "people",
        "figure2_distances",
        "figure3_batch_size",
        "figure4_weight",
        "figure5_calibration",
        "figures",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in written)
    assert table["method"] == ["No network", "Untrained", "Proxy NCA", "NRA", "RPL"]
    told = json.loads((tmp_path / "figures.json").read_text())
    assert told["figures"] == table
    assert set(told) == {"figures", "people", "settings", "batch_size", "weight", "samples"}
    assert (tmp_path / "table1.csv").read_text().startswith("method,f1,f1_stderr")


def test_figures_of_classes_far_apart_are_perfect_and_of_one_point_chance():
    matrices, classes, people = small.motions()
    labels = np.unique(classes, return_inverse=True)[1]
    queries = people == "a"
    for riemannian in (False, True):
        good = figures.measure(matrices, labels, queries, riemannian=riemannian)
        assert all(good[name] == 1 for name in figures.FIGURES)
        same = np.broadcast_to(np.eye(4), matrices.shape)
        chance = figures.measure(same, labels, queries, riemannian=riemannian)
        assert chance["recall_at_1"] == pytest.approx(1 / 3) and chance["nmi"] == 0
    spread = figures.spread(matrices, labels, queries)
    assert spread["separated"] == 1
    assert spread["within"][-1] < spread["between"][0]
