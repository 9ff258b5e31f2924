"""Computes the tables of the comparison, which contain figures with their intervals and the figures
of the paper.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from keras_dml import evaluation
from keras_dml.evaluation.protocol import mean_and_standard_error
from keras_dml.training.trials import Trials
from zoo.papers.wasserstein import measurements
from zoo.papers.wasserstein.experiment import Choice
from zoo.papers.wasserstein.methods import MP_NPL, QP_CLS, QP_NPL, QP_WL

PAPER = {  # Abdelwahab2019, Table 1: AUC of verification with 1 to 5 recordings observed
    "eyes": {
        QP_WL: (0.9466, 0.9716, 0.9799, 0.9837, 0.9860),
        QP_NPL: (0.9345, 0.9584, 0.9667, 0.9705, 0.9738),
        MP_NPL: (0.8890, 0.9232, 0.9334, 0.9392, 0.9437),
        QP_CLS: (0.9007, 0.9318, 0.9424, 0.9503, 0.9538),
    },
    "gait": {
        QP_WL: (0.9923, 0.9963, 0.9971, 0.9974, 0.9978),
        QP_NPL: (0.9889, 0.9932, 0.9943, 0.9947, 0.9951),
        MP_NPL: (0.9459, 0.9624, 0.9690, 0.9735, 0.9757),
        QP_CLS: (0.9579, 0.9756, 0.9812, 0.9856, 0.9878),
    },
    "eeg": {
        QP_WL: (0.9968, 0.9985, 0.9988, 0.9991, 0.9992),
        QP_NPL: (0.9927, 0.9941, 0.9953, 0.9955, 0.9959),
        MP_NPL: (0.9611, 0.9687, 0.9713, 0.9722, 0.9732),
        QP_CLS: (0.9796, 0.9868, 0.9901, 0.9920, 0.9923),
    },
}
KEYS = ("protocol", "n", "fraction", "metric")
BOOTSTRAP = 1000

Table = dict[str, list[Any]]
Results = Mapping[str, Sequence[Mapping[str, Any]]]


def protocol(results: Results, domain: str) -> Table:
    """Returns a table with the figures of the paper's protocol. The table contains one row per
    method and figure.

    Args:
        results: Output of `Experiment.compare`.
        domain: A key of `PAPER`, or a domain that the paper does not use.

    Returns:
        Dictionary from names to columns. `value` is the mean over seeds. `stderr` is the standard
        error over draws of recordings, averaged over seeds. `stderr_over_seeds` is None for one
        seed. `paper` is the figure of the paper, or None if the paper does not print this figure.
        The other columns are `method`, the names in `KEYS`, `people` and `left_out`.
    """
    columns = ("value", "stderr", "stderr_over_seeds", "people", "left_out", "paper")
    table = {name: [] for name in ("method", *KEYS, *columns)}
    for method, runs in results.items():
        for figures in zip(*(run["figures"] for run in runs), strict=True):
            first, values = figures[0], [figure["value"] for figure in figures]
            over_seeds = mean_and_standard_error(values)[1] if len(values) > 1 else None
            row = {
                "method": method,
                **{key: first[key] for key in KEYS},
                "value": statistics.fmean(values),
                "stderr": statistics.fmean(figure["stderr"] for figure in figures),
                "stderr_over_seeds": over_seeds,
                "people": first["people"],
                "left_out": first["left_out"],
                "paper": _paper(domain, method, first),
            }
            for name, value in row.items():
                table[name].append(value)
    return table


def pooled(results: Results, trials: Trials) -> Table:
    """Returns a table with the figures of the stricter trials, which use one threshold for all
    people. The table contains one row per method.

    Args:
        results: Output of `Experiment.compare`. The output must contain `QP_WL`.
        trials: Output of `measurements.strict_trials` for the tested people.

    Returns:
        Dictionary from names to columns. `auc` and `eer` are means over seeds. `eer_low` and
        `eer_high` are the bounds of the 95 % interval over people and seeds. `difference` is the
        EER of QP-WL minus the EER of the method. `difference_low` and `difference_high` are the
        bounds of its paired interval. These three columns contain None in the row of QP-WL. The
        other columns are `method` and `seeds`.
    """
    order = [QP_WL, *(name for name in results if name != QP_WL)]
    comparison = evaluation.eer_comparison(
        {name: [run["scores"] for run in results[name]] for name in order},
        trials.genuine,
        people=trials.people,
        bootstrap=BOOTSTRAP,
    )
    table = {name: [] for name in ("method", "seeds", "auc", "eer", "eer_low", "eer_high")}
    table |= {name: [] for name in ("difference", "difference_low", "difference_high")}
    for name, runs in results.items():
        eer = comparison[name]
        areas = [evaluation.verification(run["scores"], trials.genuine).auc for run in runs]
        interval = (None, None) if eer.difference_ci95 is None else eer.difference_ci95
        values = (name, len(runs), statistics.fmean(areas), eer.value, *eer.ci95)
        for column, value in zip(table.values(), (*values, eer.difference, *interval), strict=True):
            column.append(value)
    return table


def divergences(results: Sequence[Mapping[str, Any]]) -> Table:
    """Returns a table with the figures of QP-WL's embeddings for each divergence, averaged over
    seeds.

    Args:
        results: Output of `Experiment.compare_divergences`.

    Returns:
        Dictionary from names to columns. `distance` is the name of the divergence, and `infinite`
        is the fraction of pairs with an infinite divergence. `auc_1`, `auc_5`, `eer_1` and `eer_5`
        are figures of verification with one and five new recordings per person. `accuracy_1` and
        `accuracy_5` are accuracies of identification among all people. For each figure there is a
        column `..._stderr` with its standard error over the draws.
    """
    columns = {
        f"{metric}_{n}": (kind, n, fraction, metric)
        for kind, metric, fraction in (
            ("verification", "auc", None),
            ("verification", "eer", None),
            ("identification", "accuracy", 1.0),
        )
        for n in (1, 5)
    }
    table = {"distance": list(results[0]), "infinite": []}
    table |= {f"{name}{end}": [] for name in columns for end in ("", "_stderr")}
    for name in table["distance"]:
        table["infinite"].append(statistics.fmean(run[name]["infinite"] for run in results))
        for column, key in columns.items():
            rows = [_row(run[name]["figures"], key) for run in results]
            table[column].append(statistics.fmean(row["value"] for row in rows))
            table[f"{column}_stderr"].append(statistics.fmean(row["stderr"] for row in rows))
    return table


def settings(choices: Mapping[str, Choice]) -> Table:
    """Returns a table with the settings that were chosen on the validation people. The table
    contains one row per method.
    """
    names = ("method", "tried", "learning_rate", "slope_l2", "scale", "validation")
    table = {name: [] for name in names}
    for method, choice in choices.items():
        values = (choice.settings[name] for name in ("learning_rate", "slope_l2", "scale"))
        row = (method, choice.candidates, *values, choice.validation)
        for column, value in zip(table.values(), row, strict=True):
            column.append(value)
    return table


def spread(results: Results) -> tuple[Table, dict[str, dict[str, float]]]:
    """Returns quantiles of the distances within people and of the distances between people, for the
    first seed.

    Returns:
        A table for `reports.person_distances`, and a dictionary with the keys `before` and `after`
        (the training). Each value is a dictionary from methods to the figure `separated`.
    """
    table = {name: [] for name in ("method", "stage", "kind", "fraction", "distance")}
    separated = {"before": {}, "after": {}}
    for method, runs in results.items():
        for stage, by_method in separated.items():
            if stage not in runs[0] or "before" not in runs[0]:
                continue
            quantiles = runs[0][stage]["spread"]
            by_method[method] = quantiles["separated"]
            for kind in ("same", "other"):
                count = len(quantiles[kind])
                table["method"] += [method] * count
                table["stage"] += [f"{stage} training"] * count
                table["kind"] += [kind] * count
                table["fraction"] += measurements.QUANTILES.round(4).tolist()
                table["distance"] += quantiles[kind]
    return table, separated


def maps(results: Results) -> Table:
    """Returns coordinates in the plane for recordings. Only recordings of the first people and
    networks of the first seed are used.

    Each method has a panel in the picture. The table identifies people by numbers, not by names.
    """
    table = {name: [] for name in ("panel", "person", "x", "y")}
    for method, runs in results.items():
        data = runs[0]["after"]
        table["panel"] += [method] * len(data["mapped"])
        numbers = {name: i for i, name in enumerate(dict.fromkeys(data["mapped"]), start=1)}
        table["person"] += [f"person {numbers[name]}" for name in data["mapped"]]
        table["x"] += [x for x, _ in data["map"]]
        table["y"] += [y for _, y in data["map"]]
    return table


def rows_with(table: Table, *key: Any) -> list[int]:
    """Returns the indices of the rows with a given method and given values of `KEYS`, in the table
    that `protocol` returns.
    """
    keys = zip(*(table[name] for name in ("method", *KEYS)), strict=True)
    return [i for i, row_key in enumerate(keys) if row_key == key]


def _paper(domain, method, figure):
    if (figure["protocol"], figure["metric"]) != ("verification", "auc"):
        return None
    areas = PAPER.get(domain, {}).get(method)
    return areas[figure["n"] - 1] if areas else None


def _row(rows, key):
    """Returns the one row that has the given values in the columns `KEYS`."""
    (row,) = [row for row in rows if tuple(row[name] for name in KEYS) == key]
    return row
