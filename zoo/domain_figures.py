"""Accuracies on domains left out of training: rows of the card, a figure and its finding.

What is found is `{(method, domain, seed): right}`: of each picture of a domain whether a network
that never saw the domain names it.
"""

import numpy as np

from keras_dml import reports
from keras_dml.evaluation import protocol
from keras_dml.reports import style
from keras_dml.training import pooled
from keras_dml.training.answers import Answers
from zoo import domains

AVERAGE = "average"
ON_AVERAGE = "each domain left out"


def table(found, methods):
    """Accuracy of every method on every domain left out, and on their average, as columns.

    Args:
        found: What is found.
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


def rows(found, methods):
    """Rows of the card: the average first, then every domain; last what SIM gains.

    Args:
        found: What is found.
        methods: Names of the methods.
    """
    columns = table(found, methods)
    listed = []
    for left_out, name, value, error, seeds in zip(*columns.values(), strict=True):
        answers = over_pictures(found, name, left_out)
        listed.append(
            {
                "protocol": "classification",
                "n": 1,
                "metric": "accuracy",
                "value": value,
                "stderr": error,
                "ci95": answers.rows()[0]["ci95"],
                "trials": len(answers.right) // seeds,
                "domain": ON_AVERAGE if left_out == AVERAGE else f"{left_out} left out",
                "head": name.lower(),
                "seeds": seeds,
            }
        )
    listed.sort(key=lambda row: row["domain"] != ON_AVERAGE)
    sim, *others = methods
    return [*listed, *({**listed[0], **gain(found, sim, other)} for other in others)]


def gain(found, first, second):
    """By how much a method is ahead of another on average: a row's value, its standard error over
    seeds, which both share, and its interval over pictures."""
    pairs = (over_seeds(found, method, AVERAGE) for method in (first, second))
    value, error = protocol.mean_and_standard_error([a - b for a, b in zip(*pairs, strict=True)])
    return {
        "metric": "accuracy_gain",
        "value": value,
        "stderr": error,
        "ci95": _difference(*(over_pictures(found, one, AVERAGE) for one in (first, second)))[
            "ci95"
        ],
        "head": f"{first.lower()} less {second.lower()}",
    }


def mcnemar(found, first, second):
    """The p of McNemar's exact test of two methods on all pictures, of each seed, in words."""
    seeds = sorted({seed for _, _, seed in found})
    tests = []
    for seed in seeds:
        right = (_joined(found, method, AVERAGE, [seed]) for method in (first, second))
        tests.append(_difference(*map(Answers, right))["mcnemar_p"])
    return style.join_words([f"{p:.2g}" for p in tests])


def over_seeds(found, method, domain):
    """Accuracies of a method, one a seed; of `AVERAGE` the means over the domains."""
    seeds = sorted({seed for _, _, seed in found})
    return [
        float(np.mean([np.mean(found[method, one, seed]) for one in _parts(domain)]))
        for seed in seeds
    ]


def over_pictures(found, method, domain):
    """`Answers` of a method's networks of all seeds; those about a picture belong together."""
    seeds = sorted({seed for _, _, seed in found})
    right = _joined(found, method, domain, seeds)
    pictures = np.tile(np.arange(len(right) // len(seeds)), len(seeds))
    return Answers(right, pictures, "pictures")


def _joined(found, method, domain, seeds):
    parts = [found[method, one, seed] for seed in seeds for one in _parts(domain)]
    return np.concatenate(parts)


def _parts(domain):
    return list(domains.DOMAINS) if domain == AVERAGE else [domain]


def _difference(first, second):
    (entry,) = first.baselines({"other": ("another method", pooled.INSTEAD, second.right)})
    return entry["difference"]


def figure(found, methods, caption):
    """Dots with standard errors, a row for each domain left out and one for the average.

    Args:
        found: What is found.
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
    """The averages in one sentence: which method is ahead, if one is beyond the 95 % interval over
    pictures."""
    values = {
        method: protocol.mean_and_standard_error(over_seeds(found, method, AVERAGE))
        for method in methods
    }
    best, *others = sorted(methods, key=lambda method: -values[method][0])
    said = [f"{name} {style.percent(values[name][0])}" for name in (best, *others)]
    if gain(found, best, others[0])["ci95"][0] > 0:
        return f"{best} is ahead on domains never trained on: {style.join_words(said)}"
    return f"{best} and {others[0]} are level on domains never trained on: {style.join_words(said)}"


def save(found, methods, stem):
    """Writes the figure and its numbers, and prints the finding.

    Args:
        found: What is found.
        methods: Names of the methods.
        stem: Path of the files without their endings.

    Returns:
        The paths.
    """
    answers = over_pictures(found, methods[0], AVERAGE)
    seeds = len({seed for _, _, seed in found})
    caption = (
        f"PACS, {len(answers.right) // seeds:,} pictures of 7 classes: each domain by a network "
        f"trained on the other three. Means of {seeds} seeds ± standard errors over them. SIM and "
        "DOL are heads of one model; the softmax, with as many weights as SIM, is trained alone, "
        "from the same ImageNet weights of EfficientNet-Lite0, by the same batches and steps."
    )
    print(finding(found, methods))
    return reports.save(figure(found, methods, caption), stem, table(found, methods))
