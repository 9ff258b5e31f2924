"""Computes tables that contain means over people and seeds, with standard errors over seeds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zoo.papers.potato import measurements
from zoo.papers.potato.experiment import REFERENCES, Choices
from zoo.papers.potato.methods import METHODS

NAMES = {
    "f1": "F1",
    "recall_at_1": "R@1",
    "recall_at_3": "R@3",
    "nmi": "NMI",
    "map_at_r": "MAP@R",
}
NRA = "NRA"  # not run here: Schall2019 gives no formula that could be implemented
PAPER = {  # Kim2020, Table I, HDM05, per cent
    "DSML-Triplet": {"f1": 53.0, "recall_at_1": 57.3, "recall_at_3": 58.5, "nmi": 52.4},
    "Triplet-Random": {"f1": 48.3, "recall_at_1": 44.5, "recall_at_3": 47.5, "nmi": 45.6},
    "Triplet-Semihard": {"f1": 51.3, "recall_at_1": 50.4, "recall_at_3": 55.3, "nmi": 47.5},
    "Lifted Struct": {"f1": 55.5, "recall_at_1": 59.3, "recall_at_3": 59.2, "nmi": 53.4},
    "N-pair-mc": {"f1": 59.8, "recall_at_1": 60.0, "recall_at_3": 61.0, "nmi": 59.4},
    "Proxy NCA": {"f1": 59.0, "recall_at_1": 63.3, "recall_at_3": 64.5, "nmi": 62.0},
    NRA: {"f1": 59.2, "recall_at_1": 64.3, "recall_at_3": 65.2, "nmi": 64.1},
    "RPL": {"f1": 59.4, "recall_at_1": 66.7, "recall_at_3": 68.8, "nmi": 65.4},
}
ORDER = (*REFERENCES, *(name for name in METHODS if name != "RPL"), NRA, "RPL")

Rows = Sequence[Mapping[str, Any]]
Table = dict[str, list[Any]]


def average(rows: Rows, by: Sequence[str], columns: Sequence[str]) -> Table:
    """Averages figures over people for each seed, and then averages over seeds.

    Args:
        rows: Dictionaries that contain a `seed`.
        by: Keys that define the groups of rows.
        columns: Names of the figures.

    Returns:
        Table, a dictionary from names to columns. The columns are the keys in `by` and the names in
        `columns`. Each name also has a column `..._stderr` with its standard error over seeds,
        or None for a single seed. The groups are in the order of their first rows.
    """
    groups = {}
    for row in rows:
        key = tuple(row[name] for name in by)
        groups.setdefault(key, {}).setdefault(row["seed"], []).append(row)
    table = {name: [key[i] for key in groups] for i, name in enumerate(by)}
    for column in columns:
        means_of_seeds = [
            [_mean([row[column] for row in rows_of_seed]) for rows_of_seed in seeds.values()]
            for seeds in groups.values()
        ]
        table[column] = [_mean(values) for values in means_of_seeds]
        table[f"{column}_stderr"] = [_standard_error(values) for values in means_of_seeds]
    return table


def comparison(rows: Rows) -> Table:
    """Returns Table I with our figures of every loss. The columns `..._paper` contain the figures
    of the paper. All figures are fractions.
    """
    averages = average(rows, ("method",), tuple(NAMES))
    index = {name: i for i, name in enumerate(averages["method"])}
    methods = [name for name in ORDER if name in index or (name == NRA and "RPL" in index)]
    table = {"method": methods}
    for column in NAMES:
        for name in (column, f"{column}_stderr"):
            table[name] = [
                averages[name][index[method]] if method in index else None for method in methods
            ]
        papers = [PAPER.get(method, {}).get(column) for method in methods]
        table[f"{column}_paper"] = [None if x is None else round(x / 100, 4) for x in papers]
    return table


def people(rows: Rows) -> Table:
    """Returns the Recall@1 of each loss and person, in the columns method, person, value and
    value_stderr.
    """
    averages = average(rows, ("method", "person"), ("recall_at_1",))
    order = sorted(
        range(len(averages["method"])),
        key=lambda i: (ORDER.index(averages["method"][i]), averages["person"][i]),
    )
    averages["value"] = averages.pop("recall_at_1")
    averages["value_stderr"] = averages.pop("recall_at_1_stderr")
    return {name: [values[i] for i in order] for name, values in averages.items()}


def settings(choices: Choices) -> Table:
    """Returns the chosen settings, one row for each loss and person."""
    table = {
        name: [] for name in ("method", "person", "chosen_on", "constants", "learning_rate", "seen")
    }
    for (method, person), choice in choices.items():
        constants = ", ".join(f"{key} {value:g}" for key, value in choice.constants.items())
        values = (method, person, choice.person, constants, choice.learning_rate, choice.seen)
        for column, value in zip(table.values(), values, strict=True):
            column.append(value)
    return table


def spread(rows: Rows) -> Table:
    """Returns quantiles of the distances to the centers of classes, averaged over people (Kim2020,
    Fig. 2).
    """
    table = {"method": [], "kind": [], "fraction": [], "distance": []}
    for method in [name for name in ORDER if any(row["method"] == name for row in rows)]:
        rows_of_method = [row for row in rows if row["method"] == method]
        for kind, key in (("own", "within"), ("other", "between")):
            distances = np.mean([row[key] for row in rows_of_method], axis=0)
            count = len(distances)
            table["method"] += [method] * count
            table["kind"] += [kind] * count
            table["fraction"] += measurements.QUANTILES.round(4).tolist()
            table["distance"] += distances.tolist()
    return table


def separated(rows: Rows) -> dict[str, float]:
    """Returns one number per method: the mean over people of `separated`, which
    `measurements.spread` computes.
    """
    methods = dict.fromkeys(row["method"] for row in rows)
    return {
        name: _mean([row["separated"] for row in rows if row["method"] == name]) for name in methods
    }


def _mean(values):
    return None if any(value is None for value in values) else float(np.mean(values))


def _standard_error(values):
    if len(values) < 2 or any(value is None for value in values):
        return None
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))
