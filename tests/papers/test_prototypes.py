"""Tests Table 1 of Monteiro2020 on synthetic digits: trainings, attacks, resumed runs and files."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats

from keras_dml._backend import keras
from keras_dml.training import Runs
from keras_dml.training._fit import Checkpoint
from tests.papers import digits as small
from zoo.papers.prototypes import experiment as experiment_module
from zoo.papers.prototypes import methods, report, tables, training
from zoo.papers.prototypes.data import make_digits
from zoo.papers.prototypes.experiment import Experiment
from zoo.papers.settings import SettingError


def settings(**changes):
    return dataclasses.replace(small.SETTINGS, **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def digits():
    return small.digits()


@pytest.fixture(scope="module")
def results(digits, folder):
    experiment = Experiment(digits, Runs(folder), small.SETTINGS)
    return experiment, experiment.train(), experiment.attack()


@pytest.mark.slow
def test_every_network_is_trained_once_and_every_row_is_attacked_on_all_images(results, folder):
    _, history, sums = results
    epochs = [(row["training"], row["epoch"]) for row in history]
    assert epochs == [(kind, n) for kind in ("undefended", "prototypes") for n in (1, 2)]
    assert all(np.isfinite(row["loss"]) for row in history)
    assert list(sums) == list(small.SETTINGS.rows)
    for (row,) in sums.values():
        heads = tables.column_heads(results[0].attacks)
        assert row["count"] == 20
        assert 0 <= row["worst"] <= min(row[name] for name in heads)
    parts = [json.loads(path.read_text())["settings"] for path in folder.glob("attack_*.json")]
    assert sorted(part["start"] for part in parts) == 2 * [0] + 2 * [15]


@pytest.mark.slow
def test_finished_runs_are_not_repeated(results, digits, folder, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a finished run was repeated")

    monkeypatch.setattr(training.Trainings, "run", refuse)
    monkeypatch.setattr(experiment_module, "robustness", refuse)
    experiment = Experiment(digits, Runs(folder), small.SETTINGS)
    assert experiment.train() == results[1]
    assert experiment.attack() == results[2]


def test_run_settings_are_those_of_earlier_versions(digits, tmp_path):
    """Files of runs are named by a digest of the settings, so changed settings would not find old
    results.
    """
    experiment = Experiment(digits, Runs(tmp_path), small.SETTINGS)
    assert experiment.training_settings("at", methods.THRESHOLDS, 1) == {
        "name": "train_at_thresholds_1",
        "version": 5,
        "digits": digits.digest,
        "training": "at",
        "network": "thresholds",
        "epochs": 2,
        "batch": 128,
        "learning_rate": 1e-3,
        "width": 2,
        "seed": 1,
        "precision": "float32",
        "epsilon": 0.3,
        "attack_steps": 1,
        "ramp_epochs": 1.5,
    }
    attack = experiment._attack_settings("SIM", 0, 15)
    assert {key: attack[key] for key in ("name", "head", "start", "part")} == {
        "name": "attack_undefended_thresholds_0_sim",
        "head": "sim",
        "start": 15,
        "part": 15,
    }
    assert list(attack["attacks"]) == list(experiment.attacks)


@pytest.mark.slow
def test_a_stopped_training_ends_like_an_uninterrupted_one(results, digits, tmp_path, monkeypatch):
    save, runs = Checkpoint.on_epoch_end, Runs(tmp_path)

    def save_and_stop(checkpoint, epoch, logs):
        save(checkpoint, epoch, logs)
        raise KeyboardInterrupt

    defended = settings(rows=("SIM + AT",))
    experiment = Experiment(digits, runs, defended)
    run_settings = experiment.training_settings("prototypes", methods.THRESHOLDS, 0)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "on_epoch_end", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            experiment.train()
    experiment = Experiment(digits, runs, defended)
    history = experiment.train()
    assert [row["epoch"] for row in history] == [1, 2]
    stopped, uninterrupted = (
        trained.trainings.classifier(run_settings) for trained in (experiment, results[0])
    )
    for weight, expected in zip(stopped.get_weights(), uninterrupted.get_weights(), strict=True):
        np.testing.assert_allclose(weight, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_finished_training_leaves_its_result_and_its_network(results, folder):
    names = sorted(path.name for path in folder.iterdir() if path.name.startswith("train_"))
    experiment = results[0]
    paths = [
        experiment.runs.path(experiment.training_settings(kind, methods.THRESHOLDS, 0))
        for kind in ("prototypes", "undefended")
    ]
    assert names == sorted(
        path.with_suffix(end).name for path in paths for end in (".json", ".keras")
    )


@pytest.mark.slow
def test_a_network_that_is_half_written_is_discarded(results, digits, tmp_path, monkeypatch):
    def write_half(model, path):
        path.write_text("half a network")
        raise KeyboardInterrupt

    experiment = Experiment(digits, Runs(tmp_path), settings(rows=("SIM",)))
    with monkeypatch.context() as patch:
        patch.setattr(keras.Model, "save", write_half)
        with pytest.raises(KeyboardInterrupt):
            experiment.train()
    assert not list(tmp_path.glob("*.keras"))
    losses = [row["loss"] for row in experiment.train()]
    assert losses == pytest.approx([row["loss"] for row in results[1][:2]], rel=1e-4)


def test_every_epoch_has_another_order_of_digits(digits):
    batches = training.Batches(digits, 100, seed=3)
    assert len(batches) == 2
    first = np.concatenate([batches[i][0] for i in range(2)])
    batches.on_epoch_end()
    second = np.concatenate([batches[i][0] for i in range(2)])
    assert batches.epoch == 1 and not np.array_equal(first, second)
    batches.epoch = 0
    np.testing.assert_array_equal(batches[1][0], first[100:])


def test_all_rows_start_from_the_same_weights():
    networks = (methods.network(methods.THRESHOLDS, 4, seed) for seed in (0, 0, 1))
    first, repeated, second = (network.get_weights() for network in networks)
    for weight, expected in zip(first, repeated, strict=True):
        np.testing.assert_array_equal(weight, expected)
    assert any((x != y).any() for x, y in zip(first, second, strict=True))


@pytest.mark.slow
def test_networks_trained_in_half_precision_are_attacked_in_float32(results, digits, tmp_path):
    half = settings(rows=("SIM",), precision="mixed_bfloat16")
    experiment = Experiment(digits, Runs(tmp_path), half)
    experiment.train()
    run_settings = experiment.training_settings("undefended", methods.THRESHOLDS, 0)
    trained = experiment.trainings.network(run_settings)
    attacked = experiment.trainings.classifier(run_settings)
    assert trained.encoder.layers[-1].compute_dtype == "bfloat16"
    assert {layer.compute_dtype for layer in attacked.encoder.layers} == {"float32"}
    assert keras.config.dtype_policy().name == "float32"
    for weight, expected in zip(attacked.get_weights(), trained.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, expected)
    float32_settings = results[0].training_settings("undefended", methods.THRESHOLDS, 0)
    float32_name = experiment.runs.path(float32_settings).name
    assert float32_name not in {path.name for path in tmp_path.iterdir()}


def test_digits_are_scaled_and_limited(digits):
    assert digits.x.shape == (256, 28, 28, 1) and digits.x.dtype == np.float32
    assert digits.x.min() == 0 and digits.x.max() == 1
    assert digits.digest == small.digits().digest != digits.first(255, None).digest
    assert digits.digest == digits.first(None, 5).digest  # networks serve any number of attacks
    assert len(digits.first(5, 3).x) == 5 and len(digits.first(5, 3).y_test) == 3


def test_arrays_that_are_not_mnist_are_refused():
    images, labels = small.arrays(4, 0)
    with pytest.raises(ValueError, match=r"\(4, 27, 28\)"):
        make_digits((images[:, :27], labels), (images, labels))
    with pytest.raises(ValueError, match="labels from .* to 12"):
        make_digits((images, labels), (images, labels + (12 - labels.max())))


def test_an_unknown_row_is_refused(digits, tmp_path):
    with pytest.raises(SettingError, match="'SIN'.*'SIM'"):
        Experiment(digits, Runs(tmp_path), settings(rows=("SIN",)))


@pytest.mark.slow
def test_the_table_has_fractions_intervals_and_the_papers_figures(results):
    heads = tables.column_heads(results[0].attacks)
    assert heads["margin"] == "APGD-2 x 2 margin" and heads["weak_long"] == "PGD-2 (weak)"
    table = tables.comparison(results[2], heads)
    assert table["method"] == ["SIM", "SIM + AT"]
    assert table["short_paper"] == [0.2385, 0.9535]
    assert tables.comparison({"TRADES": results[2]["SIM"]}, heads)["long_paper"] == [None]
    assert table["clean"][0] == results[2]["SIM"][0]["clean"] / 20


def test_seeds_give_a_mean_its_interval_over_images_and_the_extremes():
    right = {"not_finite": 1, "count": 100}
    sums = {"SIM": [{**right, "worst": 90}, {**right, "worst": 97}]}
    table = tables.comparison(sums, ["worst"])
    assert table["seeds"] == [2] and table["not_finite"] == [2]
    assert (table["worst"], table["worst_least"], table["worst_most"]) == ([0.935], [0.9], [0.97])
    interval = stats.binomtest(94, 100).proportion_ci(method="wilson")
    assert table["worst_low"][0] == pytest.approx(interval.low, abs=1e-4)


def test_every_seed_is_trained_and_attacked(digits):
    plans = []

    class PlannedRuns:
        def make(self, plan, run, description):
            plans.extend(plan)
            return [{"count": 15}] * len(plan) if "heads" in description else [[]] * len(plan)

        def path(self, settings):
            raise AssertionError("nothing is run")

    two_seeds = settings(seeds=2, rows=("SIM", "DOL", "SIM + AT, LeNet"))
    experiment = Experiment(digits, PlannedRuns(), two_seeds)
    experiment.train()
    trained = [(plan["training"], plan["network"], plan["seed"]) for plan in plans]
    assert trained == [
        (kind, network, seed)
        for kind, network in (("undefended", "thresholds"), ("prototypes", "lenet"))
        for seed in (0, 1)
    ]
    sums = experiment.attack()
    assert [[seed["count"] for seed in row] for row in sums.values()] == [[30, 30]] * 3


@pytest.mark.slow
def test_table_picture_and_figures_are_written(results, tmp_path):
    heads = tables.column_heads(results[0].attacks)
    table = tables.comparison(results[2], heads)
    paths = report.write(tmp_path, table, heads, results[1], source="Made up.")
    names = ["table1.png", "table1.svg", "table1.csv", "figures.json"]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    content = json.loads((tmp_path / "figures.json").read_text())
    assert content["figures"] == table and len(content["trainings"]) == 4
    assert (tmp_path / "table1.csv").read_text().startswith("method,count,seeds,clean,clean_low")


def test_every_row_has_figures_of_the_paper():
    assert set(methods.ROWS) == set(tables.PAPER)
    assert methods.ROWS["SIM + AT, LeNet"].network == methods.LENET


def test_the_lenet_has_the_papers_parameters():
    network = methods.network(methods.LENET, 4, seed=0)
    assert network.encoder.name == "lenet" and network.encoder.count_params() == 60_856
