"""Plots results of the protocol of Abdelwahab2019. The plots show the accuracy of methods for
several numbers of recordings and enrolled people, distances within and between people, and maps of
embeddings. Each function draws a plot from a table, which is a dict from names to columns.
`reports.save` writes the table in the same folder as the plot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from keras_dml._typing import ArrayLike
from keras_dml.reports import style
from keras_dml.reports.loss_plots import draw_quantiles

PANELS = (  # protocol, metric, column of the horizontal axis, title, labels of the axes
    ("verification", "auc", "n", "verification", "recordings observed", "AUC"),
    ("identification", "accuracy", "fraction", "identification", "of all people", "accuracy"),
    ("imposters", "auc", "fraction", "imposters", "of all people", "AUC"),
)
MARKERS = "osD^vPX*"


def protocol_curves(table: Mapping[str, Sequence[Any]], *, title: str, caption: str = "") -> Figure:
    """Plots results of the protocol of Abdelwahab2019 (Table 1 and Figures 3, 6 and 8).

    The panel for verification shows how the AUC depends on the number of observed recordings. The
    panels for identification and imposters show accuracy and AUC at the largest number of observed
    recordings. The horizontal axis of these two panels is the fraction of people who are enrolled.

    Args:
        table: Table with the columns `method`, `protocol`, `n`, `fraction`, `metric`, `value` and
            `stderr`, as in the records of `evaluation.paper_protocol`. The column `paper` holds the
            value that the paper reports, or None.
        title: Main result, in one sentence.
        caption: Text that names the data, the people, the protocol and the seeds. The function puts
            an explanation of bars and diamonds before the caption.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.
    """
    most = max(table["n"])
    explanation = "Bars: ± one standard error over the draws of recordings. "
    if any(value is not None for value in table["paper"]):
        explanation += "Diamonds: the paper, on its own people. "
    with style.house_style():
        figure = style.new_figure(title, f"{explanation}{caption}".strip(), width=12, height=4.8)
        panels = np.ravel(figure.subplots(1, len(PANELS)))
        for axes, (protocol, metric, against, name, unit, quantity) in zip(
            panels, PANELS, strict=True
        ):
            for position, method in enumerate(dict.fromkeys(table["method"])):
                rows = [
                    i
                    for i, row in enumerate(table["method"])
                    if (row, table["protocol"][i], table["metric"][i]) == (method, protocol, metric)
                    and (against == "n" or table["n"][i] == most)
                ]
                _curve(axes, table, rows, against, method, position)
            observed = "" if against == "n" else f", {most} recordings observed"
            axes.set_title(f"{name}{observed}", color=style.GRAY)
            axes.set_xlabel(unit if against == "n" else f"fraction {unit} enrolled")
            axes.set_ylabel(quantity)
        panels[0].xaxis.set_major_locator(MaxNLocator(integer=True))
        panels[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def person_distances(
    table: Mapping[str, Sequence[Any]], *, title: str, caption: str = ""
) -> Figure:
    """Plots distances within and between people, before and after training.

    Args:
        table: Table with the columns `method`, `stage`, `kind` (`"same"` or `"other"` person),
            `fraction` (from 0 to 1) and `distance`. In each row, `distance` is a quantile of the
            distances, and `fraction` is the level of this quantile. Each value of `stage` has a
            panel.
        title: Main result, in one sentence.
        caption: Text that names the data, the people, the protocol, the seeds, and the unit of the
            distances.

    Returns:
        `matplotlib.figure.Figure`.
    """
    columns = {name: np.array(values) for name, values in table.items()}
    methods, stages = (list(dict.fromkeys(table[name])) for name in ("method", "stage"))
    kinds = (("same", style.GENUINE, -0.17), ("other", style.IMPOSTER, 0.17))
    with style.house_style():
        figure = style.new_figure(title, caption, width=11, height=2.1 + 0.5 * len(methods))
        panels = np.ravel(figure.subplots(1, len(stages), sharex=True, sharey=True))
        for axes, stage in zip(panels, stages, strict=True):
            for kind, color, shift in kinds:
                label = f"{kind} person"
                for i, method in enumerate(methods):
                    rows = (columns["method"] == method) & (columns["kind"] == kind)
                    rows &= columns["stage"] == stage
                    if rows.any():
                        points = columns["fraction"][rows], columns["distance"][rows]
                        draw_quantiles(axes, i + shift, *points, color=color, label=label)
                        label = None
            axes.set_title(stage, color=style.GRAY)
            axes.set_xlabel("distance, median of other people = 1")
        panels[0].set_yticks(np.arange(len(methods)), methods)
        panels[0].invert_yaxis()
        panels[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def embedding_maps(table: Mapping[str, Sequence[Any]], *, title: str, caption: str = "") -> Figure:
    """Plots maps of embeddings, with a panel for each method and a marker for each person.

    Args:
        table: Table with the columns `panel`, `person`, `x` and `y`. `person` holds pseudonyms, and
            `x` and `y` hold the coordinates that `embedding_plane` returns. If there are more than
            8 people, some people have the same marker.
        title: Main result, in one sentence.
        caption: Text that names the data, the people and the protocol.

    Returns:
        `matplotlib.figure.Figure`.
    """
    columns = {name: np.array(values) for name, values in table.items()}
    names, people = (list(dict.fromkeys(table[name])) for name in ("panel", "person"))
    across = min(3, len(names))
    down = math.ceil(len(names) / across)
    with style.house_style():
        figure = style.new_figure(title, caption, width=3.8 * across + 1, height=3.6 * down + 1)
        panels = np.ravel(figure.subplots(down, across, squeeze=False))
        for axes, name in zip(panels, names, strict=False):
            for i, person in enumerate(people):
                rows = (columns["panel"] == name) & (columns["person"] == person)
                axes.scatter(
                    columns["x"][rows],
                    columns["y"][rows],
                    color=style.PALETTE[i % len(style.PALETTE)],
                    marker=MARKERS[i % len(MARKERS)],
                    s=30,
                    alpha=0.8,
                    label=str(person),
                )
            axes.set_title(name, color=style.GRAY)
            axes.set_aspect("equal", adjustable="datalim")
            axes.set_xticks([])
            axes.set_yticks([])
        for axes in panels[len(names) :]:
            axes.set_visible(False)
        panels[min(across, len(names)) - 1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def embedding_plane(distances: ArrayLike) -> np.ndarray:
    """Computes points in the plane whose Euclidean distances approximate given distances.

    The method is classical multidimensional scaling (MDS; Torgerson1952).

    Args:
        distances: Symmetric matrix of the distances between all embeddings, shape `(n, n)`.

    Returns:
        Coordinates, shape `(n, 2)`, in the unit of the distances. The direction of an axis is
        arbitrary. The function chooses the direction in which the coordinate with the largest
        absolute value is positive.

    >>> embedding_plane(np.array([[0, 3, 3.0], [3, 0, 0], [3, 0, 0]])).round(2) + 0.0
    array([[ 2.,  0.],
           [-1.,  0.],
           [-1.,  0.]])
    """
    squares = np.asarray(distances, np.float64) ** 2
    means = squares.mean(axis=0)
    values, vectors = np.linalg.eigh((means + means[:, None] - squares - means.mean()) / 2)
    plane = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    largest = np.take_along_axis(plane, np.abs(plane).argmax(axis=0)[None], axis=0)
    return plane * np.where(largest < 0, -1, 1)


def _curve(axes, table, rows, against, method, position):
    color, dash = style.method_look(method, position)
    places = np.array([table[against][i] for i in rows], float)
    values, errors = (
        np.array([table[name][i] for i in rows], float) for name in ("value", "stderr")
    )
    papers = np.array([table["paper"][i] for i in rows], float)
    axes.errorbar(places, values, yerr=errors, color=color, linestyle=dash, capsize=2, label=method)
    marks = {"facecolors": "none", "edgecolors": color, "marker": "D", "s": 30}
    axes.scatter(places, papers, **marks)
