"""Plots explanations, which show how moments, channels and regions contribute to a distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from keras_dml.reports import style

if TYPE_CHECKING:
    from keras_dml.explanations import Explanation

BARS = 8  # number of channels, regions or pairs that are drawn
CHANNELS = 12  # number of channels of a recording that are drawn
OFFSET = 5.0  # vertical offset between two channels, in standard deviations
STRONGEST = 0.6  # opacity of the moment with the largest part
COLORS = "Orange increases the distance between the recordings, and blue decreases it."


def explanation(result: Explanation, *, title: str | None = None, caption: str = "") -> Figure:
    """Plots how moments, channels, pairs of channels and regions contribute to a distance.

    The plot shows the recordings over time. Moments that increase the distance are orange, and
    moments that decrease the distance are blue. The more a moment contributes, the darker is its
    color. Bars below the recordings show the largest contributions of channels, pairs of channels
    and regions.

    Args:
        result: Explanation of a distance.
        title: Main result, in one sentence. By default, the title names the moment, channel or
            region that changes the distance most.
        caption: Text that states the data, the model and the source of the recordings.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.
    """
    lists = {"channels": result.channels, "pairs": result.pairs(BARS), "regions": result.regions}
    lists = {name: parts for name, parts in lists.items() if parts}
    lines = result.timelines
    heights = [2.2] * len(lines) + [2.6] * bool(lists)
    is_colored = lines or result.by_removal
    with style.house_style():
        figure = style.new_figure(
            title or _title(result),
            " ".join(filter(None, [COLORS if is_colored else "", result.meaning, caption])),
            width=9.0,
            height=sum(heights) + 1.4,
        )
        grid = figure.add_gridspec(len(heights), max(1, len(lists)), height_ratios=heights)
        for row, (name, line) in enumerate(lines.items()):
            _draw_recording(figure.add_subplot(grid[row, :]), name, line, result)
        for column, (name, parts) in enumerate(lists.items()):
            _draw_bars(figure.add_subplot(grid[-1, column]), name, parts, result.by_removal)
    return figure


def _title(result):
    ranked = result.ranked()
    changes = [(kind, *item) for kind, parts in ranked.items() for item in parts.items()]
    if not changes:
        return f"No single moment, channel or region changes the {result.measure}"
    if result.by_removal:
        _, name, part = max(changes, key=lambda change: abs(change[2]))
        return f"Without {name} the recordings are {'closer' if part > 0 else 'further apart'}"
    kind, name, _ = changes[0]
    return f"The {kind.removesuffix('s')} with the largest part of the {result.measure} is {name}"


def _draw_recording(axes, name, line, result):
    per_second = result.rate_hz or 1.0
    largest = max((abs(moment.part) for moment in (*result.moments, *result.alike)), default=1.0)
    for moments, color in ((result.moments, style.ORANGE), (result.alike, style.SKY_BLUE)):
        for moment in (moment for moment in moments if moment.recording == name):
            axes.axvspan(
                moment.start / per_second,
                moment.end / per_second,
                color=color,
                alpha=STRONGEST * abs(moment.part) / largest,
                linewidth=0,
                zorder=0,
            )
    drawn = line.recording[:, :CHANNELS].astype(float)
    spread = drawn.std(axis=0)
    scaled = (drawn - drawn.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    time = np.arange(len(drawn)) / per_second
    offsets = -OFFSET * np.arange(scaled.shape[1])
    axes.plot(time, scaled + offsets, color=style.BLACK, linewidth=0.8)
    axes.set_xlim(0, len(drawn) / per_second)
    axes.set_yticks(offsets, [str(i) for i in range(len(offsets))])
    axes.grid(visible=False)
    axes.set_ylabel("channel")
    axes.set_title(f"recording {name}", color=style.GRAY)
    axes.set_xlabel("seconds" if result.rate_hz else "steps")


def _draw_bars(axes, name, parts, by_removal):
    parts = dict(sorted(parts.items(), key=lambda item: -abs(item[1]))[:BARS])
    places = np.arange(len(parts))[::-1]
    colors = style.BLUE
    if by_removal:
        colors = [style.ORANGE if part > 0 else style.SKY_BLUE for part in parts.values()]
    axes.barh(places, list(parts.values()), color=colors, height=0.7)
    axes.set_yticks(places, list(parts))
    axes.set_title(f"largest {name}", color=style.GRAY)
    decrease = "decrease of the distance after removal"
    axes.set_xlabel(decrease if by_removal else "part of the distance")
