"""Computes and draws accuracies on domains that were left out of the training.

The functions take an argument `answers`, a dictionary with the keys `(method, domain, seed)`. Each
value is an array with one boolean for each image of the domain. The boolean says whether a network
that was trained without the domain classifies the image correctly.
"""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from keras_dml import reports
from keras_dml.evaluation import protocol
from keras_dml.reports import style
from keras_dml.training import pooled
from keras_dml.training.answers import Answers
from zoo import domains

AVERAGE = "average"
ON_AVERAGE = "each domain left out"

Right = Mapping[tuple[str, str, int], np.ndarray]


def table(answers: Right, methods: Sequence[str]) -> dict[str, list[Any]]:
    """Returns the accuracy of each method on each domain that was left out, and the average over
    the domains.

    Args:
        answers: Right answers.
        methods: Names of the methods.

    Returns:
        Table with the columns `left_out`, `method`, `accuracy`, `stderr` and `seeds`. The column
        `stderr` contains the standard error over the seeds.
    """
    columns = {"left_out": [], "method": [], "accuracy": [], "stderr": [], "seeds": []}
    for domain in (*domains.DOMAINS, AVERAGE):
        for method in methods:
            values = accuracies(answers, method, domain)
            mean, error = protocol.mean_and_standard_error(values)
            row = (domain, method, round(mean, 5), round(error, 5), len(values))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


def rows(answers: Right, methods: Sequence[str]) -> list[dict[str, Any]]:
    """Returns rows of the card: the accuracy on each domain, the average accuracy, and the gain of
    the first method over each other method.

    Args:
        answers: Right answers.
        methods: Names of the methods.
    """
    columns = table(answers, methods)
    rows = []
    for left_out, name, value, error, seeds in zip(*columns.values(), strict=True):
        pooled_answers = over_images(answers, name, left_out)
        rows.append(
            {
                "protocol": "classification",
                "n": 1,
                "metric": "accuracy",
                "value": value,
                "stderr": error,
                "ci95": pooled_answers.rows()[0]["ci95"],
                "trials": len(pooled_answers.right) // seeds,
                "domain": ON_AVERAGE if left_out == AVERAGE else f"{left_out} left out",
                "head": name.lower(),
                "seeds": seeds,
            }
        )
    rows.sort(key=lambda row: row["domain"] != ON_AVERAGE)
    gains = [gain(answers, methods[0], method) for method in methods[1:]]
    return [*rows, *({**rows[0], **row} for row in gains)]


def gain(answers: Right, first: str, second: str) -> dict[str, Any]:
    """Returns a row with the mean difference between the accuracies of two methods. The methods are
    compared on the same seeds and images.

    The row contains a standard error over seeds and an interval over images.
    """
    pairs = (accuracies(answers, method, AVERAGE) for method in (first, second))
    value, error = protocol.mean_and_standard_error([a - b for a, b in zip(*pairs, strict=True)])
    difference = _difference(*(over_images(answers, name, AVERAGE) for name in (first, second)))
    return {
        "metric": "accuracy_gain",
        "value": value,
        "stderr": error,
        "ci95": difference["ci95"],
        "head": f"{first.lower()} less {second.lower()}",
    }


def mcnemar(answers: Right, first: str, second: str) -> str:
    """Compares two methods on all images by McNemar's exact test and returns one p-value per
    seed.
    """
    tests = []
    for seed in _seeds(answers):
        right = (_concatenate(answers, method, AVERAGE, [seed]) for method in (first, second))
        tests.append(_difference(*map(Answers, right))["mcnemar_p"])
    return style.join_words([f"{p:.2g}" for p in tests])


def accuracies(answers: Right, method: str, domain: str) -> list[float]:
    """Returns the accuracy of each seed on a domain. The domain `AVERAGE` stands for the mean over
    the domains.
    """
    return [
        float(np.mean([np.mean(answers[method, part, seed]) for part in _domains(domain)]))
        for seed in _seeds(answers)
    ]


def over_images(answers: Right, method: str, domain: str) -> Answers:
    """Joins the `answers` of all seeds and groups them by image."""
    seeds = _seeds(answers)
    right = _concatenate(answers, method, domain, seeds)
    groups = np.tile(np.arange(len(right) // len(seeds)), len(seeds))
    return Answers(right, groups, "pictures")


def _seeds(answers):
    return sorted({seed for _, _, seed in answers})


def _concatenate(answers, method, domain, seeds):
    parts = [answers[method, part, seed] for seed in seeds for part in _domains(domain)]
    return np.concatenate(parts)


def _domains(domain):
    return list(domains.DOMAINS) if domain == AVERAGE else [domain]


def _difference(first, second):
    """Returns the paired difference of the accuracies of two `Answers`."""
    (entry,) = first.baselines({"second": ("another method", pooled.INSTEAD, second.right)})
    return entry["difference"]


def figure(answers: Right, methods: Sequence[str], caption: str) -> Figure:
    """Draws the accuracies with standard errors, with one row per domain and one row for the
    average.

    Args:
        answers: Right answers.
        methods: Names of the methods.
        caption: Text that describes data and protocol.
    """
    columns = table(answers, methods)
    groups = [*domains.DOMAINS, AVERAGE]
    with style.house_style():
        figure = style.new_figure(finding(answers, methods), caption, width=8.4, height=4.8)
        axes = figure.subplots()
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
        axes.set_ylabel("domain left out of the training")
        axes.set_xlabel("accuracy, %")
        axes.legend(loc="best")
    return figure


def finding(answers: Right, methods: Sequence[str]) -> str:
    """Returns a sentence that names the best method and contains the average accuracies.

    The sentence says that a method is ahead only if the 95 % interval of the difference over images
    excludes 0.
    """
    means = {
        method: protocol.mean_and_standard_error(accuracies(answers, method, AVERAGE))[0]
        for method in methods
    }
    ranked = sorted(methods, key=lambda method: -means[method])
    best, second = ranked[:2]
    values = style.join_words([f"{name} {style.percent(means[name])}" for name in ranked])
    if gain(answers, best, second)["ci95"][0] > 0:
        return f"{best} is ahead on domains that were left out of the training: {values}"
    return f"{best} and {second} are level on domains that were left out of the training: {values}"


def save(answers: Right, methods: Sequence[str], stem: pathlib.Path) -> list[pathlib.Path]:
    """Writes the picture and its numbers, prints the finding and returns the paths.

    Args:
        answers: Right answers.
        methods: Names of the methods.
        stem: Path of the files without their suffixes.
    """
    images = over_images(answers, methods[0], AVERAGE)
    seeds = len(_seeds(answers))
    caption = (
        f"The data are {len(images.right) // seeds:,} pictures of 7 classes in PACS. The pictures "
        "of each domain are classified by a network that was trained on the other three domains. "
        f"The accuracies are means over {seeds} seeds ± standard errors over seeds. SIM and DOL "
        "are heads of one model. The softmax has as many weights as SIM and is trained alone, with "
        "the same ImageNet weights of EfficientNet-Lite0, batches and steps."
    )
    print(finding(answers, methods))
    return reports.save(figure(answers, methods, caption), stem, table(answers, methods))
