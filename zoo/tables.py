"""Reads the models' cards and writes the tables of models on the pages of the project, the zoo and
the papers.

Run `python -m zoo.tables` after a model is published.
"""

import pathlib
import re

import typer

from keras_dml import zoo
from keras_dml._files import write_text
from keras_dml.training import pooled
from keras_dml.training.page import markdown_table
from keras_dml.zoo import catalog, headline, products
from zoo import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE, ZOO_PAGE = ROOT / "README.md", evidence.ZOO / "README.md"
PAPERS_PAGE = evidence.PAPERS / "README.md"
EER, TAR, ACCURACY = "eer", "tar_at_far_0.01", "accuracy"
LICENSE = re.compile(r"CC BY[-A-Z]*(?: \d\.\d)?|MIT|research purposes|non-commercial use")
LICENSE_OF_WEIGHTS = re.compile(r"Apache license \d\.\d")  # if the data have no license
# The figure that each model had on its last card without a main result. The figures follow the
# protocols of the papers and have standard errors (±).
BEFORE = {
    "gait_qp_wl": "EER 1.1 % ± 0.3",
    "eeg_spdnet_rpl": "EER 0.6 % ± 0.6",
    "hdm05_spdnet_rpl": "EER 7.2 % ± 1.2",
    "vowels_qp_wl": "EER 17.5 % ± 3.6",
    "voice_logcov_lda": "fused EER 9.4 % ± 2.4",
    "mnist_proto_sim": "99.32 % ± 0.08",
    "mnist_proto_sim_at": "99.25 % ± 0.09",
    "omniglot_proto_sim": "mixed alphabets 96.56 % ± 0.09",
    "cifar10_proto_sim": "72.0 % ± 1.0",
    "pacs_proto_sim": "a style left out 76.6 % ± 1.0",
}


def of_people(cards):
    """Returns a table with one row per model that takes recordings.

    The columns contain pooled figures of the model, of its best baseline without a network, and of
    its best alternative.

    Args:
        cards: Valid cards.

    Returns:
        A table in Markdown.
    """
    columns = (
        "model",
        "EER, pooled [95 %]",
        "TAR at FAR 1 %",
        "without a network, EER",
        "instead, EER",
        "people",
        "license",
        "in products",
    )
    rows = [
        (
            _link(card, "zoo/"),
            _figure(card, EER),
            _figure(card, TAR),
            _best(card, "no network", EER),
            _best(card, "instead", EER),
            _count(card, "people") + catalog.SITTINGS.get(card["headline"]["repeats"], ""),
            _license(card),
            products.mark(card),
        )
        for card in cards
        if "train_subjects" in card["data"]
    ]
    return markdown_table(columns, rows)


def of_images(cards):
    """Returns a table with one row per image classifier, see `of_people`."""
    columns = (
        "model",
        "accuracy [95 %]",
        "of",
        "without a network",
        "instead",
        "images",
        "license",
        "in products",
    )
    rows = [
        (
            _link(card, "zoo/"),
            _figure(card, ACCURACY),
            card["headline"]["trials"],
            _best(card, "no network", ACCURACY),
            _best(card, "instead", ACCURACY),
            _count(card, "images"),
            _license(card),
            products.mark(card),
        )
        for card in cards
        if "train_classes" in card["data"]
    ]
    return markdown_table(columns, rows)


def of_all(cards):
    """Returns a table with one row per model. The columns contain the model's earlier figure, its
    main result, the figures of other methods, and the command that measures the model again.
    """
    columns = (
        "model",
        "before, other trials",
        "now",
        "without a network",
        "instead",
        "measured on",
        "in products",
        "command",
    )
    rows = []
    for card in cards:
        of_people = "train_subjects" in card["data"]
        metric, unit = (EER, "people") if of_people else (ACCURACY, "images")
        rows.append(
            (
                _link(card),
                BEFORE.get(card["name"], "–"),
                f"{catalog.metric_in_words(metric)} {_figure(card, metric)}",
                _best(card, "no network", metric),
                _best(card, "instead", metric),
                f"{_count(card, unit)} {unit}",
                products.mark(card),
                f"`python -m zoo.measure {card['name']}`",
            )
        )
    return markdown_table(columns, rows)


def of_unbeaten(cards):
    """Returns a table of the baselines that a model does not beat significantly, with one row per
    model and baseline.

    Figures of the same model on other probes are not listed.
    """
    columns = ("model", "does not beat", "kind", "its figure", "the model minus this")
    rows = []
    for card in cards:
        for baseline in card["baselines"]:
            metric = baseline["difference"]["metric"]
            if baseline["kind"] != pooled.OTHER_PROBES and headline.gain(baseline)[1] <= 0:
                figure = (
                    f"{catalog.metric_in_words(metric)} {_row_in_words(baseline['rows'], metric)}"
                )
                less = baseline["difference"]
                difference = catalog.points(less["value"], less["ci95"])
                rows.append((_link(card), baseline["name"], baseline["kind"], figure, difference))
    return markdown_table(columns, rows)


def _link(card, folder=""):
    return f"[`{card['name']}`]({folder}{card['name']}/README.md)"


def _license(card):
    """Returns the license of the data in a few words. The page of the model contains the full
    text.
    """
    text = card["data"]["licence"]
    match = LICENSE.search(text) or LICENSE_OF_WEIGHTS.search(text)
    if not match or text.startswith("No"):
        return "none stated"
    return f"{match[0]}; of a part none stated" if "no license stated" in text else match[0]


def _count(card, unit):
    return f"{card['headline'][unit]:,}"


def _figure(card, metric):
    """Formats a pooled figure of a card. Returns a dash if the card does not contain the figure."""
    return _row_in_words(card["headline"]["rows"], metric)


def _row_in_words(rows, metric):
    matches = [row for row in rows if row["metric"] == metric]
    return catalog.with_interval(matches[0]["value"], matches[0]["ci95"]) if matches else "–"


def _best(card, kind, metric):
    """Formats the best baseline of a kind. The text is bold if the model does not beat the baseline
    significantly.
    """
    sign = 1 if metric == EER else -1
    candidates = [
        (sign * row["value"], baseline)
        for baseline in card["baselines"]
        for row in baseline["rows"]
        if (baseline["kind"], row["metric"]) == (kind, metric)
    ]
    if not candidates:
        return "–"
    _, best = min(candidates, key=lambda pair: pair[0])
    text = f"{best['name']}: {_row_in_words(best['rows'], metric)}"
    return text if headline.gain(best)[1] > 0 else f"**{text}**"


# For each page, the folder of the models and the functions that make the tables.
TABLES = {
    PAGE: (evidence.ZOO, of_people, of_images),
    ZOO_PAGE: (evidence.ZOO, of_all, of_unbeaten),
    PAPERS_PAGE: (evidence.PAPERS, of_all),
}


def rewrite(page):
    """Returns the text of a page with new tables. Each new table replaces the table that has the
    same columns.

    Args:
        page: Path of the page, a key of `TABLES`.
    """
    text = page.read_text(encoding="utf-8")
    models, *tables = TABLES[page]
    cards = [zoo.card(path.parent) for path in sorted(models.glob("*/card.json"))]
    for make in tables:
        table = make(cards)
        start = text.index(table.partition("\n")[0])
        end = text.index("\n\n", start)
        text = text[:start] + table + text[end:]
    return text


def main():
    """Writes the tables of models on the pages of the project, the zoo and the papers."""
    for page in TABLES:
        write_text(page, rewrite(page))


if __name__ == "__main__":
    typer.run(main)
