"""Plots of who a gallery took recordings for."""

from __future__ import annotations

import numpy as np

from keras_dml.reports import style

MARKS = "osD^vP*X"  # of people beside their colors
STRANGER = "a stranger"


def identifications(found, *, title=None, caption=""):
    """Plots identifications: how far each recording is from the people nearest to it, on a bar that
    ends at the threshold, and who it was taken for.

    Args:
        found: `keras_dml.gallery.Identification` of each recording, by what the recording is.
        title: Finding, in one sentence; None: how many were taken for somebody.
        caption: Data, model and where the recordings come from.

    Returns:
        `matplotlib.figure.Figure`; `reports.save` writes it.

    Raises:
        ValueError: If there are none.
    """
    if not found:
        raise ValueError("`found` is empty: give an `Identification` by what the recording is.")
    people = sorted({one.person for each in found.values() for one in each.candidates})
    looks = {name: (style.PALETTE[i % 8], MARKS[i % 8]) for i, name in enumerate(people)}
    start, end = _limits(found.values())
    with style.house_style():
        figure = style.new_figure(
            title or _title(found.values()),
            "Bars: distances that are accepted. Filled: the nearest person enrolled. "
            f"{caption}".strip(),
            width=9.0,
            height=1.9 + 0.5 * len(found),
        )
        axes = figure.add_subplot()
        rows = np.arange(len(found))[::-1]
        for row, each in zip(rows, found.values(), strict=True):
            _draw_row(axes, row, each, looks, (start, end))
        axes.set_yticks(rows, list(found))
        axes.set_ylim(-0.6, len(found) - 0.4)
        axes.set_xlim(start, end)
        axes.grid(visible=False)
        axes.set_xlabel("distance to a person enrolled")
        _add_legend(axes, looks)
    return figure


def _limits(found):
    """Returns the ends of the axis: from 0, or from below the least distance if one is negative."""
    values = [value for each in found for value in (each.threshold, *_scores(each))]
    finite = [value for value in values if np.isfinite(value)] or [1.0]
    low, high = min(finite), max(finite)
    start = 0.0 if low >= 0 else low - 0.1 * max(high - low, abs(low))
    return start, high + 0.1 * (high - start)


def _scores(one):
    return [candidate.score for candidate in one.candidates]


def _title(found):
    known = sum(one.person is not None for one in found)
    return (
        f"{known} of {len(found)} recordings are of somebody enrolled, "
        f"{len(found) - known} of strangers"
    )


def _draw_row(axes, row, one, looks, limits):
    start, end = limits
    width = min(one.threshold, end) - start
    axes.barh(row, width, left=start, height=0.6, color=style.FAINT, zorder=0)
    for i, candidate in enumerate(one.candidates):
        color, mark = looks[candidate.person]
        fill = color if i == 0 else "white"
        axes.plot(candidate.score, row, mark, color=color, markerfacecolor=fill, markersize=8)
    who = STRANGER if one.person is None else one.person
    place = {"xy": (1.01, row), "xycoords": ("axes fraction", "data"), "va": "center"}
    axes.annotate(f"→ {who}", **place, fontweight="bold", annotation_clip=False)


def _add_legend(axes, looks):
    for name, (color, mark) in looks.items():
        axes.plot([], [], mark, color=color, markersize=8, label=name)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=min(len(looks), 4))
