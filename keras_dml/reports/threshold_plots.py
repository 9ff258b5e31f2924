"""Plots error rates against the threshold, for the scores of any recognition system."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from keras_dml.evaluation import ScoreReport
from keras_dml.reports import style

GRID_POINTS = 400
BINS = 60
MIN_RATE = 1e-5


def error_rates_by_threshold(
    report: ScoreReport, *, title: str | None = None, caption: str = "", unit: str = "score"
) -> Figure:
    """Plots histograms of the scores, and the false accept rate and the false reject rate at each
    threshold.

    Solid vertical lines mark the thresholds for wanted rates. Dash-dotted lines mark the thresholds
    in `report.checks`.

    Args:
        report: Result of `evaluation.thresholds_of`.
        title: Main result, in one sentence. By default, the title states the equal error rate.
        caption: Text that names the data and the protocol. The function puts the numbers of people
            and trials before the caption.
        unit: Name of the score, which labels the horizontal axis.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.
    """
    sign = -1.0 if report.higher_is_closer else 1.0
    trials = report.verification
    scores = sign * trials.scores
    low, high = np.percentile(scores, [0.05, 99.95])
    low, high = (low, high) if low < high else (low - 0.5, high + 0.5)
    edges = np.linspace(low, high, BINS + 1)
    with style.house_style():
        figure = style.new_figure(
            title or f"Equal error rate {style.percent(report.eer)}",
            f"{report.people:,} people, {report.genuine:,} genuine and {report.imposter:,} "
            f"imposter trials. {caption}".strip(),
            width=8.4,
            height=6.4,
        )
        histogram, rates = figure.subplots(2, 1, sharex=True)
        for name, kind, color, hatch in (
            ("imposter", ~trials.genuine, style.IMPOSTER, "////"),
            ("genuine", trials.genuine, style.GENUINE, None),
        ):
            fractions = np.histogram(scores[kind], edges)[0] / kind.sum()
            look = {"facecolor": (color, 0.6), "edgecolor": color, "hatch": hatch}
            histogram.stairs(fractions, edges, fill=True, label=f"{name} trials", **look)
        histogram.set_ylabel("fraction of trials")
        histogram.legend(loc="best")
        _draw_rates(rates, trials, sign, np.linspace(low, high, GRID_POINTS))
        for axes in (histogram, rates):
            for row in report.thresholds:
                axes.axvline(row.threshold, color=style.BLACK, linewidth=1)
            for row in report.checks:
                axes.axvline(row.threshold, color=style.VERMILLION, linewidth=1.2, linestyle="-.")
        _label_lines(histogram, report)
        closer = "larger" if report.higher_is_closer else "smaller"
        rates.set_xlabel(f"{unit} ({closer} is closer)")
        rates.set_xlim(low, high)
    return figure


def _draw_rates(axes, trials, sign, grid):
    """Draws FAR and FRR at the thresholds of a grid, in units of the scores."""
    points = np.searchsorted(trials.det.thresholds, sign * grid, side="right") - 1
    for name, values, color, line in (
        ("FAR: imposter trials accepted", trials.det.far, style.IMPOSTER, "-"),
        ("FRR: genuine trials rejected", trials.det.frr, style.GENUINE, "--"),
    ):
        drawn = np.where(values[points] > 0, values[points], np.nan)  # 0 has no logarithm
        axes.plot(grid, drawn, line, color=color, label=name)
    lowest = max(MIN_RATE, min(1 / trials.trials.imposter, 1 / trials.trials.genuine))
    axes.set_yscale("log")
    axes.set_ylim(lowest / 1.5, 1.2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:g} %"))
    axes.set_ylabel("error rate, all trials")
    axes.legend(loc="best")


def _label_lines(axes, report):
    """Writes the wanted rate of each threshold above its line."""
    labels = [(row.threshold, f"FAR {100 * row.wanted_far:g} %") for row in report.thresholds]
    labels += [(row.threshold, "checked") for row in report.checks]
    low, high = axes.get_xlim()
    for value, text in labels:
        if low <= value <= high:
            axes.annotate(
                text,
                (value, 1),
                xycoords=("data", "axes fraction"),
                xytext=(2, -3),
                textcoords="offset points",
                rotation=90,
                va="top",
                fontsize=8.5,
                color=style.GRAY,
            )
