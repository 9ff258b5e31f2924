"""Table 1: accuracies with their intervals, the paper's beside them."""

from scipy import stats

from keras_dml.reproduce.prototypes.methods import ROWS

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
OF_PAPER = {"clean": "clean", "fgsm": "FGSM", "short": "PGD-40", "long": "PGD-100"}


def heads(attacks):
    """Headings of the table's columns of figures.

    Args:
        attacks: Attacks by column, `Experiment.attacks`.
    """
    return {
        "clean": "clean",
        **{column: attack.name for column, attack in attacks.items()},
        "worst": "worst case",
    }


def comparison(sums, columns):
    """Accuracies, a row a method.

    Args:
        sums: Output of `Experiment.attack`.
        columns: Names of the figures, `heads`.

    Returns:
        Table, columns by name: `method`, `count`, of each figure `x`, `x_low` and `x_high`, its 95
        % interval by Wilson, and of what the paper has `x_paper`; and `not_finite`.
    """
    names = [name for name in ROWS if name in sums]
    table = {"method": names, "count": [sums[name]["count"] for name in names]}
    for column in columns:
        found = [_with_interval(sums[name][column], sums[name]["count"]) for name in names]
        for key, values in zip(("", "_low", "_high"), zip(*found, strict=True), strict=True):
            table[f"{column}{key}"] = list(values)
        if column in OF_PAPER:
            papers = [PAPER[name].get(column) for name in names]
            table[f"{column}_paper"] = [None if x is None else round(x / 100, 4) for x in papers]
    table["not_finite"] = [sums[name]["not_finite"] for name in names]
    return table


def _with_interval(count, total):
    interval = stats.binomtest(count, total).proportion_ci(method="wilson")
    return tuple(round(float(x), 4) for x in (count / total, interval.low, interval.high))
