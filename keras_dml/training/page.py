"""Renders the page of a model in Markdown from the model's card, so that page and card agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from keras_dml import _figures
from keras_dml import scoring as scorings
from keras_dml.zoo import catalog, headline, products

_NOTE = (
    "<!-- `keras_dml.training` writes this page from card.json. Change the card, not this page. -->"
)
_SUBJECTS_SHOWN = 12
_NEW_CLASSES = (
    "Classes that `add_classes` adds are recognized less often than the classes of the training "
    "data. `zoo/new_classes.md` in the repository shows the accuracy on both kinds of classes. "
    "`keras_dml.evaluation.generalized_accuracy` measures these two accuracies on your data."
)
_MEASURED = (
    "Each threshold is set on people who were not used to train the model. The interval of the FAR "
    "applies to a new group that has as many people as this one. The interval of the TAR is for a "
    "fixed threshold. In the main result, the TAR has another interval, because the bootstrap sets "
    "a new threshold in each replicate."
)
_LARGER = (
    "The number of independent pairs is estimated for each threshold separately. A stricter "
    "threshold accepts fewer trials, so the differences between people are estimated less "
    "precisely. For the same FAR, the number of people that may be enough can have a different "
    "estimate at each threshold. In this case, use the larger estimate."
)
_STREAMS = (
    "These thresholds are for files that `keras_dml.export.stream` writes. In a stream, the "
    "convolutions see the steps before a window. The enrolled recordings are windows of streams "
    "too. At the start of a recording, the state of a stream is zeros."
)
IN_PRODUCTS = {
    products.YES: "**In products: yes.** The licenses of the data and of the weights allow the use "
    "of the model in products, under the conditions that the previous paragraph states.",
    products.ASK: "**In products: ask.** No license is stated, or the license leaves the question "
    "open. Ask the authors of the data, or a lawyer, before you use the model in a product.",
    products.NO: "**In products: no.** A license of the data forbids the use of the model in "
    "products.",
}
_CHANGE_OF_DISTANCE = "change_of_distance"
NO_UNIT = "1"  # unit of channels that are pure numbers
HEADS = (
    "The head `sim` is the similarity to the prototypes, and the head `dol` is the auxiliary dense "
    "output layer."
)


def render(card: dict[str, Any], images: Sequence[str] = ()) -> str:
    """Renders the page of a model in Markdown.

    Args:
        card: A valid card.
        images: Paths of images, relative to the model's folder, shown below the figures.

    Returns:
        The text, ending in a newline.
    """
    sections = [
        f"# {card['name']}\n\n{_NOTE}\n\n{_summary(card)}{headline.verdict(card)}",
        _usage(card),
        f"## Input\n\n{_input(card)}",
        f"## Embedding\n\n{_embedding(card)}",
        _headline(card),
        _scoring(card),
        f"## Further figures\n\n{figures(card)}" if card["figures"] else "",
        "\n\n".join(f"![{_caption(path)}]({path})" for path in images),
        thresholds(card),
        exports(card),
        scrutiny(card),
        f"## Data\n\n{_data(card)}",
        "## Limits\n\n" + "\n".join(f"- {limit}" for limit in card["limits"]),
        f"## Recipe\n\n{_recipe(card)}",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _summary(card):
    task = card["task"][0].upper() + card["task"][1:]
    return (
        f"{task}. Method: {card['paper']}. The model has {card['model']['parameters']:,} "
        "parameters."
    )


def _headline(card):
    columns, rows = headline.table(card)
    table = f"\n\n{markdown_table(columns, rows)}" if rows else ""
    return f"## Main result\n\n{headline.words(card)}{table}"


def _scoring(card):
    if "scoring" not in card:
        return ""
    about = card["scoring"]
    columns, rows = headline.table({**card, "baselines": about["rivals"]})
    return (
        f"## Scoring\n\nGalleries of this model use the scoring `{about['name']}` by default. The "
        f"score is the {scorings.get(about['name']).text}. {about['choice']}\n\n"
        f"{markdown_table(columns, rows)}"
    )


def _usage(card):
    is_classifier = catalog.is_classifier(card)
    lines = [
        "import keras_dml",
        "from keras_dml import zoo",
        "",
        f'model = zoo.load("{_name_or_path(card)}")',
        *(_classifier_usage(card) if is_classifier else _encoder_usage(card)),
    ]
    code = "```python\n" + "\n".join(lines) + "\n```"
    return f"{code}\n\n{_NEW_CLASSES}" if is_classifier else code


def _name_or_path(card):
    """Returns the name of a model of the zoo, or the path of another model."""
    default = f"./{card['name']}" if card.get("is_own") else card["name"]
    return card.get("folder", default)


def _encoder_usage(card):
    return [
        f"gallery = keras_dml.embed(model, enrolled)      # list of {_shape(card)} arrays",
        "scores = keras_dml.distance(model, keras_dml.embed(model, probes), gallery)      "
        "# smaller is closer",
    ]


def _classifier_usage(card):
    """Returns lines of code. The images in the code are one array, and the recordings are a list of
    arrays."""
    if "size" in card["input"]:
        shape = _shape(card, "count")
        return [
            f"names = [model.class_names[i] for i in model.classify(images)]      # {shape}",
            'model.add_classes(["new"], few, [0] * len(few))      # from examples, no training',
            "same = model.similarity(model.embed(probes), model.embed(enrolled))      "
            "# higher is more similar",
        ]
    return [
        f"z = keras_dml.embed(model, recordings)      # list of {_shape(card)} arrays",
        "scores = model.head_scores(z)      # one per class, higher is likelier",
        'model.add_classes(["new"], recording[None], [0])      # from an example, no training',
        "same = model.similarity(z, keras_dml.embed(model, enrolled))      "
        "# higher is more similar",
    ]


def _shape(card, *leading):
    described = card["input"]
    axes = (*leading, *described.get("size", ("time",)), len(described["channels"]))
    return f"({', '.join(map(str, axes))})"


def _input(card):
    described = card["input"]
    extent = catalog.extent_in_words(card)
    if "length" in described and described["length"][1] is None:
        extent = f"at least {described['length'][0]} events, one per row"
        if described["rate_hz"] is not None:
            least, rate = described["length"][0], described["rate_hz"]
            extent = f"at least {least} time steps at {rate:g} Hz"
    pairs = list(zip(described["channels"], described["units"], strict=True))
    if len(set(described["units"])) == 1:
        unit = described["units"][0]
        channels = ", ".join(described["channels"])
        values = " Values have no unit." if unit == NO_UNIT else f" Values are in {unit}."
    else:
        channels = ", ".join(f"{channel} ({unit})" for channel, unit in pairs)
        values = ""
    order = f"The channels have this order: {channels}."
    if len(pairs) == 1:
        order = f"The only channel is {channels}."
    return f"The input has {extent}, as {described['dtype']}. {order}{values}"


def _embedding(card):
    shape = " × ".join(map(str, card["embedding"]["shape"]))
    rest = {k: v for k, v in card["embedding"].items() if k not in ("shape", "distance")}
    options = ", ".join(f"`{key} = {value}`" for key, value in rest.items())
    options = f" with {options}" if options else ""
    item = "image" if "size" in card["input"] else "recording"
    if catalog.is_classifier(card):
        return (
            f"An embedding has {shape} numbers per {item}. Embeddings are compared by a learned "
            f"similarity{options}. A higher similarity means that two recordings are more similar. "
            "`keras_dml.distance` returns the negative of this similarity."
        )
    distance = f"the distance `{card['embedding']['distance']}`{options}"
    if card["embedding"]["distance"] == "cosine":
        distance += ", which is the negative of the cosine"
    return f"An embedding has {shape} numbers per {item}. Embeddings are compared by {distance}."


def _caption(path):
    """Returns the caption of a figure: `figures/roc_det.png` becomes `roc det`."""
    return path.rsplit("/", 1)[-1].removesuffix(".png").replace("_", " ")


def _data(card):
    data = card["data"]
    if card.get("is_own"):
        measured = " The figures are from cross-validation." if card["figures"] else ""
        names = data["train_subjects"]
        people = f"{len(names)} people" if "digests" in data else _names(names, "people")
        division = f"The model was made with {people}.{measured}"
    elif "train_subjects" in data:
        names = data["train_subjects"]
        trained = f"trained on {_names(names, 'people')}" if names else "not trained on this data"
        division = f"The model was {trained}. {_test_people(data['test_subjects'])}"
    else:
        division = _classes(data)
    in_products = "" if card.get("is_own") else f"{IN_PRODUCTS[products.mark(card)]}\n\n"
    return (
        f"Data set: `{data['builder']}`. License of the data, and its effect on the weights: "
        f"{data['licence']}\n\n{in_products}"
        f"Consent: {data['consent']}\n\n{division}"
    )


def _test_people(names):
    if names:
        return f"Tested on {_names(names, 'people')}."
    return "No people are reserved for the test, because the figures are cross-validated."


def _classes(data):
    trained, tested = data["train_classes"], data["test_classes"]
    if trained == tested:
        division = f"The model was trained and tested on {_names(trained, 'classes')}"
    else:
        division = (
            f"The model was trained on {_names(trained, 'classes')} and tested on "
            f"{_names(tested, 'classes')}"
        )
    return f"{division}. {data['split']}"


def _names(names, what):
    if len(names) > _SUBJECTS_SHOWN:
        return f"{len(names)} {what} (named in `card.json`)"
    return f"{len(names)} {what} ({', '.join(names)})"


def _recipe(card):
    recipe = card["recipe"]
    versions = ", ".join(f"{name} {version}" for name, version in recipe["versions"].items())
    duration = f"{recipe['minutes']:g} minutes" if recipe["minutes"] else "under 0.1 minutes"
    is_without_folds = not card.get("is_own") and card["data"].get("test_subjects") == []
    note = (
        " This time does not include the training of the models of the cross-validation."
        if is_without_folds
        else ""
    )
    return (
        f"```\n{recipe['command']}\n```\n\nThis command made the model file in {duration} on "
        f"{recipe['date']}, with seed {recipe['seed']}{f' and {versions}' if versions else ''}."
        f"{note}"
    )


def figures(card: dict[str, Any]) -> str:
    """Returns the figures of a card as a table, below their description."""
    notes = [card["figures_are"]] if "figures_are" in card else []
    if any(row.get("head") == "dol" for row in card["figures"]):
        notes.append(HEADS)
    return "\n\n".join([*notes, markdown_table(*figure_table(card))])


def figure_table(card: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Returns columns and rows of a card's figures, without empty columns.

    Args:
        card: A card, or a dict of its `figures` and `headline`.
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
            _range_of_folds(row),
            _or_dash(row.get("people")),
            f"{row['trials']:,}",
        )
        for row in card["figures"]
    ]
    used = [i for i in range(len(columns)) if any(row[i] != "–" for row in rows)]
    return [columns[i] for i in used], [[row[i] for i in used] for row in rows]


def _uncertainty(rows):
    """Returns a heading that names the kind of uncertainty in the figures of a card."""
    with_interval = ["ci95" in row for row in rows]
    if all(with_interval):
        return "[95 % interval]"
    return "[95 % interval] or ± standard error" if any(with_interval) else "± standard error"


def _range_of_folds(row):
    """Returns the smallest and the largest value of the folds."""
    if "folds" not in row:
        return "–"
    low, high = min(row["folds"]), max(row["folds"])
    if catalog.is_rate(row):
        return f"{100 * low:.1f} to {100 * high:.1f} %"
    return f"{low:.4g} to {high:.4g}"


def thresholds(card: dict[str, Any]) -> str:
    """Returns the sections about a card's thresholds. The text is empty for a card without
    thresholds."""
    device = card.get("device_thresholds", [])
    sections = []
    if card["thresholds"]:
        sections.append(_threshold_section("## Thresholds", card["thresholds"], card))
    if device:
        title = f"## Thresholds of files for devices, by the {device[0]['distance']} distance"
        sections.append(_threshold_section(title, device, card))
    if streams := card.get("stream_thresholds", []):
        title = f"## Thresholds of streams, for windows of {streams[0]['window']:,} steps"
        sections.append(f"{_threshold_section(title, streams, card)}\n\n{_STREAMS}")
    return "\n\n".join(sections)


def scrutiny(card: dict[str, Any]) -> str:
    """Returns the section about refused recordings, groups of people and attacks. The text is empty
    for a card without these entries."""
    sentences = []
    if refused := card.get("refused"):
        count, total = refused["refused"], refused["recordings"]
        bound = f"at most {100 * 3 / total:.1f} %" if not count else f"{100 * count / total:.1f} %"
        sentences.append(
            f"**Refused recordings.** The quality gate refuses {count:,} of {total:,} test "
            f"recordings ({bound}). The figures do not contain a decision about refused recordings."
            if count
            else f"**Refused recordings.** The quality gate refuses none of {total:,} test "
            f"recordings ({bound}, by the rule of three)."
        )
    sentences += map(_groups, card.get("groups", []))
    if attacks := card.get("attacks"):
        sentences.append(
            f"**Attacks.** Measured: {attacks['measured']} Not measured: {attacks['not_measured']}"
        )
    return "\n\n".join(["## Refusals, groups and attacks", *sentences]) if sentences else ""


def _groups(entry):
    """Describes the error rates of groups, beginning with the group with the highest FRR."""
    rows = entry["rows"]
    accepted = max(rows, key=lambda row: row["far"])
    table = markdown_table(
        ("group", "people", "FRR", "FAR within the group", "imposter trials"),
        [
            (
                row["group"],
                f"{row['people']}",
                catalog.with_interval(row["frr"], row["frr_ci95"]),
                catalog.with_interval(row["far"], row["far_ci95"]),
                f"{row['trials']:,}",
            )
            for row in rows
        ],
    )
    return (
        f"**Groups: {entry['attribute']}.** At the threshold for a FAR of {100 * entry['far']:g} % "
        f"over all people, the group with the highest FRR is {rows[0]['group']}, and the group "
        f"with the highest FAR is {accepted['group']}. The FAR is the rate of false claims between "
        f"two people of the same group.\n\n{table}"
    )


def _threshold_section(title, rows_of_card, card):
    name = rows_of_card[0].get("scoring", scorings.DEFAULT)
    other = None if name == scorings.DEFAULT else name
    columns = (
        "accept distances up to" if other is None else "accept scores up to",
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
    description = rows_of_card[0].get("carried") or _MEASURED
    score = "its smallest distance to the enrolled recordings"
    if other is not None:
        score = f"the {scorings.get(other).text}"
    table = markdown_table(columns, rows)
    section = f"{title}\n\nThe score of a recording is {score}. {description}\n\n{table}"
    unit = card.get("headline", {}).get("unit", "people")
    certificates = [_certificate(row, unit) for row in rows_of_card if "certificate" in row]
    within = [
        _rate_within(row["far"], part) for row in rows_of_card for part in row.get("within", ())
    ]
    larger = [_LARGER] if len(certificates) > 1 else []
    tries = _tries([row for row in rows_of_card if "best_of_tries" in row])
    section = "\n\n".join([section, *certificates, *larger, *within, *tries])
    if catalog.is_classifier(card):
        return (
            f"{section}\n\nHere, a distance is the negative of the similarity that the head `sim` "
            "returns."
        )
    return section


def _rate_within(far, part):
    """Describes the false accept rate between people who have the same value of a confounder.

    Args:
        far: False accept rate for which the threshold was set.
        part: Entry of the list `within` that belongs to a row of a card's `thresholds`.
    """
    bounds = part["far_ci95"]
    measured = catalog.with_interval(part["far"], bounds).partition(" [")[0]
    return (
        f"At the threshold for a FAR of {100 * far:g} %, the FAR between {part['confounder']} is "
        f"{measured} (95 % interval: {catalog.percents(bounds)}, {part['trials']:,} trials)."
    )


def _tries(rows):
    """Returns a sentence and a table about the error rates if a person may try several times.

    The result is an empty list if the card has no rates for several tries.
    """
    if not rows:
        return []
    measured = rows[0]["best_of_tries"]
    return [
        f"FAR and TAR rise if a person may try {measured['tries']} times and one accepted "
        "recording is enough. In the following table, the TAR is measured on "
        f"{measured['people']} people, and the FAR on {measured['pairs']:,} pairs of people. Only "
        f"people and pairs with {measured['tries']} recordings or more are used:",
        markdown_table(catalog.TRIES, map(catalog.tries_in_words, rows)),
    ]


def _certificate(row, unit):
    """Describes the false accept rates for which a card has enough people to set a threshold.

    Args:
        row: Entry of a card's `thresholds` with a `certificate`.
        unit: Unit of the counts, such as `people`.
    """
    certificate = row["certificate"]
    needed = " ".join(
        _needed(float(far), count, unit) for far, count in certificate["people_needed"].items()
    )
    return (
        f"The threshold for a FAR of {100 * row['far']:g} % was set with the trials of "
        f"{row['people']} {unit}. These trials carry as much information as "
        f"{certificate['independent']:,.0f} independent pairs of {unit}. "
        f"For a new group of {row['people']} {unit}, the 95 % confidence interval of the FAR is "
        f"{catalog.percents(certificate['ci95'])}. With {row['people']} {unit}, the lowest FAR for "
        f"which a threshold can be set is {rounded_up(certificate['strictest'])}."
        f"{f' {needed}' if needed else ''}"
    )


def _needed(far, count, unit):
    """Says how many people are needed to set a threshold for a false accept rate.

    Args:
        far: The false accept rate.
        count: Smallest and largest number of people, or a single number, as in older cards.
        unit: Unit of the numbers, such as `people`.
    """
    start = f"For a threshold at a FAR of {100 * far:g} %,"
    if isinstance(count, int):
        return f"{start} about {count:,} {unit} are needed."
    fewest, most = count
    return f"{start} {fewest:,} {unit} may be enough, and {most:,} {unit} are always enough."


def rounded_up(rate: float) -> str:
    """Formats a rate as a percentage that is rounded up: to one digit after the decimal point, or
    to two significant digits if the rate is below 0.1 %.
    """
    if rate < 0.001:
        return _figures.percent_rounded_up(rate)
    return f"{math.ceil(1000 * rate - 1e-9) / 10:g} %"


def exports(card: dict[str, Any]) -> str:
    """Returns the section about exported files, or an empty string if the card has none."""
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
    description = f"{card['exports_are']}\n\n" if "exports_are" in card else ""
    section = f"## Exports\n\n{description}{markdown_table(columns, rows)}"
    changes = [row[_CHANGE_OF_DISTANCE] for row in card["exports"] if _CHANGE_OF_DISTANCE in row]
    if not changes:
        return section
    warning = " The thresholds above do not apply to TFLite files." if card["thresholds"] else ""
    if card.get("device_thresholds"):
        warning = " Thresholds for TFLite files are listed above."
    metric = title.removeprefix("change in ")
    return (
        f"{section}\n\nA TFLite file computes tangent vectors, which are compared by the "
        f"log-Euclidean distance.{warning} The {title} in the table is the {metric} of the "
        f"file minus the {metric} of the Keras model. For this comparison, the Keras model also "
        "uses the log-Euclidean distance. Replacing the model's own distance by "
        f"the log-Euclidean distance changes the {metric} by {changes[0]:+.4f}."
    )


def _or_dash(value):
    return "–" if value is None else value


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table in Markdown.

    Args:
        columns: Headings.
        rows: Sequences of cells. Each row has as many cells as there are columns.
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
