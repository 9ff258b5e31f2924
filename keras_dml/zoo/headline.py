"""The headline of a card in words and as a table: pooled figures beside those of other methods."""

from keras_dml.zoo import catalog

_REPEATS = {
    "blocks": "Recordings of a person are blocks of one sitting; other days are not measured.",
    "days": "Recordings of a person are of other days.",
    "sessions": "Those enrolled are of earlier sessions than the probe.",
    "others": "Those enrolled are of other people than the probe.",
}
_LOWER_IS_BETTER = ("eer",)
_KINDS = {
    "no network": "no network",
    "instead": "what one would take instead",
    "same model": "by the same model",
    "other probes": "the same model, other probes",
}


def verdict(card):
    """What the page's first paragraph says of methods without a network that the model does not
    beat; empty where it beats all."""
    said = [_unbeaten(one) for one in card["baselines"] if one["kind"] == "no network"]
    return "".join(f" {sentence}" for sentence in said if sentence)


def gain(baseline):
    """By how much the model is better than a method, and the least of the 95 % interval.

    Args:
        baseline: Entry of a card's `baselines`.

    Returns:
        Two numbers; where the second is above 0 the model beats the method beyond doubt.
    """
    difference = baseline["difference"]
    sign = -1 if difference["metric"] in _LOWER_IS_BETTER else 1
    return sign * difference["value"], min(sign * bound for bound in difference["ci95"])


def _unbeaten(baseline):
    """A sentence on one method, None where the model beats it."""
    difference, (value, least) = baseline["difference"], gain(baseline)
    if least > 0:
        return None
    metric = catalog.metric_in_words(difference["metric"])
    row = next(row for row in baseline["rows"] if row["metric"] == difference["metric"])
    verb = "It has not been shown to beat" if value > 0 else "It does not beat"
    return (
        f"**{verb} {baseline['name']}, which needs no network** ({baseline['what']}): that has "
        f"{metric} {_cell(row)}, and the model's less that is "
        f"{catalog.points(difference['value'], difference['ci95'])}."
    )


def words(card):
    """The trials of a headline, how its method was chosen and what its intervals are.

    Args:
        card: A card.
    """
    headline = card["headline"]
    if "unmeasured" in headline:
        return headline["unmeasured"]
    trials = headline["trials"][0].upper() + headline["trials"][1:]
    unit = headline.get("unit", "people" if "people" in headline else "images")
    if "people" not in headline:
        counted = f"{headline['images']:,} images."
    else:
        enrolled = catalog.counted(headline["enrolled"], "recording")
        claims = catalog.counted(headline.get("gallery_most", headline["gallery"]), "claim")
        if "gallery_most" in headline:
            claims = f"{headline['gallery']} to {claims}"
        counted = (
            f"All {headline['probes']:,} probes of {headline['people']} people under one "
            f"threshold, each compared with {claims}, about {enrolled} enrolled each. "
            f"{_REPEATS[headline['repeats']]}"
        )
    intervals = f" over {unit}, with random weights and one more that errs in all its trials"
    if unit == "images":
        intervals = (
            ", Wilson's, of differences those of a bootstrap over images; without any error, the "
            "bound by the rule of three"
        )
    chosen = f" {card['choice']}" if "choice" in card else ""
    return f"{trials}. {counted}{chosen} In brackets: 95 % intervals{intervals}.{_tests(card)}"


def _tests(card):
    tested = any("mcnemar_p" in one["difference"] for one in card["baselines"])
    return " p: McNemar's exact test, two-sided." if tested else ""


def described(baseline):
    """A method by its name, its kind and what it does."""
    return f"{baseline['name']} ({_KINDS[baseline['kind']]}): {baseline['what']}"


def table(card, called=described):
    """The model's figures, a row, and a row for each baseline.

    Args:
        card: A card.
        called: Function that gives the first cell of a baseline.

    Returns:
        Headings and rows of cells; none where nothing was measured.
    """
    if "unmeasured" in card["headline"]:
        return [], []
    rows = card["headline"]["rows"]
    columns = ["method", *(catalog.metric_in_words(row["metric"]) for row in rows)]
    difference = bool(card["baselines"])
    lines = [[card["name"], *map(_cell, rows), *(["–"] if difference else [])]]
    for one in card["baselines"]:
        by_metric = {row["metric"]: row for row in one["rows"]}
        cells = [_cell(by_metric.get(row["metric"])) for row in rows]
        lines.append([called(one), *cells, _difference(one["difference"])])
    if difference:
        metric = catalog.metric_in_words(card["baselines"][0]["difference"]["metric"])
        columns.append(f"{metric}, model less this")
    return columns, lines


def _difference(row):
    """The difference from a method, with the p of a test where there is one."""
    said = catalog.points(row["value"], row["ci95"])
    if "mcnemar_p" not in row:
        return said
    p = row["mcnemar_p"]
    return f"{said}, p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}"


def _cell(row):
    """A figure of the card with its interval; a dash where a method has none."""
    if row is None:
        return "–"
    if row["metric"] == "auc" or not catalog.is_rate(row):
        return f"{row['value']:.4f} [{row['ci95'][0]:.4f} to {row['ci95'][1]:.4f}]"
    return catalog.with_interval(row["value"], row["ci95"])
