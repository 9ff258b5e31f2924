"""Main result (`headline`) of a card, as text and as a table with the results of other methods."""

from collections.abc import Callable
from typing import Any

from keras_dml.zoo import catalog

_REPEATS = {
    "blocks": ("All recordings of a person are from one session, and other days are not measured."),
    "days": "The recordings of a person are from different days.",
    "sessions": "The enrolled recordings are from earlier sessions than the probe.",
    "others": "The enrolled recordings are from other people than the probe.",
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
    """Names each method without a network that the model does not beat, in sentences.

    The text is part of the first paragraph of a model page. It is empty if the model beats all
    methods without a network.
    """
    sentences = [_unbeaten(each) for each in card["baselines"] if each["kind"] == "no network"]
    return "".join(f" {sentence}" for sentence in sentences if sentence)


def gain(baseline: dict[str, Any]) -> tuple[float, float]:
    """Returns how much better the model is than a method, and the lower bound of this gain.

    Args:
        baseline: Entry of the `baselines` of a card.

    Returns:
        The gain, and the lower end of the 95 % confidence interval of the gain. If the lower end is
        above 0, the model is significantly better than the method.
    """
    difference = baseline["difference"]
    sign = -1 if difference["metric"] in _LOWER_IS_BETTER else 1
    return sign * difference["value"], min(sign * bound for bound in difference["ci95"])


def _unbeaten(baseline):
    """Returns a sentence about one method, or None if the model is significantly better."""
    difference, (value, least) = baseline["difference"], gain(baseline)
    if least > 0:
        return None
    metric = catalog.metric_in_words(difference["metric"])
    row = next(row for row in baseline["rows"] if row["metric"] == difference["metric"])
    verb = "has not been shown to beat" if value > 0 else "does not beat"
    return (
        f'**The model {verb} the method "{baseline["name"]}", which needs no network** '
        f"({baseline['what']}). The {metric} of this method is {_cell(row)}. The {metric} of the "
        f"model minus the {metric} of this method is "
        f"{catalog.points(difference['value'], difference['ci95'])}."
    )


def words(card: dict[str, Any]) -> str:
    """Describes the trials of the main result, the choice of the method and the intervals."""
    headline = card["headline"]
    if "unmeasured" in headline:
        return headline["unmeasured"]
    trials = headline["trials"]
    unit = headline.get("unit", "people" if "people" in headline else "images")
    if "people" not in headline:
        counts = f"The figures are measured on {headline['images']:,} images: {trials}."
    else:
        enrolled = catalog.counted(headline["enrolled"], "enrolled recording")
        claims = f"{headline.get('gallery_most', headline['gallery'])} {unit}"
        if "gallery_most" in headline:
            claims = f"{headline['gallery']} to {claims}"
        counts = (
            f"{trials[0].upper()}{trials[1:]}. One threshold decides about all "
            f"{headline['probes']:,} probes of {headline['people']} people. Each probe is compared "
            f"with {claims}, each with about {enrolled}. {_REPEATS[headline['repeats']]}"
        )
    intervals = (
        f"over {unit}. The intervals use random weights of the {unit} and "
        f"one additional {_SINGULAR.get(unit, unit.removesuffix('s'))} whose trials are all errors"
    )
    if unit == "images":
        intervals = (
            "by Wilson's method. The intervals of differences are from a bootstrap over images. If "
            "no image is classified wrongly, the interval is the bound by the rule of three"
        )
    choice = f" {card['choice']}" if "choice" in card else ""
    return f"{counts}{choice} Brackets contain 95 % intervals {intervals}.{_tests(card)}"


def _tests(card):
    tested = any("mcnemar_p" in each["difference"] for each in card["baselines"])
    return " The value p is from McNemar's exact test, two-sided." if tested else ""


def described(baseline: dict[str, Any]) -> str:
    """Returns the name, the kind and the description of a baseline as one text."""
    return f"{baseline['name']} ({_KINDS[baseline['kind']]}): {baseline['what']}"


def table(
    card: dict[str, Any], describe: Callable[[dict[str, Any]], str] = described
) -> tuple[list[str], list[list[str]]]:
    """Returns a table with a row for the model and a row for each baseline.

    Args:
        card: Card of a model.
        describe: Function that returns the first cell of the row of a baseline.

    Returns:
        Headings, and rows of cells. The two lists are empty if nothing was measured.
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
    """Formats the difference between model and method, and the p-value if the card has one."""
    text = catalog.points(row["value"], row["ci95"])
    if "mcnemar_p" not in row:
        return text
    p = row["mcnemar_p"]
    return f"{text}, p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}"


def _cell(row):
    """Formats a figure of the card with its confidence interval, or a dash if it is missing."""
    if row is None:
        return "–"
    if row["metric"] == "auc" or not catalog.is_rate(row):
        return f"{row['value']:.4f} [{row['ci95'][0]:.4f} to {row['ci95'][1]:.4f}]"
    return catalog.with_interval(row["value"], row["ci95"])
