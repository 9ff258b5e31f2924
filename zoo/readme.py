"""A model's README, written from its card so that the two cannot disagree."""

from keras_dml import distances
from keras_dml.zoo import catalog

SHARES = ("auc", "eer", "accuracy", "misidentification", "tar_at_far", "recall_at")
HEADS = "sim: the similarity to the prototypes; dol: the auxiliary dense output layer."
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


def overview_of_classifiers(cards):
    """One row a model that classifies: what for, how well, how large.

    Args:
        cards: Valid cards.

    Returns:
        A table in Markdown.
    """
    columns = ("model", "data", "task", "figures", "weights", "as a file for devices")
    rows = [
        (
            _link(card),
            f"`{card['data']['builder']}`",
            card["task"],
            "; ".join(catalog.figures_in_words(card)) or "–",
            f"{card['model']['parameters']:,}",
            _smallest_file(card),
        )
        for card in cards
    ]
    return _table(columns, rows)


def _smallest_file(card):
    files = [entry for entry in card["exports"] if entry["format"] == "tflite"]
    if not files:
        return "–"
    smallest = min(files, key=lambda entry: entry["bytes"])
    return f"{smallest['bytes'] / 1000:,.0f} kB, {smallest.get('quantization') or 'float32'}"


def _link(card):
    return f"[`{card['name']}`](zoo/{card['name']}/README.md)"


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
    taking_part = next(
        (row.get("people") for row in card["figures"] if row["protocol"] == "verification"), unseen
    )
    people = unseen if taking_part == unseen else f"{taking_part} of {unseen}"
    return (
        _link(card),
        f"`{data['builder']}`",
        f"{len(data['train_subjects'])} people",
        f"{people} others" if unseen else "cross-validated",
        figure("verification", "eer", 1),
        figure("verification", "eer", 5),
        figure("identification", "accuracy", 1),
    )


def _sentence(card):
    task = card["task"][0].upper() + card["task"][1:]
    return f"{task}, by the method of {card['paper']}. {card['model']['parameters']:,} parameters."


def _use(card):
    lines = [
        "import keras_dml",
        "from keras_dml import zoo",
        "",
        f'model = zoo.load("{card["name"]}")',
        *(_use_of_classifier(card) if catalog.is_classifier(card) else _use_of_encoder(card)),
    ]
    return "```python\n" + "\n".join(lines) + "\n```"


def _use_of_encoder(card):
    return [
        f"gallery = keras_dml.embed(model, enrolled)      # list of {_shape(card)} arrays",
        "scores = keras_dml.distance(model, keras_dml.embed(model, probes), gallery)      "
        "# small is near",
    ]


def _use_of_classifier(card):
    """Of images in one array; recordings differ in length."""
    if "size" in card["input"]:
        shape = _shape(card, "count")
        return [
            f"names = [model.class_names[i] for i in model.classify(images)]      # {shape}",
            'model.add_classes(["new"], few, [0] * len(few))      # by examples, without training',
            "same = model.similarity(model.embed(probes), model.embed(enrolled))      "
            "# great is alike",
        ]
    return [
        f"heard = keras_dml.embed(model, recordings)      # list of {_shape(card)} arrays",
        "scores = model.head_scores(heard)      # one a class, great is likely",
        'model.add_classes(["new"], recording[None], [0])      # by an example, without training',
        "same = model.similarity(heard, keras_dml.embed(model, enrolled))      # great is alike",
    ]


def _shape(card, *before):
    taken = card["input"]
    axes = (*before, *taken.get("size", ("time",)), len(taken["channels"]))
    return f"({', '.join(map(str, axes))})"


def _input(card):
    taken = card["input"]
    extent = catalog.extent_in_words(card)
    if "length" in taken and taken["length"][1] is None:
        extent = f"At least {taken['length'][0]} steps at {taken['rate_hz']:g} Hz"
    pairs = list(zip(taken["channels"], taken["units"], strict=True))
    if len(set(taken["units"])) == 1:
        channels = f"{', '.join(taken['channels'])}, in {taken['units'][0]}"
    else:
        channels = ", ".join(f"{channel} ({unit})" for channel, unit in pairs)
    return f"{extent}, {taken['dtype']}. Channels, in order: {channels}."


