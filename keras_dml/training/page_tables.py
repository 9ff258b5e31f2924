"""Tables of a model's page: figures, thresholds and exports, in Markdown."""

import math

from keras_dml.zoo import catalog

_OWN = (
    "Each threshold is set on these people, none of whom the file has seen. The interval of its "
    "FAR is that of the certificate. The interval of its TAR holds the threshold fixed; the "
    "headline's TAR finds it anew in each replicate."
)
_APART = (
    "Each certificate counts independent pairs at its own threshold. A stricter one accepts fewer "
    "trials and so shows less of how people differ: of two numbers of people, take the larger."
)
HEADS = "sim: the similarity to the prototypes; dol: the auxiliary dense output layer."


def figures(card):
    """Figures of a card below what they are."""
    said = [card["figures_are"]] if "figures_are" in card else []
    if any(row.get("head") == "dol" for row in card["figures"]):
        said.append(HEADS)
    return "\n\n".join([*said, markdown(*figure_table(card))])


def figure_table(card):
    """Columns and rows of a card's figures; columns that no row fills are left out.

    Args:
        card: A card, or its `figures` and `headline` alone.
    """
    columns = (
        "protocol",
        "n",
        "fraction",
        "setting",
        "metric",
        f"value {_uncertainty(card['figures'])}",
        "range of folds",
        "people",
        "trials",
    )
    rows = [
        (
            catalog.protocol_in_words(card, row),
            row["n"],
            _or_dash(row.get("fraction")),
            catalog.setting(row) or "–",
            catalog.metric_in_words(row["metric"]),
            catalog.value_in_words(row),
            _of_folds(row),
            _or_dash(row.get("people")),
            f"{row['trials']:,}",
        )
        for row in card["figures"]
    ]
    used = [i for i in range(len(columns)) if any(row[i] != "–" for row in rows)]
    return [columns[i] for i in used], [[row[i] for i in used] for row in rows]


def _uncertainty(rows):
    """Returns how `catalog.value_in_words` gives the uncertainty of figures."""
    with_interval = ["ci95" in row for row in rows]
    if all(with_interval):
        return "[95 % interval]"
    return "[95 % interval] or ± standard error" if any(with_interval) else "± standard error"


def _of_folds(row):
    """Returns the smallest and the largest value of the folds."""
    if "folds" not in row:
        return "–"
    low, high = min(row["folds"]), max(row["folds"])
    if catalog.is_rate(row):
        return f"{100 * low:.1f} to {100 * high:.1f} %"
    return f"{low:.4g} to {high:.4g}"


def thresholds(card):
    """Sections of the thresholds, empty if a card has none."""
    device = card.get("device_thresholds", [])
    sections = []
    if card["thresholds"]:
        sections.append(_threshold_section("## Thresholds", card["thresholds"], card))
    if device:
        title = f"## Thresholds of files for devices, by the {device[0]['distance']} distance"
        sections.append(_threshold_section(title, device, card))
    return "\n\n".join(sections)


def _threshold_section(title, rows_of_card, card):
    columns = (
        "accept distances up to",
        "FAR wanted",
        "FAR, 95 % interval",
        "TAR",
        "enrolled",
        "people",
        "imposter trials",
    )
    rows = [
        (
            f"{row['value']:.4g}",
            f"{100 * row['far']:g} %",
            catalog.percents(catalog.far_interval(row)),
            catalog.with_interval(row["tar"], row["tar_ci95"]),
            str(row["enrolled"]),
            str(row["people"]),
            f"{row['trials']:,}",
        )
        for row in rows_of_card
    ]
    carried = rows_of_card[0].get("carried")
    section = (
        f"{title}\n\nA score is the least distance to the recordings enrolled. "
        f"{carried or _OWN}\n\n{markdown(columns, rows)}"
    )
    certified = [_certified(row) for row in rows_of_card if "certificate" in row]
    within = [
        f"Between {part['confounder']}, the threshold of {100 * row['far']:g} % has "
        f"FAR {catalog.with_interval(part['far'], part['far_ci95'])} ({part['trials']:,} trials)."
        for row in rows_of_card
        for part in row.get("within", ())
    ]
    apart = [_APART] if len(certified) > 1 else []
    tries = _tries([row for row in rows_of_card if "best_of_tries" in row])
    section = "\n\n".join([section, *certified, *apart, *within, *tries])
    if catalog.is_classifier(card):
        return f"{section}\n\nA distance is the negative of the sim head's similarity."
    return section


def _tries(rows):
    """Returns the rates of thresholds if a person may try several times, as a sentence and a table;
    an empty list if they were not measured."""
    if not rows:
        return []
    measured = rows[0]["best_of_tries"]
    return [
        f"If a person may try {measured['tries']} times and one accepted recording is enough, both "
        f"rates rise. Measured on {measured['people']} people and {measured['pairs']:,} pairs of "
        "people with as many recordings:",
        markdown(catalog.TRIES, map(catalog.tries_in_words, rows)),
    ]


def _certified(row):
    """What the people of a threshold support, in a sentence."""
    found = row["certificate"]
    needed = " and ".join(
        f"{100 * float(far):g} % takes {catalog.people_in_words(count)} people"
        for far, count in found["people_needed"].items()
    )
    return (
        f"Certificate of FAR {100 * row['far']:g} %: the {row['people']} people are worth "
        f"{found['independent']:,.0f} independent pairs; the rate of as many others is "
        f"{catalog.percents(found['ci95'])} (95 %). They support "
        f"{rounded_up(found['strictest'])} and more{'; ' if needed else ''}{needed}."
    )


def rounded_up(rate):
    """A rate that is said to be supported, in percent."""
    return f"{math.ceil(1000 * rate - 1e-9) / 10:g} %"


_MOVED = "change_of_distance"


def exports(card):
    """Section of the exported files, empty where a card has none."""
    if not card["exports"]:
        return ""
    change = next(key for key in ("auc_change", "accuracy_change") if key in card["exports"][0])
    rows = [
        (
            row["format"],
            row.get("quantization") or "float32",
            f"{row['bytes']:,}",
            f"{row['latency_ms']:.2g}",
            f"{row['drift']:.2g}",
            catalog.change_in_words(row),
        )
        for row in card["exports"]
    ]
    title = f"change in {catalog.metric_in_words(change.removesuffix('_change'))}"
    columns = ("format", "numbers", "bytes", "latency (ms)", "drift", title)
    said = f"{card['exports_are']}\n\n" if "exports_are" in card else ""
    section = f"## Exports\n\n{said}{markdown(columns, rows)}"
    moved = next((row[_MOVED] for row in card["exports"] if _MOVED in row), None)
    if moved is None:
        return section
    warned = ": the thresholds above are not for it" if card["thresholds"] else ""
    if card.get("device_thresholds"):
        warned = ", which has thresholds above"
    return (
        f"{section}\n\nA TFLite file gives tangent vectors, compared by the log-Euclidean "
        f"distance{warned}. Its {title} is from Keras by that distance, which itself moves it by "
        f"{moved:+.4f}."
    )


def _or_dash(value):
    return "–" if value is None else value


def markdown(columns, rows):
    """A table in Markdown.

    Args:
        columns: Headings.
        rows: Sequences of cells, as many as columns.
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
