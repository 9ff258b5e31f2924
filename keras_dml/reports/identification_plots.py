"""Plots identifications, which show the enrolled people who are nearest to each recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from keras_dml.reports import style

MARKS = "osD^vP*X"  # one marker per person, in addition to the color
STRANGER = "a stranger"


def identifications(
    results: Mapping[str, Any], *, title: str | None = None, caption: str = ""
) -> Figure:
    """Plots the distances of recordings to the nearest enrolled people.

    Each recording has a row with a bar that ends at the threshold, and with a marker for each of
    the nearest people. The marker of the nearest person is filled. The name of the identified
    person is to the right of the row.

    Args:
        results: Dict from the name of a recording to its `keras_dml.gallery.Identification`.
        title: Main result, in one sentence. By default, the title states the number of recordings
            that were identified.
        caption: Text that states the data, the model and the source of the recordings.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.

    Raises:
        ValueError: If `results` is empty.
    """
    if not results:
        raise ValueError(
            "`results` is empty. Pass a dict from the name of a recording to its `Identification`."
        )
    people = sorted(
        {candidate.person for result in results.values() for candidate in result.candidates}
    )
    looks = {name: (style.PALETTE[i % 8], MARKS[i % 8]) for i, name in enumerate(people)}
    start, end = _limits(results.values())
    with style.house_style():
        figure = style.new_figure(
            title or _title(results.values()),
            f"Bars: accepted distances. Filled markers: nearest enrolled person. {caption}".strip(),
            width=9.0,
            height=1.9 + 0.5 * len(results),
        )
        axes = figure.add_subplot()
        rows = np.arange(len(results))[::-1]
        for row, result in zip(rows, results.values(), strict=True):
            _draw_row(axes, row, result, looks, (start, end))
        axes.set_yticks(rows, list(results))
        axes.set_ylim(-0.6, len(results) - 0.4)
        axes.set_xlim(start, end)
        axes.grid(visible=False)
        axes.set_xlabel("distance to an enrolled person")
        _add_legend(axes, looks)
    return figure


def _limits(results):
    """Returns the ends of the distance axis. The axis starts at 0, or below the smallest distance
    if any distance is negative.
    """
    values = [value for result in results for value in (result.threshold, *_scores(result))]
    finite = [value for value in values if np.isfinite(value)] or [1.0]
    low, high = min(finite), max(finite)
    start = 0.0 if low >= 0 else low - 0.1 * max(high - low, abs(low))
    return start, high + 0.1 * (high - start)


def _scores(result):
    return [candidate.score for candidate in result.candidates]


def _title(results):
    identified = sum(result.person is not None for result in results)
    return (
        f"{identified} of {len(results)} recordings are from enrolled people, and "
        f"{len(results) - identified} are from strangers"
    )


def _draw_row(axes, row, result, looks, limits):
    start, end = limits
    width = min(result.threshold, end) - start
    axes.barh(row, width, left=start, height=0.6, color=style.FAINT, zorder=0)
    for i, candidate in enumerate(result.candidates):
        color, mark = looks[candidate.person]
        fill = color if i == 0 else "white"
        axes.plot(candidate.score, row, mark, color=color, markerfacecolor=fill, markersize=8)
    who = STRANGER if result.person is None else result.person
    place = {"xy": (1.01, row), "xycoords": ("axes fraction", "data"), "va": "center"}
    axes.annotate(f"→ {who}", **place, fontweight="bold", annotation_clip=False)


def _add_legend(axes, looks):
    for name, (color, mark) in looks.items():
        axes.plot([], [], mark, color=color, markersize=8, label=name)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=min(len(looks), 4))
