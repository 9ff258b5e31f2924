"""Computes Table 1, which contains accuracies with their intervals and the accuracies of the
paper.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scipy import stats

from zoo.papers.prototypes.methods import ROWS

PAPER = {  # Monteiro2020, Table 1, MNIST, per cent
    "AT": {"clean": 99.24, "short": 97.31, "long": 96.58, "fgsm": 94.82},
    "ALP": {"clean": 98.91, "short": 97.34, "long": 96.62, "fgsm": 95.06},
    "TLA": {"clean": 99.52, "short": 98.17, "long": 97.72, "fgsm": 96.96},
    "TRADES": {"clean": 99.48, "short": 96.07, "fgsm": 95.60},
    "DOL": {"clean": 99.31, "short": 0.02, "long": 0.01, "fgsm": 17.18},
    "SIM": {"clean": 99.36, "short": 23.85, "long": 13.61, "fgsm": 68.51},
    "DOL + AT": {"clean": 98.71, "short": 95.04, "long": 93.78, "fgsm": 97.62},
    "SIM + AT": {"clean": 98.79, "short": 95.35, "long": 93.98, "fgsm": 97.84},
}
PAPER["SIM + AT, LeNet"] = PAPER["SIM + AT"]  # the paper's network is a LeNet
PAPER_COLUMNS = {"clean": "clean", "fgsm": "FGSM", "short": "PGD-40", "long": "PGD-100"}

Table = dict[str, list[Any]]


def column_heads(attacks: Mapping[str, Any]) -> dict[str, str]:
    """Returns the headings of those columns of the table that contain figures, as a dictionary from
    columns to headings.

    Args:
        attacks: Dictionary from columns to attacks, as in `Experiment.attacks`.
    """
    return {
        "clean": "clean",
        **{column: attack.name for column, attack in attacks.items()},
        "worst": "union",
    }


def comparison(sums: Mapping[str, Sequence[Mapping[str, int]]], columns: Iterable[str]) -> Table:
    """Returns a table of accuracies with one row per method.

    Args:
        sums: Output of `Experiment.attack`.
        columns: Names of the figures, the keys of `column_heads`.

    Returns:
        Dictionary from names to columns. The columns are `method`, `count`, `seeds`, `not_finite`
        and six columns for each figure `x`. `x` is the mean over seeds. `x_low` and `x_high` are
        the bounds of its 95 % Wilson interval over images. `x_least` and `x_most` are the smallest
        and the largest value of a seed. `x_paper` is the figure of the paper.
    """
    names = [name for name in ROWS if name in sums]
    counts = [sums[name][0]["count"] for name in names]
    table = {"method": names, "count": counts, "seeds": [len(sums[name]) for name in names]}
    for column in columns:
        summaries = [
            _summary([seed[column] for seed in sums[name]], count)
            for name, count in zip(names, counts, strict=True)
        ]
        ends = ("", "_low", "_high", "_least", "_most")
        for end, values in zip(ends, zip(*summaries, strict=True), strict=True):
            table[f"{column}{end}"] = list(values)
        if column in PAPER_COLUMNS:
            papers = [PAPER[name].get(column) for name in names]
            table[f"{column}_paper"] = [None if x is None else round(x / 100, 4) for x in papers]
    table["not_finite"] = [sum(seed["not_finite"] for seed in sums[name]) for name in names]
    return table


def _summary(right, count):
    """Returns five fractions: the mean over seeds, the two bounds of the interval of this mean over
    images, and the smallest and the largest value of a single seed.
    """
    mean = statistics.mean(right)
    interval = stats.binomtest(round(mean), count).proportion_ci(method="wilson")
    ends = (mean / count, interval.low, interval.high, min(right) / count, max(right) / count)
    return tuple(round(float(x), 4) for x in ends)
