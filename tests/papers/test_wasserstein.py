"""Tests the comparison of Abdelwahab2019 on synthetic people: trainings, resumed runs and files."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from keras_dml import distances
from keras_dml.training import Runs
from keras_dml.training._fit import Checkpoint
from tests.papers import people as small
from zoo.papers.settings import SettingError
from zoo.papers.wasserstein import measurements, methods, report, tables, training
from zoo.papers.wasserstein.experiment import Experiment
from zoo.papers.wasserstein.methods import JAEGER, METHODS, QP_CLS, QP_WL
from zoo.papers.wasserstein.settings import SCALES

NAMES = (QP_WL, JAEGER)


def settings(*names, **changes):
    """Returns the settings of some methods."""
    return dataclasses.replace(small.SETTINGS, methods=names or (QP_WL,), **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def division():
    return small.division()


@pytest.fixture(scope="module")
def results(division, folder):
    experiment = Experiment(division, Runs(folder), settings(JAEGER))
    with small.eager_training():
        choices = experiment.choose()
        compared = experiment.compare(choices)
        return experiment, choices, compared, experiment.compare_divergences(choices)


@pytest.mark.slow
def test_every_method_is_tested_from_every_seed(results, division):
    _, choices, by_method, _ = results
    assert set(choices) == set(NAMES)
    counts = {name: len(runs) for name, runs in by_method.items()}
    assert counts == {"No network": 1, "Untrained": 2, QP_WL: 2, JAEGER: 2}
    trials = measurements.strict_trials(division.test)
    for name, runs in by_method.items():
        assert ["after" in run for run in runs] == [True, False][: len(runs)]
        assert ("before" in runs[0]) == (name in NAMES)
        for run in runs:
            assert len(run["scores"]) == len(trials.scores)
            assert {row["protocol"] for row in run["figures"]} == {
                "verification",
                "identification",
                "imposters",
            }
    first, second = (run["scores"] for run in by_method[QP_WL])
    assert first != second


def test_settings_are_chosen_on_the_people_of_validation(division):
    class PlannedRuns:
        def make(self, grid, run, description):
            self.grid = grid

        def find(self, settings):
            return {"validation": settings["slope_l2"] + settings["scale"] / 100}

    runs, full = PlannedRuns(), dataclasses.replace(SCALES["full"], methods=(QP_CLS,))
    choices = Experiment(division, runs, full).choose()
    assert len(runs.grid) == 8 + 4  # rates, penalties, and scales of a loss that has a scale
    assert (choices[QP_WL].settings["slope_l2"], choices[QP_WL].settings["scale"]) == (1e-3, 1.0)
    assert {settings["seed"] for settings in runs.grid} == {0}


@pytest.mark.slow
def test_finished_runs_are_not_repeated(results, division, folder, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a finished run was repeated")

    monkeypatch.setattr(training.Trainings, "run", refuse)
    monkeypatch.setattr(Experiment, "_test", refuse)
    monkeypatch.setattr(Experiment, "_measure_divergences", refuse)
    experiment = Experiment(division, Runs(folder), settings(JAEGER))
    assert experiment.choose() == results[1]
    assert experiment.compare(results[1]) == results[2]
    assert experiment.compare_divergences(results[1]) == results[3]


def test_run_settings_are_those_of_earlier_versions(division, tmp_path):
    """Files of runs are named by a digest of the settings, so changed settings would not find old
    results.
    """
    experiment = Experiment(division, Runs(tmp_path), settings())
    (run_settings,) = experiment.grid(QP_WL)
    assert run_settings == {
        "name": "train_qp_wl",
        "version": 1,
        "recordings": experiment.digest,
        "method": "QP-WL",
        "seed": 0,
        "steps": 2,
        "pairs": 3,
        "length": 24,
        "schedule": "cosine",
        "size": "edge",
        "halvings": None,
        "narrower": 64,
        "learning_rate": 1e-3,
        "slope_l2": 0.0,
        "scale": 1.0,
    }
    assert experiment._test_settings(QP_WL, run_settings) == {
        "name": "test_qp_wl",
        "version": 1,
        "recordings": experiment.digest,
        "method": "QP-WL",
        "training": run_settings,
        "looked": True,
    }


@pytest.mark.slow
def test_knots_and_scales_of_the_settings_reach_network_and_loss(division, tmp_path):
    experiment = Experiment(division, Runs(tmp_path), settings(knots=5, loss_scales=(0.5, 2.0)))
    first, second = experiment.grid(QP_WL)
    assert (first["knots"], first["scale"], second["scale"]) == (5, 0.5, 2.0)
    assert experiment.trainings.untrained(first).output_shape[-1] == 5 + 2
    _, loss = methods.model_and_loss(METHODS[QP_WL], None, 3, second["scale"])
    assert loss.scale == 2.0


def test_a_method_that_the_recordings_do_not_allow_is_refused(tmp_path):
    gait = small.divide(small.make_recordings(**{**small.arrays(), "gaze": None}))
    with pytest.raises(SettingError, match="Jäger.*'QP-CLS'"):
        Experiment(gait, Runs(tmp_path), settings(JAEGER))


KILLED = """
import os, signal, sys

