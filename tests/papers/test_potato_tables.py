"""Tests means, standard errors and the paper's figures in the tables of the potato experiment."""

import numpy as np
import pytest

from zoo.papers.potato import tables


def rows(method="RPL", recalls=((0.8, 1.0), (0.6, 0.6), (1.0, 0.9))):
    """Returns one row for each seed and person. All figures of a row are equal."""
    return [
        {"method": method, "seed": seed, "person": person, **dict.fromkeys(tables.NAMES, value)}
        for seed, values in enumerate(recalls)
        for person, value in zip("ab", values, strict=True)
    ]


def test_people_are_averaged_before_seeds():
    table = tables.average(rows(), ("method",), ("nmi",))
    seeds = [0.9, 0.6, 0.95]
    assert table["nmi"] == [pytest.approx(np.mean(seeds))]
    assert table["nmi_stderr"] == [pytest.approx(np.std(seeds, ddof=1) / np.sqrt(3))]


def test_one_seed_has_no_standard_error():
    assert tables.average(rows()[:2], ("method",), ("f1",))["f1_stderr"] == [None]


def test_average_of_missing_figures_is_none():
    assert tables.average([{"seed": 0, "loss": None}], (), ("loss",))["loss"] == [None]


def test_comparison_has_the_papers_figures_and_an_empty_row_for_nra():
    table = tables.comparison([*rows(), *rows("Contrastive"), *rows("No network")])
    assert table["method"] == ["No network", "Contrastive", "NRA", "RPL"]
    assert table["recall_at_1_paper"] == [None, None, 0.643, 0.667]
    assert table["recall_at_1"][2] is None and table["map_at_r_paper"] == [None] * 4
    assert len({len(column) for column in table.values()}) == 1


def test_people_are_in_the_order_of_the_methods():
    table = tables.people([*rows(), *rows("Untrained")])
    assert table["method"] == ["Untrained", "Untrained", "RPL", "RPL"]
    assert table["person"] == ["a", "b", "a", "b"]
    assert table["value"][3] == pytest.approx(2.5 / 3)