def _embedding(card):
    shape = " × ".join(map(str, card["embedding"]["shape"]))
    rest = {k: v for k, v in card["embedding"].items() if k not in ("shape", "distance")}
    with_rest = "".join(f", {key} = {value}" for key, value in rest.items())
    what = "an image" if "size" in card["input"] else "a recording"
    if catalog.is_classifier(card):
        return (
            f"{shape} numbers {what}, compared by a learned similarity{with_rest}: great is alike. "
            "`keras_dml.distance` gives its negative."
        )
    distance = f"the {card['embedding']['distance']} distance{with_rest}"
    return f"{shape} numbers {what}, compared by {distance}."


def _caption(path):
    """What a picture's name says: `figures/roc_det.png` is `roc det`."""
    return path.rsplit("/", 1)[-1].removesuffix(".png").replace("_", " ")


def _figures(card):
    columns = (
        "protocol",
        "n",
        "fraction",
        "setting",
        "metric",
        "value ± standard error",
        "range",
        "people",
        "trials",
    )
    rows = [
        (
            row["protocol"].replace("_", " "),
            row["n"],
            _or_dash(row.get("fraction")),
            catalog.setting(row) or "–",
            _metric(row["metric"]),
            _value(row),
            _range(row),
            _or_dash(row.get("people")),
            f"{row['trials']:,}",
        )
        for row in card["figures"]
    ]
    used = [i for i in range(len(columns)) if any(row[i] != "–" for row in rows)]
    table = _table([columns[i] for i in used], [[row[i] for i in used] for row in rows])
    said = [card["figures_are"]] if "figures_are" in card else []
    if any(row.get("head") == "dol" for row in card["figures"]):
        said.append(HEADS)
    return "\n\n".join([*said, table])


def _metric(name):
    """`EER`, `TAR at FAR 0.01`: acronyms as the field writes them."""
    words = name.split("_")
    return " ".join(word.upper() if word in ACRONYMS else word for word in words)


def _value(row):
    if row["metric"] == "auc":
        return f"{row['value']:.4f} ± {row['stderr']:.4f}"
    if row["metric"].startswith(SHARES):
        return catalog.percent(row["value"], row["stderr"])
    return f"{row['value']:.4g} ± {row['stderr']:.2g}"


def _range(row):
    """Least and greatest of the folds, or the 95 % interval."""
    if "folds" in row:
        low, high, what = min(row["folds"]), max(row["folds"]), "folds"
    elif "ci95" in row:
        low, high, what = *row["ci95"], "95 %"
    else:
        return "–"
    if row["metric"] != "auc" and row["metric"].startswith(SHARES):
        return f"{100 * low:.1f} to {100 * high:.1f} % ({what})"
    return f"{low:.4g} to {high:.4g} ({what})"


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
    columns = (
        "false accept rate",
        "accept distances up to",
        "95 % interval of the rate",
        "imposter trials",
    )
    table = f"## Thresholds\n\n{_table(columns, rows)}"
    if catalog.is_classifier(card):
        return f"{table}\n\nA distance is the negative of the sim head's similarity."
    return table


def _exports(card):
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
            f"{row[change]:+.4f}",
        )
        for row in card["exports"]
    ]
    title = f"change in {_metric(change.removesuffix('_change'))}"
    columns = ("format", "numbers", "bytes", "latency (ms)", "drift", title)
    table = f"## Exports\n\n{_table(columns, rows)}"
    distance = distances.declared(card["embedding"]["distance"])
    if distance.device_distance not in (None, distance.name):
        return (
            f"{table}\n\nA TFLite file gives tangent vectors, compared by the log-Euclidean "
            f"distance: the thresholds above are not for it, and its {title} is that of the "
            "distance too."
        )
    return table


def _data(card):
    data = card["data"]
    if "train_subjects" in data:
        known = (
            f"Trained on {_subjects(data['train_subjects'])}. Tested on "
            f"{_subjects(data['test_subjects'])}."
        )
    else:
        known = _classes(data)
    return (
        f"`{data['builder']}`. License and what it means for the weights: {data['licence']}\n\n"
        f"Consent: {data['consent']}\n\n{known}"
    )


def _subjects(names):
    return _named(names, "people") if names else "nobody apart: the figures are cross-validated"


def _classes(data):
    trained, tested = data["train_classes"], data["test_classes"]
    if trained == tested:
        known = f"Trained and tested on {_named(trained, 'classes')}"
    else:
        known = f"Trained on {_named(trained, 'classes')}. Tested on {_named(tested, 'classes')}"
    return f"{known}. {data['split']}"


def _named(names, what):
    if len(names) > _SUBJECTS_SHOWN:
        return f"{len(names)} {what} (named in `card.json`)"
    return f"{len(names)} {what} ({', '.join(names)})"


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
