"""Tests that finished runs are not repeated, and that a failed run leaves no file."""

import json
import os
import pathlib

import pytest

from keras_dml.training import Runs

PLAN = [{"name": "a", "seed": seed} for seed in range(3)]


def counting(done):
    def run(settings):
        done.append(settings["seed"])
        return {"answer": settings["seed"] ** 2}

    return run


def test_results_come_in_the_plans_order_and_equal_settings_run_once(tmp_path):
    done = []
    plan = [PLAN[2], PLAN[0], PLAN[2]]
    found = Runs(tmp_path).make(plan, counting(done), "count")
    assert [one["answer"] for one in found] == [4, 0, 4]
    assert done == [2, 0]


def test_a_stopped_plan_goes_on_where_it_was(tmp_path):
    done = []
    run = counting(done)

    def stopped(settings):
        if settings["seed"] == 1:
            raise KeyboardInterrupt
        return run(settings)

    with pytest.raises(KeyboardInterrupt):
        Runs(tmp_path).make(PLAN, stopped, "count")
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]
    Runs(tmp_path).make(PLAN, run, "count")
    assert done == [0, 1, 2]


@pytest.mark.parametrize(
    "take, message",
    [
        (lambda path: path.symlink_to("nothing"), "is a link to nothing"),
        (pathlib.Path.mkdir, "is a folder"),
        (os.mkfifo, "is a pipe"),  # reading a pipe would never end
    ],
    ids=["link", "folder", "pipe"],
)
def test_a_place_that_is_taken_is_told_before_any_run(tmp_path, take, message):
    runs, done = Runs(tmp_path), []
    take(runs.path(PLAN[2]))
    with pytest.raises(ValueError, match=message):
        runs.make(PLAN, counting(done), "count")
    assert not done


def test_a_file_holds_settings_and_result(tmp_path):
    runs = Runs(tmp_path / "made" / "here")
    runs.make(PLAN[:1], counting([]), "count")
    kept = json.loads(runs.path(PLAN[0]).read_text())
    assert kept["settings"] == PLAN[0] and kept["result"] == {"answer": 0}
    assert runs.path(PLAN[0]).name.startswith("a-")


def test_other_settings_are_another_run_whatever_the_order_of_keys(tmp_path):
    runs = Runs(tmp_path)
    assert runs.path({"a": 1, "b": 2}) == runs.path({"b": 2, "a": 1}) != runs.path({"a": 1})
    assert runs.find(PLAN[0]) is None


def test_a_damaged_file_is_named_with_what_to_do(tmp_path):
    runs = Runs(tmp_path)
    runs.path(PLAN[0]).write_text('{"settings": ')
    with pytest.raises(ValueError, match=r"a-\w+\.json is damaged .*Delete the file"):
        runs.make(PLAN, counting([]), "count")
