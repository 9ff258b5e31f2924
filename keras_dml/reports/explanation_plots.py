"""Plots of what made a distance: the moments of two recordings, the channels and the parts."""

from __future__ import annotations

import numpy as np

from keras_dml.reports import style

BARS = 8  # channels or parts listed
CHANNELS = 12  # drawn of a recording
APART = 5.0  # standard deviations between two channels drawn
STRONGEST = 0.6  # opacity of the moment with the largest part


def explanation(found, *, title=None, caption=""):
    """Plots an explanation: recordings with the moments that keep them apart (orange) or make them
    alike (blue), the darker the larger their part, and the largest parts by channels and by
    themselves.

    Args:
        found: `keras_dml.explanations.Explanation`.
        title: Finding, in one sentence; None: the distance and its largest moment or part.
        caption: Data, model and where the recordings come from.

    Returns:
        `matplotlib.figure.Figure`; `reports.save` writes it.
    """
    lists = {"channels": found.channels, "parts": found.largest(BARS)}
    colors = "Orange keeps the recordings apart, blue makes them alike. " if found.timelines else ""
    lists = {name: parts for name, parts in lists.items() if parts}
    lines = found.timelines
    heights = [2.2] * len(lines) + [2.6]
    with style.house_style():
        figure = style.new_figure(
            title or _title(found),
            f"{colors}{found.meaning} {caption}".strip(),
            width=9.0,
            height=sum(heights) + 1.4,
        )
        grid = figure.add_gridspec(len(heights), len(lists), height_ratios=heights)
        for row, (name, line) in enumerate(lines.items()):
            _draw_recording(figure.add_subplot(grid[row, :]), name, line, found)
        for column, (name, parts) in enumerate(lists.items()):
            _draw_bars(figure.add_subplot(grid[-1, column]), name, parts)
    return figure


def _title(found):
    kind, largest = "part", next(iter(found.largest(1)))
    if found.moments:
        kind, largest = "moment", found.when(found.moments[0])
    return f"Distance {found.distance:.3g}: its largest {kind} is {largest}"


def _draw_recording(axes, name, line, found):
    per_second = found.rate_hz or 1.0
    largest = max((abs(moment.part) for moment in (*found.moments, *found.alike)), default=1.0)
    for moments, color in ((found.moments, style.ORANGE), (found.alike, style.SKY_BLUE)):
        for moment in (one for one in moments if one.recording == name):
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
    offsets = -APART * np.arange(scaled.shape[1])
    axes.plot(time, scaled + offsets, color=style.BLACK, linewidth=0.8)
    axes.set_xlim(0, len(drawn) / per_second)
    axes.set_yticks(offsets, [str(i) for i in range(len(offsets))])
    axes.grid(visible=False)
    axes.set_ylabel("channel")
    axes.set_title(f"recording {name}", color=style.GRAY)
    axes.set_xlabel("seconds" if found.rate_hz else "steps")


def _draw_bars(axes, name, parts):
    parts = dict(sorted(parts.items(), key=lambda one: -abs(one[1]))[:BARS])
    places = np.arange(len(parts))[::-1]
    axes.barh(places, list(parts.values()), color=style.BLUE, height=0.7)
    axes.set_yticks(places, list(parts))
    axes.set_title(f"largest {name}", color=style.GRAY)
    axes.set_xlabel("part of the distance")
