"""Tests the potato experiment on synthetic motions: people held out, runs, figures and files."""

import dataclasses
import json

import numpy as np
import pytest

from keras_dml.training import Runs
from tests.papers import motions as small
from zoo.papers.potato import measurements, report
from zoo.papers.potato.data import make_clips
from zoo.papers.potato.experiment import PER_CLASS, Experiment
from zoo.papers.potato.methods import METHODS
from zoo.papers.potato.training import Trainer, train
from zoo.papers.settings import SettingError

METHODS_RUN = ("Proxy NCA", "RPL")
RUN_SETTINGS = {
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
    return make_clips(*small.motions(), PER_CLASS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def experiment(clips, folder):
    return Experiment(clips, Runs(folder), small.SETTINGS)


@pytest.fixture(scope="module")
def results(experiment):
    with small.eager_functions():
        choices = experiment.choose()
        return choices, *experiment.compare(choices), experiment.ablate(choices)


@pytest.fixture(scope="module")
def run_files(results, folder):
    return [json.loads(path.read_text()) for path in sorted(folder.iterdir())]


@pytest.mark.slow
def test_settings_are_chosen_on_another_person_without_the_tested_person(results, run_files):
    choices = results[0]
    assert set(choices) == {(name, person) for name in METHODS_RUN for person in "ac"}
    assert {person: choice.person for (_, person), choice in choices.items()} == {
        "a": "c",
        "c": "a",
    }
    grid = [run["settings"] for run in run_files if run["settings"]["stops"] == 2]
    assert {tuple(settings["held_out"]) for settings in grid if not settings["spread"]} >= {
        ("a", "c")
    }
    for (name, _), choice in choices.items():
        assert choice.constants in METHODS[name].constants and choice.seen in (15, 30)


@pytest.mark.slow
def test_the_choice_has_the_highest_recall_on_the_partner(results, run_files):
    choice = results[0]["RPL", "a"]
    grid = [
        stop["figures"]["c"]
        for run in run_files
        if run["settings"]["method"] == "RPL" and run["settings"]["held_out"] == ["a", "c"]
        for stop in run["result"]["history"]
    ]
    assert len(grid) == 8  # two thresholds, two margins, two stops
    assert choice.figures["recall_at_1"] == max(figures["recall_at_1"] for figures in grid)


@pytest.mark.slow
def test_every_loss_is_tested_on_every_person_from_every_seed(results):
    rows = results[1]
    keys = [(row["method"], row["person"], row["seed"]) for row in rows]
    names = ("Untrained", *METHODS_RUN)
    expected = {(name, person, seed) for name in names for person in "ac" for seed in range(2)}
    assert set(keys) == expected | {("No network", person, 0) for person in "ac"}
    assert len(keys) == len(set(keys))
    for row in rows:
        assert all(0 <= row[name] <= 1 for name in measurements.FIGURES)


def test_all_losses_start_from_the_same_weights(clips):
    starts = []
    for name in ("RPL", "Proxy NCA"):
        trainer = Trainer(name, METHODS[name].constants[0], small.SETTINGS.sizes, 3)
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
def test_every_loss_can_train(name, constants, clips):
    trainer = Trainer(name, constants, small.SETTINGS.sizes, 3)
    with small.eager_functions():
        result = train(trainer, clips, {**RUN_SETTINGS, "seen": 6 if METHODS[name].pairs else 15})
    (stop,) = result["history"]
    assert np.isfinite(stop["loss"]) and set(stop["figures"]) == {"a"}
    assert all(np.isfinite(stop["figures"]["a"][figure]) for figure in measurements.FIGURES)


@pytest.mark.slow
def test_a_run_is_repeatable_on_a_network_that_was_trained_before(clips):
    trainer = Trainer("RPL", {}, small.SETTINGS.sizes, 3)
    first, second, repeated = (
        train(trainer, clips, {**RUN_SETTINGS, "seed": seed}) for seed in (1, 2, 1)
    )
    assert first == repeated != second


def test_people_held_out_change_nothing_in_training(clips):
    matrices, classes, people = small.motions()
    matrices[people == "a"] *= 50.0
    trainer = Trainer("RPL", {}, small.SETTINGS.sizes, 3)
    kernel, kernels = trainer.matrices.get_layer("bimap_1").kernel, []
    for training_clips in (clips, make_clips(matrices, classes, people, PER_CLASS)):
        with small.eager_functions():
            train(trainer, training_clips, RUN_SETTINGS)
        kernels.append(np.array(kernel))
    np.testing.assert_array_equal(*kernels)
    trainer.restart(RUN_SETTINGS["seed"], 0.0)
    assert np.abs(kernel - kernels[0]).max() > 1e-3


@pytest.mark.slow
def test_ablations_change_one_constant(results, run_files):
    ablations = results[3]
    values = {name: sorted({row["value"] for row in rows}) for name, rows in ablations.items()}
    assert all({row["seed"] for row in rows} == {0, 1} for rows in ablations.values())
    assert values == {"batch_size": [10, 15], "weight": [0.1, 1.0], "samples": [2, 100]}
    assert {row["seen"] for row in ablations["samples"]} == {15, 30}
    weights = {run["settings"]["constants"].get("weight", 1.0) for run in run_files}
    assert weights == {0.1, 1.0}


@pytest.mark.slow
def test_finished_runs_are_not_repeated(clips, folder, results, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a finished run was repeated")

    monkeypatch.setattr("zoo.papers.potato.experiment.train", refuse)
    experiment = Experiment(clips, Runs(folder), small.SETTINGS)
    assert experiment.choose() == results[0]
    assert experiment.compare(results[0]) == results[1:3]


def test_run_settings_are_those_of_earlier_versions(clips, tmp_path):
    """Files of runs are named by a digest of the settings, so changed settings would not find old
    results.
    """
    settings = Experiment(clips, Runs(tmp_path), small.SETTINGS)._run_settings("RPL", {}, 1e-3)
    assert settings == {
        "name": "rpl",
        "version": 1,
        "clips": clips.digest,
        "sizes": [4, 3, 2],
        "method": "RPL",
        "constants": {},
        "learning_rate": 1e-3,
        "seed": 0,
        "seen": 30,
        "stops": 1,
        "batch_classes": 3,
        "per_class": 5,
        "samples": 100,
        "spread": False,
    }


def test_an_unknown_loss_is_refused(clips, tmp_path):
    settings = dataclasses.replace(small.SETTINGS, methods=("RPM",))
    with pytest.raises(SettingError, match="'RPM'.*'RPL'"):
        Experiment(clips, Runs(tmp_path), settings)


@pytest.mark.slow
def test_tables_and_pictures_are_written(results, tmp_path):
    table, paths = report.write(tmp_path, *results, seeds=2, source="Made up.")
    stems = {path.stem for path in paths}
    assert stems == {
        "table1",
        "people",
        "figure2_distances",
        "figure3_batch_size",
        "figure4_weight",
        "figure5_calibration",
        "figures",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    assert table["method"] == ["No network", "Untrained", "Proxy NCA", "NRA", "RPL"]
    content = json.loads((tmp_path / "figures.json").read_text())
    assert content["figures"] == table
    assert set(content) == {"figures", "people", "settings", "batch_size", "weight", "samples"}
    assert (tmp_path / "table1.csv").read_text().startswith("method,f1,f1_stderr")


def test_figures_of_separated_classes_are_perfect_and_of_equal_matrices_chance():
    matrices, classes, people = small.motions()
    labels = np.unique(classes, return_inverse=True)[1]
    queries = people == "a"
    for riemannian in (False, True):
        perfect = measurements.measure(matrices, labels, queries, riemannian=riemannian)
        assert all(perfect[name] == 1 for name in measurements.FIGURES)
        equal = np.broadcast_to(np.eye(4), matrices.shape)
        chance = measurements.measure(equal, labels, queries, riemannian=riemannian)
        assert chance["recall_at_1"] == pytest.approx(1 / 3) and chance["nmi"] == 0
    spread = measurements.spread(matrices, labels, queries)
    assert spread["separated"] == 1
    assert spread["within"][-1] < spread["between"][0]
