"""Tests `zoo.compare`, which compares methods on the same trials over seeds and people."""

import json
import pathlib

import numpy as np
import pytest

from keras_dml.training import measure, trials
from zoo import compare


def run(rng, folder, spread):
    """Writes trials of 20 people with six recordings in two sessions to the folder of a run."""
    people = np.repeat(np.arange(20), 6)
    points = 3 * np.random.default_rng(7).normal(size=(20, 2))[people]
    points += spread * rng.normal(size=points.shape)
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    found = trials.latest_against_earlier(distances, people, np.tile([1, 1, 1, 2, 2, 2], 20))
    folder.mkdir()
    np.savez(folder / measure.TRIALS, **found.arrays())
    return folder


@pytest.fixture
def folders(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "REPLICATES", 40)
    return {
        label: [run(rng, tmp_path / f"{label}_{seed}", spread) for seed in range(3)]
        for label, spread in (("near", 0.5), ("same", 0.5), ("far", 2.0))
    }


def test_the_interval_of_a_worse_method_lies_below_zero_and_that_of_an_equal_one_around(folders):
    found = compare.differences(folders)
    assert found["method"] == ["near", "same", "far"]
    none, same, far = zip(found["ci95 low"], found["ci95 high"], strict=True)
    assert none == (None, None)
    assert same[0] <= 0 <= same[1] and far[1] < 0
    expected = found["eer"][0] - found["eer"][2]
    assert found["first less this"][2] == pytest.approx(expected, abs=2e-5)
    assert far[0] <= expected <= far[1]


def test_what_protocols_call_sessions_are_blocks_of_a_sitting(tmp_path):
    row = {"protocol": "session_verification", "n": 1, "metric": "eer", "fraction": None}
    (tmp_path / measure.FIGURES).write_text(json.dumps([row | {"value": 0.1, "trials": 9}]))
    assert compare.table({"near": [tmp_path]})["protocol"] == ["block_verification"]
    published = (pathlib.Path(compare.__file__).parent).glob("*/figures/methods.csv")
    assert not any("session" in path.read_text() for path in published)


def test_columns_become_lines_of_text():
    assert compare.as_csv({"a": [1, 2], "b": [None, "x, y"]}) == 'a,b\n1,\n2,"x, y"\n'
