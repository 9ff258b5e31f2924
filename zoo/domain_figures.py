"""Accuracies on domains left out of training: rows of the card, a figure and its finding."""

import numpy as np

from keras_dml import reports
from keras_dml.evaluation import protocol
from keras_dml.reports import style
from zoo import domains

AVERAGE = "average"


def table(found, methods):
    """Accuracy of every method on every domain left out, and on their average, as columns.

    Args:
        found: `{(method, domain, seed): accuracy}`, complete.
        methods: Names of the methods.

    Returns:
        Columns `left_out`, `method`, `accuracy`, `stderr` (over the seeds) and `seeds`.
    """
    columns = {"left_out": [], "method": [], "accuracy": [], "stderr": [], "seeds": []}
    for domain in (*domains.DOMAINS, AVERAGE):
        for method in methods:
            values = over_seeds(found, method, domain)
            mean, error = protocol.mean_and_standard_error(values)
            row = (domain, method, round(mean, 5), round(error, 5), len(values))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


def rows(found, methods, known):
    """Rows of the card: the average first, then every domain; last what SIM gains.

    Args:
        found: Same as in `table`.
        methods: Names of the methods.
        known: `zoo.domains.DomainImages`.
    """
    columns = table(found, methods)
    listed = []
    for left_out, name, value, error, seeds in zip(*columns.values(), strict=True):
        average = left_out == AVERAGE
        listed.append(
            {
                "protocol": "classification",
                "n": 1,
                "metric": "accuracy",
                "value": value,
                "stderr": error,
                "trials": int(len(known.labels) if average else np.sum(known.domains == left_out)),
                "domain": "each domain left out" if average else f"{left_out} left out",
                "head": "plain softmax" if name == "softmax" else name.lower(),
                "seeds": seeds,
            }
        )
    listed.sort(key=lambda row: row["domain"] != "each domain left out")
    gain, error = lead(found, "SIM", "softmax")
    difference = {"metric": "accuracy_gain", "value": gain, "stderr": error}
    return [*listed, {**listed[0], **difference, "head": "sim less plain softmax"}]


def over_seeds(found, method, domain):
    """Accuracies of a method, one a seed; of `AVERAGE` the means over the domains."""
    seeds = sorted({seed for _, _, seed in found})
    of = list(domains.DOMAINS) if domain == AVERAGE else [domain]
    return [float(np.mean([found[method, one, seed] for one in of])) for seed in seeds]


def lead(found, first, second):
    """Mean and standard error, over the seeds, by which a method is ahead of another on average;
    both have the same seeds and batches."""
    pairs = (over_seeds(found, method, AVERAGE) for method in (first, second))
    return protocol.mean_and_standard_error([a - b for a, b in zip(*pairs, strict=True)])


def figure(found, methods, caption):
    """Dots with standard errors, a row for each domain left out and one for the average.

    Args:
        found: Same as in `table`.
        methods: Names of the methods.
        caption: Data and protocol.

    Returns:
        `matplotlib.figure.Figure`; `reports.save` writes it.
    """
    columns = table(found, methods)
    groups = [*domains.DOMAINS, AVERAGE]
    with style.house_style():
        drawn = style.new_figure(finding(found, methods), caption, width=8.4, height=4.8)
        axes = drawn.subplots()
        for position, method in enumerate(methods):
            rows = [i for i, name in enumerate(columns["method"]) if name == method]
            color, _ = style.method_look(method, position)
            axes.errorbar(
                [100 * columns["accuracy"][i] for i in rows],
                np.arange(len(groups)) + 0.2 * (position - (len(methods) - 1) / 2),
                xerr=[100 * columns["stderr"][i] for i in rows],
                fmt="os^Dv"[position % 5],
                color=color,
                capsize=3,
                label=method,
            )
        axes.set_yticks(range(len(groups)), [name.replace("_", " ") for name in groups])
        axes.get_yticklabels()[-1].set_fontweight("bold")
        axes.invert_yaxis()
        axes.set_ylabel("domain never trained on")
        axes.set_xlabel("accuracy, %")
        axes.legend(loc="best")
    return drawn


def finding(found, methods):
    """The averages in one sentence: which method is ahead, if one is."""
    values = {
        method: protocol.mean_and_standard_error(over_seeds(found, method, AVERAGE))
        for method in methods
    }
    best, *others = sorted(methods, key=lambda method: -values[method][0])
    gap, error = lead(found, best, others[0])
    said = [f"{name} {style.percent(values[name][0])}" for name in (best, *others)]
    if gap > 2 * error:
        return f"{best} is ahead on domains never trained on: {style.listed(said)}"
    return (
        f"{best} and {others[0]} are level on domains never trained on, within two standard "
        f"errors: {style.listed(said)}"
    )


def save(found, methods, known, stem):
    """Writes the figure and its numbers, and prints the finding.

    Args:
        found: Same as in `table`.
        methods: Names of the methods.
        known: `zoo.domains.DomainImages`.
        stem: Path of the files without their endings.

    Returns:
        The paths.
    """
    seeds = len({seed for _, _, seed in found})
    caption = (
        f"PACS, {len(known.labels):,} pictures of 7 classes: each domain by a network trained on "
        f"the other three. Means of {seeds} seeds ± standard errors over them. SIM and DOL are "
        "heads of one model; the softmax is trained alone, from the same ImageNet weights of "
        "EfficientNet-Lite0, by the same batches and steps."
    )
    print(finding(found, methods))
    return reports.save(figure(found, methods, caption), stem, table(found, methods))
