"""Tests that error rates of a model are measured on people and combined over folds."""

import json

import numpy as np
import pytest

from keras_dml.training import People, measure, trials


def test_figures_over_folds_are_means_with_all_trials():
    parts = [
        measure.Measurement(
            [{"metric": "eer", "value": value, "stderr": 1.0, "trials": 10, "people": people}],
            trials.against_gallery(np.full((1, 3), value) + [0, 1, 2], ["a"], ["a", "b", "c"]),
        )
        for value, people in ((0.1, 4), (0.2, 4), (0.6, 5))
    ]
    pooled = measure.combine_folds(parts)
    (row,) = pooled.figures
    assert row["value"] == pytest.approx(0.3) and row["folds"] == [0.1, 0.2, 0.6]
    assert row["stderr"] == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / 3**0.5)
    assert (row["trials"], row["people"]) == (30, 13)
    assert len(pooled.trials.scores) == 9 and pooled.trials.scores[3] == 0.2


def test_a_measurement_has_figures_of_both_protocols_and_is_saved(rng, tmp_path):
    subjects = np.repeat(list("abcd"), 12).tolist()
    people = People([None] * 48, subjects, np.tile(np.repeat([1, 2], 6), 4).tolist())
    centers = np.repeat(np.arange(4) * 5.0, 12) + rng.normal(size=48)
    measured = measure.measure_people(abs(centers[:, None] - centers), people)
    kinds = {(row["protocol"], row["n"]) for row in measured.figures}
    assert {("verification", 1), ("session_verification", 5), ("identification", 5)} <= kinds
    assert len(measured.trials.scores) == 24 * 4 and measured.trials.genuine.sum() == 24
    measured.save(tmp_path, "made up")
    assert json.loads((tmp_path / "figures.json").read_text()) == measured.figures
    kept = np.load(tmp_path / "trials.npz")
    np.testing.assert_array_equal(kept["scores"], measured.trials.scores)
    assert (kept["probes"] == kept["claims"]).sum() == kept["genuine"].sum() == 24
    assert json.loads((tmp_path / "headline.json").read_text()) == measured.headline
    assert "4 people, 4 gallery, 24 probes" in measure.headline_summary(measured.headline)
    assert {path.suffix for path in tmp_path.glob("roc_det.*")} == {".png", ".svg"}


def test_a_proportion_has_its_binomial_error():
    row = measure.proportion("classification", "accuracy", 0.9, 100, head="sim")
    assert row["stderr"] == pytest.approx(0.03) and row["head"] == "sim"
    assert "head sim" in measure.summary([row]) and "(100 trials)" in measure.summary([row])


def test_the_unit_is_the_median_between_different_people():
    known = People([0.0, 1.0, 4.0], ["a", "a", "b"], [1, 2, 1])
    assert measure.distance_unit(distances, known) == 3.5
    with pytest.raises(ValueError, match="median distance between two people is -3.5"):
        measure.distance_unit(lambda signals: -distances(signals), known)


def distances(signals):
    return np.abs(np.subtract.outer(signals, signals))
