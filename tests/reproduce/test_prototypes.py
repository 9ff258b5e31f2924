"""Table 1 of Monteiro2020 on made-up digits: what is trained, attacked, resumed, what comes out."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats

from keras_dml._backend import keras
from keras_dml.reproduce.prototypes import methods, plan, plots, tables, training
from keras_dml.reproduce.prototypes.digits import digits_of
from keras_dml.training import Runs
from keras_dml.training._fit import Checkpoint
from tests.reproduce import digits as small


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def digits():
    return small.digits()


@pytest.fixture(scope="module")
def found(digits, folder):
    experiment = plan.Experiment(digits, Runs(folder), small.SCALE, small.ROWS)
    return experiment, experiment.train(), experiment.attack()


@pytest.mark.slow
def test_every_network_is_trained_once_and_every_row_attacked_whole(found, folder):
    _, history, sums = found
    told = [(row["training"], row["epoch"]) for row in history]
    assert told == [(one, n) for one in ("undefended", "prototypes") for n in (1, 2)]
    assert all(np.isfinite(row["loss"]) for row in history)
    assert list(sums) == list(small.ROWS)
    for (row,) in sums.values():
        assert row["count"] == 20
        assert 0 <= row["worst"] <= min(row[name] for name in tables.heads(found[0].attacks))
    parts = [json.loads(path.read_text())["settings"] for path in folder.glob("attack_*.json")]
    assert sorted(one["start"] for one in parts) == 2 * [0] + 2 * [15]


def test_nothing_is_run_twice(found, digits, folder, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a finished run was repeated")

    monkeypatch.setattr(training.Trainings, "run", refuse)
    monkeypatch.setattr(plan, "robustness", refuse)
    again = plan.Experiment(digits, Runs(folder), small.SCALE, small.ROWS)
    assert again.train() == found[1]
    assert again.attack() == found[2]


@pytest.mark.slow
def test_a_stopped_training_goes_on_like_one_that_was_not(found, digits, tmp_path, monkeypatch):
    save, runs = Checkpoint.on_epoch_end, Runs(tmp_path)

    def saved_once(checkpoint, epoch, logs):
        save(checkpoint, epoch, logs)
        raise KeyboardInterrupt

    experiment = plan.Experiment(digits, runs, small.SCALE, ("SIM + AT",))
    settings = experiment._settings("prototypes", methods.THRESHOLDS, 0)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "on_epoch_end", saved_once)
        with pytest.raises(KeyboardInterrupt):
            experiment.train()
    experiment = plan.Experiment(digits, runs, small.SCALE, ("SIM + AT",))
    history = experiment.train()
    assert [row["epoch"] for row in history] == [1, 2]
    stopped, whole = (one.trainings.classifier(settings) for one in (experiment, found[0]))
    for one, other in zip(stopped.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_finished_training_leaves_its_network_alone(found, folder):
    kept = sorted(path.name for path in folder.iterdir() if path.name.startswith("train_"))
    paths = [
        found[0].runs.path(found[0]._settings(one, methods.THRESHOLDS, 0))
        for one in ("prototypes", "undefended")
    ]
    assert kept == sorted(
        path.with_suffix(end).name for path in paths for end in (".json", ".keras")
    )


@pytest.mark.slow
def test_a_network_that_is_half_written_is_not_kept(found, digits, tmp_path, monkeypatch):
    def half(model, path):
        path.write_text("half a network")
        raise KeyboardInterrupt

    experiment = plan.Experiment(digits, Runs(tmp_path), small.SCALE, ("SIM",))
    with monkeypatch.context() as patch:
        patch.setattr(keras.Model, "save", half)
        with pytest.raises(KeyboardInterrupt):
            experiment.train()
    assert not list(tmp_path.glob("*.keras"))
    losses = [row["loss"] for row in experiment.train()]
    assert losses == pytest.approx([row["loss"] for row in found[1][:2]], rel=1e-4)


def test_every_epoch_shows_the_digits_in_another_order(digits):
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
    first, again, other = (one.get_weights() for one in networks)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert any((one != two).any() for one, two in zip(first, other, strict=True))


@pytest.mark.slow
def test_networks_trained_in_half_precision_are_attacked_in_float32(found, digits, tmp_path):
    halves = plan.Experiment(digits, Runs(tmp_path), small.SCALE, ("SIM",), "mixed_bfloat16")
    halves.train()
    settings = halves._settings("undefended", methods.THRESHOLDS, 0)
    trained, attacked = halves.trainings.network(settings), halves.trainings.classifier(settings)
    assert trained.encoder.layers[-1].compute_dtype == "bfloat16"
    assert {layer.compute_dtype for layer in attacked.encoder.layers} == {"float32"}
    assert keras.config.dtype_policy().name == "float32"
    for one, other in zip(trained.get_weights(), attacked.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not {path.name for path in tmp_path.iterdir()} & {
        halves.runs.path(found[0]._settings("undefended", methods.THRESHOLDS, 0)).name
    }


def test_digits_are_told_apart_and_cut(digits):
    assert digits.x.shape == (256, 28, 28, 1) and digits.x.dtype == np.float32
    assert digits.x.min() == 0 and digits.x.max() == 1
    assert digits.digest == small.digits().digest != digits.first(255, None).digest
    assert digits.digest == digits.first(None, 5).digest  # networks serve any number of attacks
    assert len(digits.first(5, 3).x) == 5 and len(digits.first(5, 3).y_test) == 3


def test_other_data_are_refused():
    images, labels = small.arrays(4, 0)
    with pytest.raises(ValueError, match="is this MNIST"):
        digits_of((images[:, :27], labels), (images, labels))
    with pytest.raises(ValueError, match="Labels are the digits 0 to 9. Received .* to 12"):
        digits_of((images, labels), (images, labels + (12 - labels.max())))


def test_the_table_has_shares_intervals_and_the_papers_figures(found):
    heads = tables.heads(found[0].attacks)
    assert heads["margin"] == "APGD-2 x 2 margin" and heads["weak_long"] == "PGD-2 (weak)"
    table = tables.comparison(found[2], heads)
    assert table["method"] == ["SIM", "SIM + AT"]
    assert table["short_paper"] == [0.2385, 0.9535]
    assert tables.comparison({"TRADES": found[2]["SIM"]}, heads)["long_paper"] == [None]
    assert table["clean"][0] == found[2]["SIM"][0]["clean"] / 20


def test_several_seeds_give_a_mean_its_interval_over_images_and_the_extremes():
    right = {"not_finite": 1, "count": 100}
    sums = {"SIM": [{**right, "worst": 90}, {**right, "worst": 97}]}
    table = tables.comparison(sums, ["worst"])
    assert table["seeds"] == [2] and table["not_finite"] == [2]
    assert (table["worst"], table["worst_least"], table["worst_most"]) == ([0.935], [0.9], [0.97])
    interval = stats.binomtest(94, 100).proportion_ci(method="wilson")
    assert table["worst_low"][0] == pytest.approx(interval.low, abs=1e-4)


def test_every_seed_is_trained_and_attacked(digits, monkeypatch):
    planned = []

    class Planned:
        def make(self, plan, run, description):
            planned.extend(plan)
            return [{"count": 15}] * len(plan) if "heads" in description else [[]] * len(plan)

        def path(self, settings):
            raise AssertionError("nothing is run")

    scale = dataclasses.replace(small.SCALE, seeds=2)
    experiment = plan.Experiment(digits, Planned(), scale, ("SIM", "DOL", "SIM + AT, LeNet"))
    experiment.train()
    trained = [(one["training"], one["network"], one["seed"]) for one in planned]
    assert trained == [
        (training, network, seed)
        for training, network in (("undefended", "thresholds"), ("prototypes", "lenet"))
        for seed in (0, 1)
    ]
    assert [[one["count"] for one in row] for row in experiment.attack().values()] == [[30, 30]] * 3


def test_table_picture_and_figures_are_written(found, tmp_path):
    heads = tables.heads(found[0].attacks)
    table = tables.comparison(found[2], heads)
    written = plots.write(tmp_path, table, heads, found[1], source="Made up.")
    names = ["table1.png", "table1.svg", "table1.csv", "figures.json"]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    told = json.loads((tmp_path / "figures.json").read_text())
    assert told["figures"] == table and len(told["trainings"]) == 4
    assert (tmp_path / "table1.csv").read_text().startswith("method,count,seeds,clean,clean_low")


def test_the_rows_are_those_of_the_paper():
    assert set(methods.ROWS) == set(tables.PAPER)
    assert methods.ROWS["SIM + AT, LeNet"].network == methods.LENET


def test_the_lenet_is_that_of_the_paper():
    network = methods.network(methods.LENET, 4, seed=0)
    assert network.encoder.name == "lenet" and network.encoder.count_params() == 60_856
