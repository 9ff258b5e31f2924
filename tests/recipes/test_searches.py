"""Tests that the results of a search for settings are stored as lines of a file."""

import json

import pytest
import typer

from zoo import searches

WANTED = [{"variant": name, "fold": fold} for name in ("", "wide") for fold in range(2)]


def found(one):
    return {"eer": len(one["variant"]) + one["fold"]}


def test_what_is_there_is_not_run_again(tmp_path):
    file = tmp_path / "searches" / "runs.jsonl"
    first = searches.completed(file, WANTED[:3], found)
    assert [line["eer"] for line in first] == [0, 1, 4]
    ran = []
    lines = searches.completed(file, WANTED, lambda one: ran.append(one) or found(one))
    assert ran == WANTED[3:] and lines[:3] == first and len(lines) == 4
    assert [json.loads(line) for line in file.read_text().splitlines()] == lines


def test_a_line_that_a_killed_search_left_by_half_is_run_again(tmp_path):
    file = tmp_path / "runs.jsonl"
    whole = searches.completed(file, WANTED, found)
    file.write_text(file.read_text()[:-9])
    assert searches.completed(file, WANTED, found) == whole
    assert [json.loads(line) for line in file.read_text().splitlines()] == whole


def test_a_run_that_fails_leaves_the_others(tmp_path):
    def fails(one):
        if one == WANTED[2]:
            raise RuntimeError("out of memory")
        return found(one)

    file = tmp_path / "runs.jsonl"
    with pytest.raises(RuntimeError):
        searches.completed(file, WANTED, fails)
    assert len(file.read_text().splitlines()) == 2


def test_what_an_option_cannot_be_is_refused_with_all_that_it_can():
    searches.check({"fold": ([1], range(3)), "method": (None, ["a"])})
    with pytest.raises(
        typer.BadParameter, match=r"Received --fold 3. .* must be one of \[0, 1, 2\]"
    ):
        searches.check({"fold": ([1, 3], range(3))})
