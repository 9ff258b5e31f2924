"""Writes the two tables of models on the project's page from the models' cards:
`python -m zoo.tables`, after a model was published."""

import pathlib

from keras_dml import zoo
from keras_dml._files import write_text
from keras_dml.training import page_tables
from keras_dml.zoo import catalog

PAGE = pathlib.Path(__file__).resolve().parent.parent / "README.md"
ENCODERS = ("gait_qp_wl", "eeg_qp_wl", "eeg_spdnet_rpl", "hdm05_spdnet_rpl", "vowels_qp_wl")
CLASSIFIERS = (
    "mnist_proto_sim",
    "mnist_proto_sim_at",
    "omniglot_proto_sim",
    "speech_xvector_sim",
    "cifar10_proto_sim",
    "pacs_proto_sim",
)


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
    return page_tables.markdown(columns, [_overview_row(card) for card in cards])


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
    return page_tables.markdown(columns, rows)


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


TABLES = {overview: ENCODERS, overview_of_classifiers: CLASSIFIERS}


def written(text):
    """A page with its tables made again.

    Args:
        text: The page, in Markdown; each table stands where one with the same columns stood.
    """
    for overview, names in TABLES.items():
        table = overview([zoo.card(name) for name in names])
        start = text.index(table.partition("\n")[0])
        end = text.index("\n\n", start)
        text = text[:start] + table + text[end:]
    return text


if __name__ == "__main__":
    write_text(PAGE, written(PAGE.read_text(encoding="utf-8")))
