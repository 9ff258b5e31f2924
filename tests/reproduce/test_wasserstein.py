"""The comparison of Abdelwahab2019 on made-up people: what is trained, resumed, what comes out."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

from keras_dml import distances
from keras_dml.reproduce.wasserstein import figures, methods, plan, plots, tables, training
from keras_dml.reproduce.wasserstein.methods import JAEGER, METHODS, QP_CLS, QP_WL
from keras_dml.training import Runs
from keras_dml.training._fit import Checkpoint
from tests.reproduce import people as small

NAMES = (QP_WL, JAEGER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def division():
    return small.division()


@pytest.fixture(scope="module")
def found(division, folder):
    experiment = plan.Experiment(division, Runs(folder), small.SCALE, NAMES)
    with small.step_by_step():
        choices = experiment.choose()
        return experiment, choices, experiment.compare(choices), experiment.diverge(choices)


@pytest.mark.slow
def test_every_method_is_tested_from_every_seed_beside_what_trains_nothing(found, division):
    _, choices, results, _ = found
    assert set(choices) == set(NAMES)
    counts = {name: len(runs) for name, runs in results.items()}
    assert counts == {"No network": 1, "Untrained": 2, QP_WL: 2, JAEGER: 2}
    trials = figures.trials_of(division.test)
    for name, runs in results.items():
        assert ["after" in run for run in runs] == [True, False][: len(runs)]
        assert ("before" in runs[0]) == (name in NAMES)
        for run in runs:
            assert len(run["scores"]) == len(trials.scores)
            assert {row["protocol"] for row in run["figures"]} == {
                "verification",
                "identification",
                "imposters",
            }
    first, second = (run["scores"] for run in results[QP_WL])
    assert first != second


def test_settings_are_chosen_on_the_people_of_validation(division, tmp_path):
    class Found:
        def make(self, grid, run, description):
            self.grid = grid

        def find(self, settings):
            return {"validation": settings["slope_l2"] + settings["scale"] / 100}

    runs, scale = Found(), plan.SCALES["full"]
    choices = plan.Experiment(division, runs, scale, (QP_WL, QP_CLS)).choose()
    assert len(runs.grid) == 8 + 4  # two rates, two penalties, two scales of a loss that has one
    assert (choices[QP_WL].settings["slope_l2"], choices[QP_WL].settings["scale"]) == (1e-3, 1.0)
    assert {settings["seed"] for settings in runs.grid} == {0}


def test_nothing_is_run_twice(found, division, folder, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a finished run was repeated")

    monkeypatch.setattr(training.Trainings, "run", refuse)
    monkeypatch.setattr(plan.Experiment, "_measure", refuse)
    monkeypatch.setattr(plan.Experiment, "_diverge", refuse)
    again = plan.Experiment(division, Runs(folder), small.SCALE, NAMES)
    assert again.choose() == found[1]
    assert again.compare(found[1]) == found[2]
    assert again.diverge(found[1]) == found[3]


KILLED = """
import os, signal, sys

from keras_dml.reproduce.wasserstein import plan, training
from keras_dml.training import Runs
from keras_dml.training._fit import Checkpoint
from tests.reproduce import people as small

save = Checkpoint.on_epoch_end


def killed(*given):
    save(*given)
    os.kill(os.getpid(), signal.SIGKILL)


Checkpoint.on_epoch_end = killed
training.STEPS_PER_EPOCH = 1
experiment = plan.Experiment(small.division(), Runs(sys.argv[1]), small.SCALE, ["QP-WL"])
with small.step_by_step():
    experiment.choose()
