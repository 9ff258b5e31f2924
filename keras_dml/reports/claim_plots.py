"""Plots the scores of claims. A claim states that a certain person made a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from keras_dml.reports import style

SPREAD = 0.36  # half the width of a column of points
TRUE = "true claim"
OTHER = "false claim by another enrolled person"
STRANGER = "false claim by a stranger"
_LOOKS = {  # mark and color of each kind of claim
    TRUE: ("o", style.GENUINE),
    OTHER: ("s", style.IMPOSTER),
    STRANGER: ("D", style.VERMILLION),
}


def claims(
    decisions: Sequence[Any],
    people: Sequence[str],
    *,
    title: str | None = None,
    caption: str = "",
) -> Figure:
    """Plots claims, with one column for each claimed person and one point for each claim. A line
    shows the threshold. The higher a point, the closer is the recording to the claimed person. In
    each column, true claims come first. Next come false claims by people who have another column,
    and last come false claims by strangers. Claims of the same kind follow the order of
    `decisions`.

    Args:
        decisions: `keras_dml.gallery.Decision` of each claim. All decisions must have the same
            threshold.
        people: Name of the person who made the recording, for each claim. A person counts as a
            stranger if nobody in `decisions` claims to be this person.
        title: Main result, in one sentence. By default, the title states the number of correct
            decisions.
        caption: Text that states the data, the model and the source of the recordings.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.

    Raises:
        ValueError: If `decisions` or `people` is empty, if their lengths differ, or if the
            decisions have different thresholds.
    """
    if not decisions or len(decisions) != len(people):
        raise ValueError(
            "`decisions` and `people` must have one entry per claim, and at least one entry. "
            f"Received {len(decisions)} decisions and {len(people)} people."
        )
    thresholds = {decision.threshold for decision in decisions}
    if len(thresholds) > 1:
        raise ValueError(
            "All `decisions` must have the same threshold. Received the thresholds "
            f"{', '.join(f'{value:.4g}' for value in sorted(thresholds))}."
        )
    claimed = list(dict.fromkeys(decision.person for decision in decisions))
    limit = _nearness(decisions[0], decisions[0].threshold)
    with style.house_style():
        figure = style.new_figure(
            title or _title(decisions, people), caption, width=8.4, height=4.6
        )
        axes = figure.add_subplot()
        if np.isfinite(limit):
            _draw_limit(axes, limit, _end(decisions))
        for column, name in enumerate(claimed):
            rows = [(d, who) for d, who in zip(decisions, people, strict=True) if d.person == name]
            _draw_column(axes, column, rows, claimed)
            if column:
                axes.axvline(column - 0.5, color=style.FAINT, linewidth=1.0)
        axes.set_xlim(-0.5, len(claimed) - 0.5)
        axes.set_ylim(top=_end(decisions))
        axes.set_xticks(range(len(claimed)), [f"“I am {name}”" for name in claimed])
        axes.tick_params(axis="x", length=0, labelsize=13)
        axes.grid(visible=False, axis="x")
        has_scale = decisions[0].scale is not None
        axes.set_ylabel("score from 0 to 100" if has_scale else "similarity (minus the distance)")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1), ncols=3, handletextpad=0.1)
    return figure


def _draw_limit(axes, limit, end):
    """Draws the threshold and labels the regions above and below it."""
    axes.axhspan(limit, end, color=style.GENUINE, alpha=0.08, linewidth=0)
    axes.axhline(limit, color=style.BLACK, linestyle="--", linewidth=1.2)
    for word, points, va in (("accepted", 4, "bottom"), ("rejected", -4, "top")):
        axes.annotate(
            word,
            (1.0, limit),
            xycoords=("axes fraction", "data"),
            xytext=(-4, points),
            textcoords="offset points",
            ha="right",
            va=va,
            fontweight="bold",
        )


def _draw_column(axes, column, rows, claimed):
    """Draws the claims in one column, which all name the same person."""
    groups = {label: [] for label in _LOOKS}
    for decision, who in rows:
        groups[_kind(decision, who, claimed)].append(_nearness(decision, decision.score))
    places = np.linspace(column - SPREAD, column + SPREAD, max(len(rows), 2))
    for label, scores in groups.items():
        here, places = np.split(places, [len(scores)])
        mark, color = _LOOKS[label]
        axes.plot(
            here,
            scores,
            mark,
            color=color,
            markersize=7.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=None if column else label,
        )


def _kind(decision, who, claimed):
    """Returns the kind of a claim: a true claim, a false claim by a person who has another column,
    or a false claim by a stranger.
    """
    if decision.person == who:
        return TRUE
    return OTHER if who in claimed else STRANGER


def _nearness(decision, distance):
    """Converts a distance to a number that is larger if the recordings are more alike."""
    return -distance if decision.scale is None else decision.scale.closeness(distance)


def _end(decisions):
    """Returns the upper end of the vertical axis."""
    values = [
        _nearness(d, value)
        for d in decisions
        for value in (d.score, d.threshold)
        if np.isfinite(value)
    ]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    return high + 0.08 * max(high - low, 1e-3)


def _title(decisions, people):
    right = sum(d.accepted == (d.person == who) for d, who in zip(decisions, people, strict=True))
    return f"{right} of {len(decisions)} claims are decided correctly"
