"""Formats the main result (`headline`) of a card as text, and as a table that also contains the
results of other methods.
"""

from collections.abc import Callable
from typing import Any

from keras_dml import _figures
from keras_dml.zoo import catalog

_REPEATS = {
    "blocks": (
        "All recordings of a person are from one sitting, and recordings from other days were not "
        "measured."
    ),
    "days": "The recordings of a person are from different days.",
    "sessions": "The enrolled recordings are from earlier sessions than the probe.",
    "others": "The enrolled recordings and the probe are from different people.",
}
_SINGULAR = {"people": "person"}
_LOWER_IS_BETTER = ("eer",)
_KINDS = {
    "no network": "no network",
    "instead": "an alternative to the model",
    "same model": "the same model",
    "other probes": "the same model, other probes",
}


def verdict(card: dict[str, Any]) -> str:
    """Returns, as one text, a sentence about each network-free method that the model does not beat.

    The first paragraph of a model page contains the text. The text is empty if the model beats all
    methods without a network.
    """
    sentences = [_unbeaten(each) for each in card["baselines"] if each["kind"] == "no network"]
    return "".join(f" {sentence}" for sentence in sentences if sentence)


def gain(baseline: dict[str, Any]) -> tuple[float, float]:
    """Returns how much better the model is than a method, with a lower bound.

    Args:
        baseline: Element of the list `baselines` of a card.

    Returns:
        The gain, and the lower end of the 95 % confidence interval of the gain. The model is
        significantly better than the method if the lower end is above 0.
    """
    difference = baseline["difference"]
    sign = -1 if difference["metric"] in _LOWER_IS_BETTER else 1
    return sign * difference["value"], min(sign * bound for bound in difference["ci95"])


def _unbeaten(baseline):
    """Returns a sentence about one method, or None if the model is significantly better than the
    method.
    """
    difference, (value, least) = baseline["difference"], gain(baseline)
    if least > 0:
        return None
    metric = catalog.metric_in_words(difference["metric"])
    row = next(row for row in baseline["rows"] if row["metric"] == difference["metric"])
    verb = "has not been shown to beat" if value > 0 else "does not beat"
    name = f'"{baseline["name"]}"'
    return (
        f"**The model {verb} the method {name}.** This method needs no network and uses "
        f"{baseline['what']}. The {metric} of {name} is {_cell(row)} (95 % interval in "
        f"brackets). The {metric} of the model minus the {metric} of {name} is "
        f"{catalog.points(difference['value'], difference['ci95'])} (95 % interval in brackets)."
    )


def words(card: dict[str, Any]) -> str:
    """Describes the trials behind the main result, how the method was chosen, and how the intervals
    were computed.
    """
    headline = card["headline"]
    if "unmeasured" in headline:
        return headline["unmeasured"]
    trials = headline["trials"]
    unit = headline.get("unit", "people" if "people" in headline else "images")
    if "people" not in headline:
        counts = f"The figures are measured on {headline['images']:,} images: {trials}."
    else:
        enrolled = _figures.counted(headline["enrolled"], "enrolled recording")
        claims = f"{headline.get('gallery_most', headline['gallery'])} {unit}"
        if "gallery_most" in headline:
            claims = f"{headline['gallery']} to {claims}"
        counts = (
            f"{trials[0].upper()}{trials[1:]}. The same threshold is used for all "
            f"{headline['probes']:,} probes of {headline['people']} people. Each probe is compared "
            f"with {claims}, and each of these {unit} has about {enrolled}. "
            f"{_REPEATS[headline['repeats']]}"
        )
    singular = _SINGULAR.get(unit, unit.removesuffix("s"))
    intervals = (
        f"over {unit}, from a bootstrap that gives each {singular} a random weight and includes "
        f"one additional {singular} whose trials are all errors"
    )
    if unit == "images":
        intervals = (
            "by Wilson's method. The intervals of differences are from a bootstrap over images. If "
            "no image is classified wrongly, the interval is computed by the rule of three"
        )
    choice = f" {card['choice']}" if "choice" in card else ""
    return f"{counts}{choice} Brackets contain 95 % intervals {intervals}.{_tests(card)}"


def _tests(card):
    tested = any("mcnemar_p" in each["difference"] for each in card["baselines"])
    sentence = " Each p in the table is the p-value of McNemar's exact test (two-sided)."
    return sentence if tested else ""


def described(baseline: dict[str, Any]) -> str:
    """Returns the name, the kind and the description of a baseline as one text."""
    return f"{baseline['name']} ({_KINDS[baseline['kind']]}): {baseline['what']}"


def table(
    card: dict[str, Any], describe: Callable[[dict[str, Any]], str] = described
) -> tuple[list[str], list[list[str]]]:
    """Returns a table with a row for the model and a row for each baseline.

    Args:
        card: Card of a model.
        describe: Function that returns the first cell in the row of a baseline.

    Returns:
        Headings of the table, and rows of cells. Headings and rows are empty if nothing was
        measured.
    """
    if "unmeasured" in card["headline"]:
        return [], []
    rows = card["headline"]["rows"]
    columns = ["method", *(catalog.metric_in_words(row["metric"]) for row in rows)]
    difference = bool(card["baselines"])
    lines = [[card["name"], *map(_cell, rows), *(["–"] if difference else [])]]
    for baseline in card["baselines"]:
        by_metric = {row["metric"]: row for row in baseline["rows"]}
        cells = [_cell(by_metric.get(row["metric"])) for row in rows]
        lines.append([describe(baseline), *cells, _difference(baseline["difference"])])
    if difference:
        metric = catalog.metric_in_words(card["baselines"][0]["difference"]["metric"])
        columns.append(f"{metric}, model minus this")
    return columns, lines


def _difference(row):
    """Formats the difference between model and method, and the p-value if the card contains a
    p-value.
    """
    text = catalog.points(row["value"], row["ci95"])
    if "mcnemar_p" not in row:
        return text
    p = row["mcnemar_p"]
    return f"{text}, p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}"


def _cell(row):
    """Formats a figure of the card with its confidence interval, or returns a dash if the figure is
    missing.
    """
    if row is None:
        return "–"
    if row["metric"] == "auc" or not catalog.is_rate(row):
        return f"{row['value']:.4f} [{row['ci95'][0]:.4f} to {row['ci95'][1]:.4f}]"
    return catalog.with_interval(row["value"], row["ci95"])