from keras_dml.training import Runs
from keras_dml.training._fit import Checkpoint
from tests.papers import people as small
from tests.papers.test_wasserstein import settings
from zoo.papers.wasserstein import training
from zoo.papers.wasserstein.experiment import Experiment

save = Checkpoint.on_epoch_end


def save_and_die(*arguments):
    save(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)


Checkpoint.on_epoch_end = save_and_die
training.STEPS_PER_EPOCH = 1
with small.eager_training():
    Experiment(small.division(), Runs(sys.argv[1]), settings()).choose()
"""


def train_two_epochs(folder, name, division):
    """Trains for two epochs and returns the result, the weights and the files."""
    experiment = Experiment(division, Runs(folder), settings(name))
    (run_settings,) = experiment.grid(name)
    with small.eager_training():
        result = experiment.trainings.run(run_settings)
    network = experiment.trainings.network(run_settings)
    weights = [weight.tolist() for weight in network.get_weights()]
    return result, weights, [path.suffix for path in folder.iterdir()]


@pytest.mark.slow
def test_a_killed_training_ends_like_an_uninterrupted_one(division, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "STEPS_PER_EPOCH", 1)
    root = pathlib.Path(__file__).parents[2]
    process = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed")],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        timeout=600,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()[-2000:]
    assert list((tmp_path / "killed").rglob("progress.json"))
    killed, uninterrupted = (
        train_two_epochs(tmp_path / name, QP_WL, division) for name in ("killed", "uninterrupted")
    )
    assert killed == uninterrupted and killed[2] == [".keras"]


@pytest.mark.slow
def test_a_training_stopped_between_its_parts_ends_like_an_uninterrupted_one(
    division, tmp_path, monkeypatch
):
    save, count = Checkpoint.on_epoch_end, [0]

    def save_and_count(checkpoint, epoch, logs):
        save(checkpoint, epoch, logs)
        count[0] += 1
        if count[0] == 3:  # after two epochs of the first part and one of the second
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "STEPS_PER_EPOCH", 1)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "on_epoch_end", save_and_count)
        with pytest.raises(KeyboardInterrupt):
            train_two_epochs(tmp_path / "stopped", JAEGER, division)
    stopped, uninterrupted = (
        train_two_epochs(tmp_path / name, JAEGER, division) for name in ("stopped", "uninterrupted")
    )
    assert stopped == uninterrupted and stopped[2] == [".keras"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name not in NAMES])
def test_every_method_can_train(name, division, tmp_path):
    experiment = Experiment(division, Runs(tmp_path), settings(name))
    (run_settings,) = experiment.grid(name)
    with small.eager_training():
        result = experiment.trainings.run({**run_settings, "steps": 1, "schedule": "constant"})
    assert np.isfinite(result["loss"]) and 0 <= result["validation"] <= 1


def test_lengths_of_negative_cosines_are_chords():
    angles = np.array([0.0, 60.0, 180.0])
    table = -np.cos(np.deg2rad(angles))
    np.testing.assert_allclose(METHODS["QP-NPL"].lengths(table), [0, 1, 2], rtol=0, atol=1e-7)
    np.testing.assert_array_equal(METHODS[QP_WL].lengths(angles), angles)


def test_methods_for_eye_movements_need_the_gaze(division):
    assert methods.applicable_methods(division.test) == tuple(METHODS)
    gait = {**small.arrays(), "gaze": None}
    general = methods.applicable_methods(small.make_recordings(**gait))
    assert general == ("QP-WL", "QP-NPL", "MP-NPL", "QP-CLS")
    one_eye = {**small.arrays(), "signals": small.arrays()["gaze"]}
    names = methods.applicable_methods(small.make_recordings(**one_eye))
    assert names == (*general, JAEGER)


def test_the_scale_paper_has_the_papers_settings():
    paper = SCALES["paper"]
    assert (paper.size, paper.steps, paper.learning_rates) == ("paper", 50_000, (1e-4,))
    assert paper.schedule == "constant" and paper.length is None and paper.loss_scales == (1.0,)
    assert float(training.ConstantRate(1e-4).optimizer(9).learning_rate) == pytest.approx(1e-4)


def test_only_the_wasserstein_distance_ranks_disjoint_supports(division):
    """The values of a recording are close to a level of the person, and the supports of two
    recordings never overlap.
    """
    test, knots = division.test, np.array([0.0, 1.0])
    people = np.unique(test.subjects, return_inverse=True)[1]
    level = 10.0 * people + 0.5 * (np.arange(len(test)) % 7)
    values = level[:, None, None] * [[1.0], [2.0]] + 0.125 * knots
    z = np.concatenate([values, np.broadcast_to(knots, (len(test), 1, 2))], axis=1)
    result = measurements.compare_divergences(z, distances.Wasserstein(1), test)
    table = tables.divergences([result])
    assert table["distance"] == ["Wasserstein", "Jensen-Shannon", "Kullback-Leibler"]
    assert table["auc_1"] == [1.0, 0.5, 0.5] and table["infinite"] == [0.0, 0.0, 1.0]
    sentence = report.divergence_sentence(table)
    assert re.findall(r"\d\.\d{4} for the (\S+)", sentence) == table["distance"]
    assert re.findall(r"\d\.\d{4}", sentence) == ["1.0000", "0.5000", "0.5000"]


@pytest.mark.slow
def test_the_protocol_has_the_papers_figures(results):
    table = tables.protocol(results[2], "gait")
    papers = {
        (table["method"][i], table["n"][i]): table["paper"][i]
        for i in range(len(table["n"]))
        if (table["protocol"][i], table["metric"][i]) == ("verification", "auc")
    }
    assert papers[QP_WL, 1] == 0.9923 and papers[QP_WL, 5] == 0.9978 and papers[JAEGER, 1] is None
    assert not any(tables.protocol(results[2], "phone")["paper"])
    values = [run["figures"][0]["value"] for run in results[2][QP_WL]]
    row = table["method"].index(QP_WL)
    assert table["value"][row] == pytest.approx(np.mean(values))
    assert table["stderr_over_seeds"][row] == pytest.approx(np.std(values, ddof=1) / np.sqrt(2))
    assert table["stderr_over_seeds"][0] is None  # without training there is one run


def test_the_paper_ranks_its_method_first_in_every_domain():
    assert len(tables.PAPER) == 3
    for rows in tables.PAPER.values():
        assert set(rows) == {"QP-WL", "QP-NPL", "MP-NPL", "QP-CLS"}
        best = np.max([values for name, values in rows.items() if name != QP_WL], axis=0)
        assert (np.array(rows[QP_WL]) > best).all()
        assert all(list(values) == sorted(values) for values in rows.values())


@pytest.mark.slow
def test_tables_and_pictures_are_written(results, division, tmp_path):
    _, choices, by_method, divergence_results = results
    by_name, paths = report.write(
        tmp_path, "eyes", division, choices, by_method, divergence_results, source="Made up."
    )
    stems = {path.stem for path in paths}
    pictures = {"protocol", "roc_paper", "roc_pooled", "distances", "maps"}
    assert stems == {*pictures, "figures", "divergences", "settings"}
    for name in ("divergences", "settings"):
        head, *rows = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert head.split(",") == list(by_name[name])
        assert [row.split(",")[0] for row in rows] == next(iter(by_name[name].values()))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    content = json.loads((tmp_path / "figures.json").read_text())
    assert content["pooled"] == by_name["pooled"] and content["figures"] == by_name["protocol"]
    pooled = by_name["pooled"]
    assert pooled["method"] == list(by_method) and pooled["seeds"] == [1, 2, 2, 2]
    row = pooled["method"].index(QP_WL)
    assert pooled["difference"][row] is None
    assert pooled["difference"][0] == pytest.approx(pooled["eer"][row] - pooled["eer"][0])
    separated = content["separated"]
    assert set(separated["before"]) == set(NAMES) == set(separated["after"])
    maps = (tmp_path / "maps.csv").read_text()
    assert "person 1" in maps and division.test.names[0] not in maps
