"""A model's README, written from its card so that the two cannot disagree."""

from keras_dml.zoo import catalogue

SHARES = ("auc", "eer", "accuracy", "misidentification", "tar_at_far")
ACRONYMS = ("auc", "eer", "tar", "far")
_NOTE = "<!-- Written from card.json by zoo/publish.py; change the card, not this page. -->"
_SUBJECTS_SHOWN = 12


def render(card, pictures=()):
    """The page of a model, in Markdown.

    Args:
        card: A valid card.
        pictures: Paths from the model's folder, shown below the figures.

    Returns:
        The text, ending in a newline.
    """
    sections = [
        f"# {card['name']}\n\n{_NOTE}\n\n{_sentence(card)}",
        _use(card),
        f"## Input\n\n{_input(card)}",
        f"## Embedding\n\n{_embedding(card)}",
        f"## Figures\n\n{_figures(card)}",
        "\n\n".join(f"![{_caption(path)}]({path})" for path in pictures),
        _thresholds(card),
        _exports(card),
        f"## Data\n\n{_data(card)}",
        "## Limits\n\n" + "\n".join(f"- {limit}" for limit in card["limits"]),
        f"## Recipe\n\n{_recipe(card)}",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def overview(cards):
    """One row a model, for the project's own page: whom it knows, how well it tells people apart.

    Args:
        cards: Valid cards.

    Returns:
        A table in Markdown.
    """
    columns = (
        "model",
        "data",
        "trained on",
        "measured on",
        "EER, n = 1",
        "EER, n = 5",
        "identified, n = 1",
    )
    return _table(columns, [_overview_row(card) for card in cards])


def _overview_row(card):
    def figure(protocol, metric, n):
        found = [
            f
            for f in card["figures"]
            if (f["protocol"], f["metric"], f["n"]) == (protocol, metric, n)
            and f.get("fraction") in (None, 1.0)
        ]
        if not found:
            return "–"
        (one,) = found
        return f"{100 * one['value']:.1f} % ± {100 * one['stderr']:.1f} ({one['trials']:,})"

    data = card["data"]
    unseen = len(data["test_subjects"])
    return (
        f"[`{card['name']}`](zoo/{card['name']}/README.md)",
        f"`{data['builder']}`",
        f"{len(data['train_subjects'])} people",
        f"{unseen} others" if unseen else "cross-validated",
        figure("verification", "eer", 1),
        figure("verification", "eer", 5),
        figure("identification", "accuracy", 1),
    )


def _sentence(card):
    task = card["task"][0].upper() + card["task"][1:]
    return f"{task}, by the method of {card['paper']}. {card['model']['parameters']:,} parameters."


def _use(card):
    return (
        "```python\nimport keras_dml\nfrom keras_dml import zoo\n\n"
        f'model = zoo.load("{card["name"]}")\n'
        "gallery = keras_dml.embed(model, enrolled)      "
        f"# list of (time, {len(card['input']['channels'])}) arrays\n"
        "scores = keras_dml.distance(model, keras_dml.embed(model, probes), gallery)      "
        "# small is near\n```"
    )


def _input(card):
    taken = card["input"]
    least, greatest = taken["length"]
    if greatest is None:
        steps = f"at least {least} steps"
    else:
        steps = f"{least} steps" if least == greatest else f"{least} to {greatest} steps"
    rate = f"{taken['rate_hz']:g} Hz"
    pairs = list(zip(taken["channels"], taken["units"], strict=True))
    if len(set(taken["units"])) == 1:
        channels = f"{', '.join(taken['channels'])}, in {taken['units'][0]}"
    else:
        channels = ", ".join(f"{channel} ({unit})" for channel, unit in pairs)
    return (
        f"{steps[0].upper()}{steps[1:]} at {rate}, {taken['dtype']}. Channels, in order: "
        f"{channels}."
    )


def _embedding(card):
    shape = " × ".join(map(str, card["embedding"]["shape"]))
    rest = {k: v for k, v in card["embedding"].items() if k not in ("shape", "distance")}
    with_rest = "".join(f", {key} = {value}" for key, value in rest.items())
    distance = f"the {card['embedding']['distance']} distance{with_rest}"
    return f"{shape} numbers a recording, compared by {distance}."


def _caption(path):
    """What a picture's name says: `figures/roc_det.png` is `roc det`."""
    return path.rsplit("/", 1)[-1].removesuffix(".png").replace("_", " ")


def _figures(card):
    columns = ("protocol", "n", "fraction", "metric", "value ± standard error", "people", "trials")
    rows = [
        (
            row["protocol"].replace("_", " "),
            row["n"],
            _or_dash(row.get("fraction")),
            _metric(row["metric"]),
            _value(row),
            _or_dash(row.get("people")),
            f"{row['trials']:,}",
        )
        for row in card["figures"]
    ]
    used = [i for i in range(len(columns)) if any(row[i] != "–" for row in rows)]
    return _table([columns[i] for i in used], [[row[i] for i in used] for row in rows])


def _metric(name):
    """`EER`, `TAR at FAR 0.01`: acronyms as the field writes them."""
    words = name.split("_")
    return " ".join(word.upper() if word in ACRONYMS else word for word in words)


def _value(row):
    if row["metric"] == "auc":
        return f"{row['value']:.4f} ± {row['stderr']:.4f}"
    if row["metric"].startswith(SHARES):
        return catalogue.percent(row["value"], row["stderr"])
    return f"{row['value']:.4g} ± {row['stderr']:.2g}"


def _thresholds(card):
    if not card["thresholds"]:
        return ""
    rows = [
        (
            f"{100 * row['far']:g} %",
            f"{row['value']:.4g}",
            f"{100 * row['far_ci95'][0]:.2g} to {100 * row['far_ci95'][1]:.2g} %",
            f"{row['trials']:,}",
        )
        for row in card["thresholds"]
    ]
    columns = ("false accept rate", "accept up to", "95 % interval of the rate", "imposter trials")
    return f"## Thresholds\n\n{_table(columns, rows)}"


def _exports(card):
    if not card["exports"]:
        return ""
    rows = [
        (
            row["format"],
            row.get("quantization") or "float32",
            f"{row['bytes']:,}",
            f"{row['latency_ms']:.2g}",
            f"{row['drift']:.2g}",
            f"{row['auc_change']:+.4f}",
        )
        for row in card["exports"]
    ]
    columns = ("format", "numbers", "bytes", "latency (ms)", "drift", "change in AUC")
    return f"## Exports\n\n{_table(columns, rows)}"


def _data(card):
    data = card["data"]
    return (
        f"`{data['builder']}`. Licence and what it means for the weights: {data['licence']}\n\n"
        f"Consent: {data['consent']}\n\n"
        f"Trained on {_subjects(data['train_subjects'])}. Tested on "
        f"{_subjects(data['test_subjects'])}."
    )


def _subjects(names):
    if not names:
        return "nobody apart: see the limits"
    if len(names) > _SUBJECTS_SHOWN:
        return f"{len(names)} people (named in `card.json`)"
    return f"{len(names)} people ({', '.join(names)})"


def _recipe(card):
    recipe = card["recipe"]
    versions = ", ".join(f"{name} {version}" for name, version in recipe["versions"].items())
    return (
        f"```\n{recipe['command']}\n```\n\nSeed {recipe['seed']}, {recipe['minutes']:g} minutes, "
        f"{recipe['date']}"
        f"{f', with {versions}' if versions else ''}."
    )


def _or_dash(value):
    return "–" if value is None else value


def _table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
