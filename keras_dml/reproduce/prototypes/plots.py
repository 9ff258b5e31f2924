"""The plot of the table, its numbers, and one file of all figures."""

import numpy as np
from matplotlib.ticker import FuncFormatter

from keras_dml import reports
from keras_dml.reports import style
from keras_dml.reproduce.prototypes import tables
from keras_dml.training import write_json

OWN = "SIM + AT"
DRAWN = ("clean", "fgsm", "short", "long", "square", "worst")
NOTE = "Dots: here, on raw logits, with 95 % intervals over images. Diamonds: the paper."


def write(out, table, heads, history, *, source):
    """Writes Table 1, its plot and `figures.json`.

    Args:
        out: Folder, a `pathlib.Path`.
        table: Output of `tables.comparison`.
        heads: Heads of its columns.
        history: Output of `Experiment.train`.
        source: Data and license, a sentence.

    Returns:
        The paths written.
    """
    caption = f"{_protocol(table, history)} {NOTE} {source}"
    figure = compared(table, heads, title=_title(table, heads), caption=caption)
    written = reports.save(figure, out / "table1", table)
    found = {"figures": table, "columns": heads, "trainings": history}
    return [*written, write_json(out / "figures.json", found)]


def compared(table, heads, *, title, caption):
    """Accuracies of every row, a panel an attack.

    Args:
        table: Output of `tables.comparison`.
        heads: Heads of its columns.
        title: The finding.
        caption: Data and protocol.

    Returns:
        `matplotlib.figure.Figure`.
    """
    methods, at = table["method"], np.arange(len(table["method"]))
    colors = [style.VERMILLION if name == OWN else style.BLUE for name in methods]
    with style.house_style():
        figure = style.new_figure(title, caption, width=12, height=1.9 + 0.36 * len(methods))
        panels = np.ravel(figure.subplots(1, len(DRAWN), sharey=True))
        for axes, column in zip(panels, DRAWN, strict=True):
            found, low, high = (np.array(table[f"{column}{end}"]) for end in ("", "_low", "_high"))
            reach = np.maximum([found - low, high - found], 0)
            axes.errorbar(found, at, xerr=reach, fmt="none", ecolor=colors, linewidth=1.5)
            axes.scatter(found, at, c=colors, s=42, zorder=3)
            if column in tables.OF_PAPER:
                paper = np.array(table[f"{column}_paper"], float)
                marks = {"facecolors": "none", "edgecolors": style.GRAY, "marker": "D", "s": 30}
                axes.scatter(paper, at, **marks)
            axes.set_title(heads[column], color=style.GRAY)
            axes.xaxis.set_major_formatter(
                FuncFormatter(lambda fraction, _: f"{100 * fraction:.3g}")
            )
            axes.set_xlabel("right, %")
        panels[0].set_yticks(at, methods)
        panels[0].invert_yaxis()
        for label in panels[0].get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == OWN else "normal")
    return figure


def _protocol(table, history):
    epochs = max(row["epoch"] for row in history)
    return (
        f"Networks trained for this by {epochs} epochs of one recipe, means of {table['seeds'][0]} "
        f"seeds, {table['count'][0]:,} images; first filters that start as thresholds of pixels, "
        "except where LeNet is named."
    )


def _title(table, heads):
    worst = dict(zip(table["method"], table["worst"], strict=True))
    best = max(worst, key=worst.get)
    found = ", ".join(
        f"{name} {style.percent(worst[name])}".replace(" %", "\u00a0%")
        for name in dict.fromkeys((best, OWN, "SIM"))
        if name in worst
    )
    return f"Right under all of {len(heads) - 2} attacks: {found}"
