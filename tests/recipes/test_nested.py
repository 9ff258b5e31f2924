"""Tests nested cross-validation, in which the settings of a group depend only on its partner."""

import pytest

from zoo import nested

GRID = [{"margin": 1.0}, {"margin": 3.0}]


def test_a_groups_settings_are_the_best_on_its_partner():
    scores = {
        1.0: {"a": 0.9, "b": 0.2, "c": 0.1, "d": 0.8},
        3.0: {"a": 0.5, "b": 0.6, "c": 0.7, "d": 0.1},
    }
    trained = []

    def validate(candidate, pair):
        trained.append((candidate["margin"], pair))
        return [scores[candidate["margin"]][group] for group in pair]

    of_groups, of_all = nested.choose(GRID, ["a", "b", "c", "d"], validate)
    assert [one["margin"] for one in of_groups] == [3.0, 1.0, 1.0, 3.0]
    assert of_all == {"margin": 1.0}
    assert trained == [(margin, pair) for margin in (1.0, 3.0) for pair in (("a", "c"), ("b", "d"))]


def test_an_odd_number_of_groups_is_refused():
    with pytest.raises(ValueError, match="Received 3 `groups`"):
        nested.choose(GRID, "abc", None)


def test_runs_of_other_settings_have_other_names():
    names = {nested.name(one, pair) for one in GRID for pair in ("ab", "ac")}
    assert len(names) == 4 and "without_a_b_margin_3" in names
