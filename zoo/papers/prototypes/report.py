"""Creates the picture and the tables of Table 1, which are written to files, to stdout and to the
page.
"""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from keras_dml import reports
from keras_dml.reports import Section, style
from keras_dml.training import write_json
from zoo.papers.prototypes.tables import PAPER_COLUMNS, Table

EMPHASIZED = "SIM + AT"
DRAWN = ("clean", "fgsm", "short", "long", "square", "worst")
PRINTED = (*("clean", "fgsm", "short", "long", "apgd", "margin"), *("targeted", "square", "worst"))
NOTE = (
    "Dots show the accuracies of this experiment under attacks on raw logits, with 95 % intervals "
    "over images. Diamonds show the accuracies in the paper."
)
FIGURES = "figures.json"
FILES = {
    "table1.png": "the table above and Table 1 of the paper",
    "table1.csv": "the numbers of the table, with intervals",
    "report.html": "all tables and pictures on one page",
    FIGURES: "all figures and the history of every training as JSON",
}


def write(
    out: pathlib.Path,
    table: Table,
    heads: Mapping[str, str],
    history: Sequence[Mapping[str, Any]],
    *,
    source: str,
) -> list[pathlib.Path]:
    """Writes Table 1, its picture and `figures.json`, and returns the paths of the files.

    Args:
        out: Folder.
        table: Output of `tables.comparison`.
        heads: Headings of the table's columns, output of `tables.column_heads`.
        history: Output of `Experiment.train`.
        source: Sentence that names the data and their license.
    """
    caption = f"{_protocol_text(table, history)} {NOTE} {source}"
    figure = draw_accuracies(table, heads, title=_title(table, heads), caption=caption)
    paths = reports.save(figure, out / "table1", table)
    content = {"figures": table, "columns": heads, "trainings": history}
    return [*paths, write_json(out / FIGURES, content)]


def draw_accuracies(table: Table, heads: Mapping[str, str], *, title: str, caption: str) -> Figure:
    """Draws the accuracies of every row, with one panel for each attack.

    Args:
        table: Output of `tables.comparison`.
        heads: Headings of the table's columns.
        title: Sentence that states the finding.
        caption: Text that describes data and protocol.
    """
    methods, positions = table["method"], np.arange(len(table["method"]))
    colors = [style.VERMILLION if name == EMPHASIZED else style.BLUE for name in methods]
    with style.house_style():
        figure = style.new_figure(title, caption, width=12, height=1.9 + 0.36 * len(methods))
        panels = np.ravel(figure.subplots(1, len(DRAWN), sharey=True))
        for axes, column in zip(panels, DRAWN, strict=True):
            values, low, high = (np.array(table[f"{column}{end}"]) for end in ("", "_low", "_high"))
            reach = np.maximum([values - low, high - values], 0)
            axes.errorbar(values, positions, xerr=reach, fmt="none", ecolor=colors, linewidth=1.5)
            axes.scatter(values, positions, c=colors, s=42, zorder=3)
            if column in PAPER_COLUMNS:
                paper = np.array(table[f"{column}_paper"], float)
                marks = {"facecolors": "none", "edgecolors": style.GRAY, "marker": "D", "s": 30}
                axes.scatter(paper, positions, **marks)
            axes.set_title(heads[column], color=style.GRAY)
            axes.xaxis.set_major_formatter(
                FuncFormatter(lambda fraction, _: f"{100 * fraction:.3g}")
            )
            axes.set_xlabel("right, %")
        panels[0].set_yticks(positions, methods)
        panels[0].invert_yaxis()
        for label in panels[0].get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == EMPHASIZED else "normal")
    return figure


def sections(table: Table, heads: Mapping[str, str]) -> list[Section]:
    """Returns the two sections of the page, a table with all attacks and a table with the attacks
    of the paper.

    Args:
        table: Output of `tables.comparison`.
        heads: Headings of the table's columns.
    """
    count, seeds = table["count"][0], table["seeds"][0]
    trainings = "one training" if seeds == 1 else f"means of {seeds} trainings"
    widest = max(
        table[f"{name}_high"][i] - table[f"{name}_low"][i]
        for name in PRINTED
        for i in range(len(table["method"]))
    )
    indices = range(len(table["method"]))
    attacked = Section(
        "Right answers under attack",
        f"The table contains the percentage of {count:,} images that are classified correctly, "
        f"{trainings}. The last column counts images that are classified correctly under every "
        "attack.",
        # The heading breaks at spaces, so that the columns stay narrow.
        ("trained and read by", *(heads[name].replace("Square-", "Square ") for name in PRINTED)),
        [(table["method"][i], *(_percent(table[name][i]) for name in PRINTED)) for i in indices],
        f"The 95 % intervals over images are at most ± {50 * widest:.1f} points. table1.csv "
        "contains all intervals. The columns marked (weak) contain figures under the attacks that "
        "the paper used.",
        groups=(("", 2), ("attack", len(PRINTED) - 2), ("all attacks", 1)),
    )
    labels = [  # smaller settings have attacks with fewer steps than the paper's
        head if heads[name] == head else f"{head} (here {heads[name]})"
        for name, head in PAPER_COLUMNS.items()
    ]
    papers = [
        [_percent(table[f"{name}{end}"][i]) for name in PAPER_COLUMNS for end in ("", "_paper")]
        for i in indices
    ]
    paper = Section(
        "Right answers here and in the paper",
        "The table contains the percentage of images that are classified correctly without attack "
        "and under the three attacks in Table 1 of the paper. Our attacks use raw logits. The "
        "attacks of the paper were probably weaker.",
        ("trained and read by", *(len(PAPER_COLUMNS) * ("here", "paper"))),
        [(table["method"][i], *papers[i]) for i in indices],
        groups=(("", 1), *((label, 2) for label in labels)),
    )
    return [attacked, paper]


def _protocol_text(table, history):
    epochs = max(row["epoch"] for row in history)
    return (
        f"All networks are trained for {epochs} epochs with the same recipe. The accuracies are "
        f"means of {table['seeds'][0]} seeds on {table['count'][0]:,} images. The first filters "
        "are initialized as thresholds for pixels, except in the row named LeNet."
    )


def _title(table, heads):
    worst = dict(zip(table["method"], table["worst"], strict=True))
    best = max(worst, key=worst.get)
    texts = ", ".join(
        f"{name} {style.percent(worst[name])}".replace(" %", "\u00a0%")
        for name in dict.fromkeys((best, EMPHASIZED, "SIM"))
        if name in worst
    )
    return f"Images classified correctly under all {len(heads) - 2} attacks: {texts}"


def _percent(fraction):
    return "–" if fraction is None else f"{100 * fraction:.1f}"
