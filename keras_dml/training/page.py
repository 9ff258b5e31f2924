"""A model's page, written from its card so that the two cannot disagree."""

from keras_dml.training import page_tables
from keras_dml.zoo import catalog, headline

_NOTE = "<!-- Written from card.json by `keras_dml.training`; change the card, not this page. -->"
_SUBJECTS_SHOWN = 12
_NEW_CLASSES = (
    "Added classes are found among all classes less often than the classes of training; "
    "`zoo/new_classes.md` of the checkout has figures, and "
    "`keras_dml.evaluation.generalized_accuracy` measures them on your data."
)


def render(card, images=()):
    """The page of a model, in Markdown.

    Args:
        card: A valid card.
        images: Paths of images from the model's folder, shown below the figures.

    Returns:
        The text, ending in a newline.
    """
    sections = [
        f"# {card['name']}\n\n{_NOTE}\n\n{_sentence(card)}{headline.verdict(card)}",
        _use(card),
        f"## Input\n\n{_input(card)}",
        f"## Embedding\n\n{_embedding(card)}",
        _headline(card),
        f"## Further figures\n\n{page_tables.figures(card)}" if card["figures"] else "",
        "\n\n".join(f"![{_caption(path)}]({path})" for path in images),
        page_tables.thresholds(card),
        page_tables.exports(card),
        f"## Data\n\n{_data(card)}",
        "## Limits\n\n" + "\n".join(f"- {limit}" for limit in card["limits"]),
        f"## Recipe\n\n{_recipe(card)}",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _sentence(card):
    task = card["task"][0].upper() + card["task"][1:]
    return f"{task}. Method: {card['paper']}. {card['model']['parameters']:,} parameters."


def _headline(card):
    columns, rows = headline.table(card)
    table = f"\n\n{page_tables.markdown(columns, rows)}" if rows else ""
    return f"## Headline\n\n{headline.words(card)}{table}"


def _use(card):
    lines = [
        "import keras_dml",
        "from keras_dml import zoo",
        "",
        f'model = zoo.load("{_place(card)}")',
        *(_use_of_classifier(card) if catalog.is_classifier(card) else _use_of_encoder(card)),
    ]
    code = "```python\n" + "\n".join(lines) + "\n```"
    return f"{code}\n\n{_NEW_CLASSES}" if catalog.is_classifier(card) else code


def _place(card):
    """The name of a model of the zoo, the path of another one."""
    return f"./{card['name']}" if card.get("is_own") else card["name"]


def _use_of_encoder(card):
    return [
        f"gallery = keras_dml.embed(model, enrolled)      # list of {_shape(card)} arrays",
        "scores = keras_dml.distance(model, keras_dml.embed(model, probes), gallery)      "
        "# smaller is closer",
    ]


def _use_of_classifier(card):
    """Images are one array; recordings differ in length, so they are a list."""
    if "size" in card["input"]:
        shape = _shape(card, "count")
        return [
            f"names = [model.class_names[i] for i in model.classify(images)]      # {shape}",
            'model.add_classes(["new"], few, [0] * len(few))      # by examples, without training',
            "same = model.similarity(model.embed(probes), model.embed(enrolled))      "
            "# higher is more similar",
        ]
    return [
        f"heard = keras_dml.embed(model, recordings)      # list of {_shape(card)} arrays",
        "scores = model.head_scores(heard)      # one a class, higher is likelier",
        'model.add_classes(["new"], recording[None], [0])      # by an example, without training',
        "same = model.similarity(heard, keras_dml.embed(model, enrolled))      "
        "# higher is more similar",
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
            f"{shape} numbers {what}, compared by a learned similarity{with_rest}: higher is more "
            "similar. `keras_dml.distance` gives its negative."
        )
    distance = f"the {card['embedding']['distance']} distance{with_rest}"
    if card["embedding"]["distance"] == "cosine":
        distance += ", the negative of the cosine"
    return f"{shape} numbers {what}, compared by {distance}."


def _caption(path):
    """Caption from the name of a figure: `figures/roc_det.png` is `roc det`."""
    return path.rsplit("/", 1)[-1].removesuffix(".png").replace("_", " ")


def _data(card):
    data = card["data"]
    if card.get("is_own"):
        measured = "; the figures are cross-validated" if card["figures"] else ""
        names = data["train_subjects"]
        people = f"{len(names)} people" if "digests" in data else _named(names, "people")
        known = f"Made with {people}{measured}."
    elif "train_subjects" in data:
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
    spent = f"{recipe['minutes']:g} minutes" if recipe["minutes"] else "under 0.1 minutes"
    if not card.get("is_own"):
        spent += " to train this file"
        if card["data"].get("test_subjects") == []:
            spent += ", those of its cross-validation apart"
    return (
        f"```\n{recipe['command']}\n```\n\nSeed {recipe['seed']}, {spent}, {recipe['date']}"
        f"{f', with {versions}' if versions else ''}."
    )