"""


def trained(folder, name, division):
    """Result and weights of a training of two epochs, and where it is kept."""
    experiment = plan.Experiment(division, Runs(folder), small.SCALE, (name,))
    (settings,) = experiment._grid(name)
    with small.step_by_step():
        result = experiment.trainings.run(settings)
    weights = [weight.tolist() for weight in experiment.trainings.network(settings).get_weights()]
    return result, weights, [path.suffix for path in folder.iterdir()]


@pytest.mark.slow
def test_a_killed_training_ends_as_one_that_was_not(division, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "STEPS_PER_EPOCH", 1)
    root = pathlib.Path(__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed")],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        timeout=600,
    )
    assert found.returncode == -signal.SIGKILL, found.stderr.decode()[-2000:]
    assert list((tmp_path / "killed").rglob("progress.json"))
    killed, whole = (trained(tmp_path / name, QP_WL, division) for name in ("killed", "whole"))
    assert killed == whole and killed[2] == [".keras"]


@pytest.mark.slow
def test_a_training_that_stops_between_its_parts_ends_as_one_that_did_not(
    division, tmp_path, monkeypatch
):
    save, count = Checkpoint.on_epoch_end, [0]

    def saved(checkpoint, epoch, logs):
        save(checkpoint, epoch, logs)
        count[0] += 1
        if count[0] == 3:  # of two epochs of each part
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "STEPS_PER_EPOCH", 1)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "on_epoch_end", saved)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "stopped", JAEGER, division)
    stopped, whole = (trained(tmp_path / name, JAEGER, division) for name in ("stopped", "whole"))
    assert stopped == whole and stopped[2] == [".keras"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name not in NAMES])
def test_every_method_takes_a_step(name, division, tmp_path):
    experiment = plan.Experiment(division, Runs(tmp_path), small.SCALE, (name,))
    (settings,) = experiment._grid(name)
    with small.step_by_step():
        result = experiment.trainings.run({**settings, "steps": 1, "schedule": "constant"})
    assert np.isfinite(result["loss"]) and 0 <= result["validation"] <= 1


def test_what_is_drawn_of_cosines_are_chords():
    angles = np.array([0.0, 60.0, 180.0])
    table = -np.cos(np.deg2rad(angles))
    np.testing.assert_allclose(METHODS["QP-NPL"].lengths(table), [0, 1, 2], rtol=0, atol=1e-7)
    np.testing.assert_array_equal(METHODS[QP_WL].lengths(angles), angles)


def test_methods_of_eyes_are_run_on_eyes_alone(division):
    assert methods.names_for(division.test) == tuple(METHODS)
    gait = {**small.arrays(), "gaze": None}
    others = methods.names_for(small.recordings_of(**gait))
    assert others == ("QP-WL", "QP-NPL", "MP-NPL", "QP-CLS")
    one_eye = {**small.arrays(), "signals": small.arrays()["gaze"]}
    assert methods.names_for(small.recordings_of(**one_eye)) == (*others, JAEGER)


def test_the_papers_scale_is_the_papers():
    scale = plan.SCALES["paper"]
    assert (scale.size, scale.steps, scale.learning_rates) == ("paper", 50_000, (1e-4,))
    assert scale.schedule == "constant" and scale.length is None and not scale.scaled
    assert float(training.ConstantRate(1e-4).optimizer(9).learning_rate) == pytest.approx(1e-4)


def test_only_the_wasserstein_distance_tells_disjoint_supports_apart(division):
    """Everybody has a level, and each recording its place beside it: no two overlap."""
    test, knots = division.test, np.array([0.0, 1.0])
    people = np.unique(test.subjects, return_inverse=True)[1]
    level = 10.0 * people + 0.5 * (np.arange(len(test)) % 7)
    values = level[:, None, None] * [[1.0], [2.0]] + 0.125 * knots
    z = np.concatenate([values, np.broadcast_to(knots, (len(test), 1, 2))], axis=1)
    table = tables.divergences([figures.compare_divergences(z, distances.Wasserstein(1), test)])
    assert table["distance"] == ["Wasserstein", "Jensen-Shannon", "Kullback-Leibler"]
    assert table["auc_1"] == [1.0, 0.5, 0.5] and table["infinite"] == [0.0, 0.0, 1.0]
    assert "AUC 1.0000 with one recording observed, Jensen-Shannon 0.5000" in plots.claim(table)


def test_the_papers_table_stands_beside_ours(found):
    table = tables.protocol(found[2], "gait")
    row = {
        (table["method"][i], table["n"][i]): table["paper"][i]
        for i in range(len(table["n"]))
        if (table["protocol"][i], table["metric"][i]) == ("verification", "auc")
    }
    assert row[QP_WL, 1] == 0.9923 and row[QP_WL, 5] == 0.9978 and row[JAEGER, 1] is None
    assert not any(tables.protocol(found[2], "phone")["paper"])
    values = [run["figures"][0]["value"] for run in found[2][QP_WL]]
    at = table["method"].index(QP_WL)
    assert table["value"][at] == pytest.approx(np.mean(values))
    assert table["stderr_over_seeds"][at] == pytest.approx(np.std(values, ddof=1) / np.sqrt(2))
    assert table["stderr_over_seeds"][0] is None  # what trains nothing has one


def test_the_paper_puts_its_method_first_in_every_domain():
    for rows in tables.PAPER.values():
        assert set(rows) == {"QP-WL", "QP-NPL", "MP-NPL", "QP-CLS"}
        best = np.max([values for name, values in rows.items() if name != QP_WL], axis=0)
        assert (np.array(rows[QP_WL]) > best).all()
        assert all(list(values) == sorted(values) for values in rows.values())


@pytest.mark.slow
def test_tables_and_pictures_are_written(found, division, tmp_path):
    experiment, choices, results, diverged = found
    told, written = plots.write(
        tmp_path, "eyes", division, choices, results, diverged, source="Made up."
    )
    stems = {path.stem for path in written}
    pictures = {"protocol", "roc_paper", "roc_pooled", "distances", "maps"}
    assert stems == {*pictures, "figures", "divergences", "settings"}
    for name in ("divergences", "settings"):
        head, *rows = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert head.split(",") == list(told[name])
        assert [row.split(",")[0] for row in rows] == next(iter(told[name].values()))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in written)
    kept = json.loads((tmp_path / "figures.json").read_text())
    assert kept["pooled"] == told["pooled"] and kept["figures"] == told["protocol"]
    pooled = told["pooled"]
    assert pooled["method"] == list(results) and pooled["seeds"] == [1, 2, 2, 2]
    at = pooled["method"].index(QP_WL)
    assert pooled["difference"][at] is None
    assert pooled["difference"][0] == pytest.approx(pooled["eer"][at] - pooled["eer"][0])
    assert set(kept["separated"]["before"]) == set(NAMES) == set(kept["separated"]["after"])
    names = (tmp_path / "maps.csv").read_text()
    assert "person 1" in names and division.test.names[0] not in names
