"""The headline of a model's page: pooled figures beside those of other methods."""

from keras_dml.training import page_tables
from keras_dml.zoo import catalog

_REPEATS = {
    "blocks": "Recordings of a person are blocks of one sitting; other days are not measured.",
    "days": "Recordings of a person are of other days.",
}
_KINDS = {"no network": "no network", "instead": "what one would take instead"}


def section(card):
    """The section, empty where a card has no headline."""
    if "headline" not in card:
        return ""
    table = page_tables.markdown(*_table(card))
    return f"## Headline\n\n{_words(card['headline'])}\n\n{table}"


def _words(headline):
    trials = headline["trials"][0].upper() + headline["trials"][1:]
    unit = headline.get("unit", "people" if "people" in headline else "images")
    if "people" not in headline:
        counted = f"{headline['images']:,} images."
    else:
        enrolled = catalog.counted(headline["enrolled"], "recording")
        counted = (
            f"All {headline['probes']:,} probes of {headline['people']} people under one "
            f"threshold, each compared with {catalog.counted(headline['gallery'], 'claim')}, about "
            f"{enrolled} enrolled each. {_REPEATS[headline['repeats']]}"
        )
    return (
        f"{trials}. {counted} In brackets: 95 % intervals of a bootstrap over {unit}; without any "
        "error, the bound by the rule of three."
    )


def _table(card):
    rows = card["headline"]["rows"]
    columns = ["method", *(page_tables.metric(row["metric"]) for row in rows)]
    difference = bool(card.get("baselines"))
    lines = [[f"**{card['name']}**", *map(_cell, rows), *(["–"] if difference else [])]]
    for one in card.get("baselines", ()):
        by_metric = {row["metric"]: row for row in one["rows"]}
        cells = [_cell(by_metric[row["metric"]]) for row in rows]
        name = f"{one['name']} ({_KINDS[one['kind']]}): {one['what']}"
        lines.append([name, *cells, _cell(one["difference"])])
    if difference:
        metric = page_tables.metric(card["baselines"][0]["difference"]["metric"])
        columns.append(f"{metric}, model less this")
    return columns, lines


def _cell(row):
    if row["metric"] == "auc" or not catalog.is_rate(row):
        return f"{row['value']:.4f} [{row['ci95'][0]:.4f} to {row['ci95'][1]:.4f}]"
    return page_tables.with_interval(row["value"], row["ci95"])
