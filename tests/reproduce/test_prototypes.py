"""Table 1 of Monteiro2020 on made-up digits: what is trained, attacked, resumed, what comes out."""

import json

import numpy as np
import pytest
from scipy import stats

from keras_dml._backend import keras
from keras_dml.reproduce.prototypes import methods, pictures, plan, tables, training
from keras_dml.reproduce.prototypes.digits import digits_of
from keras_dml.training import Runs
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


def test_every_network_is_trained_once_and_every_row_attacked_whole(found, folder):
    _, history, sums = found
    told = [(row["training"], row["epoch"]) for row in history]
    assert told == [(one, n) for one in ("undefended", "prototypes") for n in (1, 2)]
    assert all(np.isfinite(row["loss"]) for row in history)
    assert list(sums) == list(small.ROWS)
    for row in sums.values():
        assert row["count"] == 20
        assert 0 <= row["worst"] <= min(row[name] for name in tables.heads(found[0].attacks))
        assert row["restarts"] <= row["long"]
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


def test_a_stopped_training_goes_on_like_one_that_was_not(found, digits, tmp_path):
    runs = Runs(tmp_path)
    for epoch in (1, 2):
        experiment = plan.Experiment(digits, runs, small.SCALE, ("SIM + AT",))
        settings = experiment._settings("prototypes", epoch)
        runs.make([settings], experiment.trainings.run, "train")
    stopped, whole = (one.trainings.classifier(settings) for one in (experiment, found[0]))
    for one, other in zip(stopped.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_files_of_epochs_before_the_last_two_are_taken_away(found, digits, tmp_path, monkeypatch):
    class Model:
        history = {"loss": [1.0]}

        def fit(self, *arguments, **options):
            return self

        def save(self, path):
            path.touch()

    monkeypatch.setattr(training.Trainings, "_new", lambda *arguments: Model())
    trainings = training.Trainings(digits, lambda one: tmp_path / f"{one['epoch']}.keras")
    for epoch in (1, 2, 3):
        told = trainings.run({**found[0]._settings("undefended", 1), "epoch": epoch})
    assert told == {"loss": 1.0}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.keras", "3.keras"]


def test_an_interrupted_epoch_leaves_the_network_that_was_kept(found, digits, tmp_path):
    class Model:
        def save(self, path):
            path.write_text("half a network")
            raise KeyboardInterrupt

    trainings = training.Trainings(digits, lambda one: tmp_path / "kept.keras")
    (tmp_path / "kept.keras").write_text("whole")
    with pytest.raises(KeyboardInterrupt):
        trainings._keep(Model(), {})
    assert (tmp_path / "kept.keras").read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.keras"]


def test_all_rows_start_from_the_same_weights():
    first, again, other = (methods.network(4, seed).get_weights() for seed in (0, 0, 1))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert any((one != two).any() for one, two in zip(first, other, strict=True))


def test_networks_trained_in_half_precision_are_attacked_in_float32(found, digits, tmp_path):
    halves = plan.Experiment(digits, Runs(tmp_path), small.SCALE, ("SIM",), "mixed_bfloat16")
    halves.train()
    settings = halves._settings("undefended", 2)
    trained, attacked = halves.trainings.network(settings), halves.trainings.classifier(settings)
    assert trained.encoder.layers[-1].compute_dtype == "bfloat16"
    assert {layer.compute_dtype for layer in attacked.encoder.layers} == {"float32"}
    assert keras.config.dtype_policy().name == "float32"
    for one, other in zip(trained.get_weights(), attacked.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not {path.name for path in tmp_path.iterdir()} & {
        halves.runs.path(found[0]._settings("undefended", epoch)).name for epoch in (1, 2)
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
    assert heads["restarts"] == "PGD-2 x 2" and heads["weak_long"] == "PGD-2 (weak)"
    table = tables.comparison(found[2], heads)
    assert table["method"] == ["SIM", "SIM + AT"]
    assert table["short_paper"] == [0.2385, 0.9535]
    assert tables.comparison({"TRADES": found[2]["SIM"]}, heads)["long_paper"] == [None]
    counted = found[2]["SIM"]["clean"]
    assert table["clean"][0] == round(counted / 20, 4)
    interval = stats.binomtest(counted, 20).proportion_ci(method="wilson")
    assert table["clean_low"][0] == pytest.approx(interval.low, abs=1e-4)


def test_table_picture_and_figures_are_written(found, tmp_path):
    heads = tables.heads(found[0].attacks)
    table = tables.comparison(found[2], heads)
    written = pictures.write(tmp_path, table, heads, found[1], source="Made up.")
    names = ["table1.png", "table1.svg", "table1.csv", "figures.json"]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    told = json.loads((tmp_path / "figures.json").read_text())
    assert told["figures"] == table and len(told["trainings"]) == 4
    assert (tmp_path / "table1.csv").read_text().startswith("method,count,clean,clean_low")


def test_the_rows_are_those_of_the_paper():
    assert set(methods.ROWS) == set(tables.PAPER)
    assert len(methods.TRAININGS) == 6
