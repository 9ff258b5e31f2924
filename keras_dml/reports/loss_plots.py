"""Draws plots that compare losses on people who were not used in training (Kim2020, Table I and
Figures 2 to 5).

Each function draws a plot from a table, which is a dict from names to columns. `reports.save`
writes the table in the same folder as the plot. All measured values are fractions. Error bars show
standard errors over seeds, which are in the columns `..._stderr`. A value without a standard error
has no error bar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from keras_dml.reports import style

OTHER, PROPOSED = style.BLUE, style.VERMILLION  # other losses, and the loss of the paper
_LINES = (
    (style.VERMILLION, "-", "o"),
    (style.SKY_BLUE, "--", "s"),
    (style.GREEN, "-.", "^"),
    (style.BLACK, ":", "D"),
    (style.PURPLE, (0, (6, 1)), "v"),
)


def loss_comparison(
    table: Mapping[str, Sequence[Any]],
    *,
    figures: Mapping[str, str],
    own: str,
    title: str,
    caption: str = "",
) -> Figure:
    """Plots several measures of all losses side by side, together with the values that a paper
    reports.

    Args:
        table: Table with the column `method`, and with the columns `x`, `x_stderr` and `x_paper`
            for each measure `x`. Missing values are None.
        figures: Dict from the column of a measure to its name in the plot. Each measure has a
            panel.
        own: Method that the paper proposes and that the plot highlights.
        title: Main result, in one sentence.
        caption: Text that names the data, the people, the protocol and the seeds. The function puts
            an explanation of dots and diamonds before the caption.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.
    """
    caption = (
        f"Dots: this run, ± standard error. Diamonds: the paper, on its clips. {caption}".strip()
    )
    methods, places = table["method"], np.arange(len(table["method"]))
    colors = [PROPOSED if name == own else OTHER for name in methods]
    with style.house_style():
        figure = style.new_figure(title, caption, width=11, height=1.9 + 0.36 * len(methods))
        panels = np.ravel(figure.subplots(1, len(figures), sharey=True))
        for axes, (column, name) in zip(panels, figures.items(), strict=True):
            values, errors = _numbers(table[column]), _numbers(table[f"{column}_stderr"])
            axes.errorbar(
                values, places, xerr=np.nan_to_num(errors), fmt="none", ecolor=colors, linewidth=1.5
            )
            axes.scatter(values, places, c=colors, s=42, zorder=3)
            axes.scatter(
                _numbers(table[f"{column}_paper"]),
                places,
                facecolors="none",
                edgecolors=style.GRAY,
                marker="D",
                s=30,
            )
            axes.set_title(name, color=style.GRAY)
            axes.xaxis.set_major_formatter(FuncFormatter(_percent))
            axes.set_xlabel("%")
        panels[0].set_yticks(places, methods)
        panels[0].invert_yaxis()
        for label in panels[0].get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == own else "normal")
    return figure


def loss_people(
    table: Mapping[str, Sequence[Any]], *, own: str, title: str, caption: str = ""
) -> Figure:
    """Plots the Recall@1 of each loss for each person.

    Args:
        table: Columns `method`, `person`, `value` and `value_stderr`.
        own: Method that the paper proposes. The plot prints the name of the proposed method in
            bold.
        title: Main result, in one sentence.
        caption: Text that names the data, the people, the protocol and the seeds.

    Returns:
        `matplotlib.figure.Figure`.
    """
    methods, people = (list(dict.fromkeys(table[name])) for name in ("method", "person"))
    values, errors = _numbers(table["value"]), _numbers(table["value_stderr"])
    with style.house_style():
        figure = style.new_figure(title, caption, width=8.4, height=1.9 + 0.36 * len(methods))
        axes = figure.subplots()
        for i, person in enumerate(people):
            color, _, marker = _LINES[i % len(_LINES)]
            rows = [row for row, name in enumerate(table["person"]) if name == person]
            places = np.array([methods.index(table["method"][row]) for row in rows])
            axes.errorbar(
                values[rows],
                places + 0.14 * (i - (len(people) - 1) / 2),
                xerr=np.nan_to_num(errors[rows]),
                fmt=marker,
                color=color,
                markersize=6,
                linewidth=1.2,
                label=person,
            )
        axes.set_yticks(np.arange(len(methods)), methods)
        axes.invert_yaxis()
        for label in axes.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == own else "normal")
        axes.xaxis.set_major_formatter(FuncFormatter(_percent))
        axes.set_xlabel("Recall@1, % of the person's clips")
        axes.legend(title="held-out person", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def loss_spread(table: Mapping[str, Sequence[Any]], *, title: str, caption: str = "") -> Figure:
    """Plots, for each loss, the distances of embeddings to the center of their class and to the
    centers of other classes (Kim2020, Fig. 2).

    Args:
        table: Table with the columns `method`, `kind` (`"own"` or `"other"` class), `fraction`
            (from 0 to 1) and `distance`. In each row, `distance` is a quantile of the distances,
            and `fraction` is the level of this quantile.
        title: Main result, in one sentence.
        caption: Text that names the data, the people, the protocol and the seeds.

    Returns:
        `matplotlib.figure.Figure`.
    """
    methods = list(dict.fromkeys(table["method"]))
    kinds = (("own", style.GENUINE, -0.17), ("other", style.IMPOSTER, 0.17))
    columns = {name: np.array(table[name]) for name in table}
    with style.house_style():
        figure = style.new_figure(title, caption, width=9, height=1.9 + 0.5 * len(methods))
        axes = figure.subplots()
        for kind, color, shift in kinds:
            for i, name in enumerate(methods):
                rows = (columns["method"] == name) & (columns["kind"] == kind)
                fractions, distances = columns["fraction"][rows], columns["distance"][rows]
                label = f"{kind} class" if not i else None
                draw_quantiles(axes, i + shift, fractions, distances, color=color, label=label)
        axes.set_yticks(np.arange(len(methods)), methods)
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("affine-invariant distance to the center of a class")
        axes.legend(loc="best")
    return figure


def draw_quantiles(
    axes: Axes,
    height: float,
    fractions: np.ndarray,
    values: np.ndarray,
    *,
    color: str,
    label: str | None,
) -> None:
    """Draws a dot at the median, a thick line over the middle 50 % of the values, and a thin line
    over the middle 90 %.

    Args:
        axes: Axes to draw on.
        height: Vertical position of the dot and the lines.
        fractions: Levels of the quantiles, from 0 to 1, ascending.
        values: Quantile at each level.
        color: Color of the dot and the lines.
        label: Name in the legend, or None.
    """
    low, first, median, third, high = np.interp((0.05, 0.25, 0.5, 0.75, 0.95), fractions, values)
    axes.plot((low, high), (height, height), color=color, linewidth=1.2)
    axes.plot((first, third), (height, height), color=color, linewidth=6, alpha=0.7)
    axes.plot(median, height, "o", color=color, markersize=7, label=label, zorder=3)


def loss_sweep(
    table: Mapping[str, Sequence[Any]],
    *,
    value: str,
    unit: str,
    title: str,
    caption: str = "",
    logarithmic: bool = False,
) -> Figure:
    """Plots the Recall@1 for several values of one hyperparameter (Kim2020, Figs. 3 and 4).

    Args:
        table: Columns `value`, `recall_at_1` and `recall_at_1_stderr`.
        value: Name of the hyperparameter, which labels the horizontal axis.
        unit: Unit of the hyperparameter. If the hyperparameter is a number of things, pass the name
            of the things.
        title: Main result, in one sentence.
        caption: Text that names the data, the people, the protocol and the seeds.
        logarithmic: Whether the axis of the hyperparameter is logarithmic.

    Returns:
        `matplotlib.figure.Figure`.
    """
    values = _numbers(table["value"])
    with style.house_style():
        figure = style.new_figure(title, caption, width=6.6, height=4.4)
        axes = figure.subplots()
        axes.errorbar(
            values,
            _numbers(table["recall_at_1"]),
            yerr=np.nan_to_num(_numbers(table["recall_at_1_stderr"])),
            fmt="o-",
            color=PROPOSED,
            capsize=3,
        )
        if logarithmic:
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(values, [f"{number:g}" for number in values])
        axes.set_xlabel(f"{value}, {unit}" if unit else value)
        _recall_axis(axes)
    return figure


def loss_curves(
    table: Mapping[str, Sequence[Any]], *, value: str, title: str, caption: str = ""
) -> Figure:
    """Plots loss and Recall@1 during training, with a curve per hyperparameter value (Kim2020,
    Fig. 5).

    Args:
        table: Columns `value`, `seen` (number of training matrices so far), `loss`, `loss_stderr`,
            `recall_at_1` and `recall_at_1_stderr`.
        value: Name of the hyperparameter, which labels the legend.
        title: Main result, in one sentence.
        caption: Text that names the data, the people, the protocol and the seeds.

    Returns:
        `matplotlib.figure.Figure`.
    """
    columns = {name: np.array(table[name]) for name in ("value", "seen")}
    with style.house_style():
        figure = style.new_figure(title, caption, width=10, height=4.6)
        left, right = figure.subplots(1, 2)
        for i, setting in enumerate(dict.fromkeys(table["value"])):
            color, dash, marker = _LINES[i % len(_LINES)]
            rows = np.flatnonzero(columns["value"] == setting)
            for axes, column in ((left, "loss"), (right, "recall_at_1")):
                axes.errorbar(
                    columns["seen"][rows],
                    _numbers(table[column])[rows],
                    yerr=np.nan_to_num(_numbers(table[f"{column}_stderr"])[rows]),
                    color=color,
                    linestyle=dash,
                    marker=marker,
                    capsize=2,
                    label=f"{setting:g}",
                )
        for axes in (left, right):
            axes.set_xlabel("training matrices seen, with repeats")
        left.set_ylabel("mean loss since the previous marker")
        left.set_ylim(bottom=0)
        _recall_axis(right)
        right.legend(title=value, loc="best")
    return figure


def _recall_axis(axes):
    """Limits the vertical axis to the range of the points. The axis starts at the largest multiple
    of 5 % below the lowest point.
    """
    axes.set_ylabel("Recall@1, % of the clips")
    axes.yaxis.set_major_formatter(FuncFormatter(_percent))
    points = axes.dataLim
    axes.set_ylim(math.floor(20 * points.y0) / 20, points.y1 + 0.005)


def _percent(fraction, _):
    return f"{100 * fraction:.3g}"


def _numbers(column):
    """Converts a column to an array of floats. None becomes NaN."""
    return np.array([math.nan if value is None else value for value in column], float)
