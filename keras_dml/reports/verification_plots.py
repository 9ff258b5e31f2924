"""Plots results of verification as ROC curves, DET curves and histograms of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from scipy.special import ndtr, ndtri

from keras_dml.evaluation import Verification
from keras_dml.reports import style

MIN_RATE = 1e-4  # lower rates are not drawn, because no model card has enough trials for them
DET_TICKS = (0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
GRID_POINTS = 400


def verification_curves(
    results: Verification | Mapping[str, Verification | Sequence[Verification]],
    *,
    title: str | None = None,
    caption: str = "",
) -> Figure:
    """Plots the ROC curve and the DET curve of verification results.

    The ROC curve has a logarithmic axis for the false accept rate. The axes of the DET curve have a
    normal deviate scale. On this scale, normally distributed scores give straight lines, and low
    error rates are easy to read. A dot on each DET curve marks the equal error rate.

    Args:
        results: A `Verification`, or a dict from names of methods to results. A result is a
            `Verification`, or a list with one `Verification` per repetition. If a result is a list,
            the function draws the mean curve of the repetitions, with a band of plus and minus one
            standard error.
        title: Main result, in one sentence. By default, the title states the equal error rates.
        caption: Text that names the data, the people, the protocol and the seeds. The function puts
            the numbers of trials before the caption.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.

    Raises:
        ValueError: If `results` is empty.
    """
    methods = _by_name(results)
    eers = {name: float(np.mean([run.eer for run in runs])) for name, runs in methods.items()}
    first = next(iter(methods.values()))[0]
    repeated = max(len(runs) for runs in methods.values())
    band = f"Mean of {repeated} repetitions; bands: ± one standard error. " if repeated > 1 else ""
    most_imposters = max(runs[0].trials.imposter for runs in methods.values())
    lowest = max(MIN_RATE, min(0.01, 0.5 / most_imposters))
    with style.house_style():
        figure = style.new_figure(
            title or _curves_title(eers, first.trials),
            f"{style.sentence(str(first.trials))} {band}{caption}".strip(),
            width=10,
            height=5.4,
        )
        roc, det = figure.subplots(1, 2)
        _roc_axes(roc, lowest)
        highest = min(0.85, max(0.4, 2 * max(eers.values())))
        _det_axes(det, lowest, highest)
        for position, (name, runs) in enumerate(methods.items()):
            color, dash = style.method_look(name, position)
            far, tar, error = _mean_curve(runs, lowest)
            look = {"color": color, "linestyle": dash}
            label = f"{name}  EER {style.percent(eers[name])}".strip()
            roc.plot(far, tar, label=label, **look)
            # points with no false rejects are drawn below the lower end of the axis
            det.plot(far, np.maximum(1 - tar, lowest / 2), **look)
            if error is not None:
                shade = {"color": color, "alpha": 0.2, "linewidth": 0}
                roc.fill_between(far, tar - error, np.minimum(tar + error, 1), **shade)
                edges = (np.clip(1 - tar + sign * error, lowest, highest) for sign in (-1, 1))
                det.fill_between(far, *edges, **shade)
            if eers[name] > lowest:
                det.plot(eers[name], eers[name], "o", color=color, markersize=8, zorder=5)
        if not any(eers.values()):
            det.text(
                0.5, 0.42, "no error in these trials", transform=det.transAxes, color=style.GRAY
            )
        roc.set_ylim(_floor_of_lines(roc), 1.01)
        roc.legend(loc="best")
    return figure


def score_histogram(
    result: Verification,
    *,
    title: str | None = None,
    caption: str = "",
    unit: str = "distance",
) -> Figure:
    """Plots histograms of genuine and imposter scores, with the threshold at the equal error rate.

    Args:
        result: A `Verification`, which holds the scores of all trials.
        title: Main result, in one sentence. By default, the title states the equal error rate.
        caption: Text that names the data, the people, the protocol and the seeds. The function puts
            the numbers of trials before the caption.
        unit: Name of the score, which labels the horizontal axis.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.
    """
    genuine, imposter = result.scores[result.genuine], result.scores[~result.genuine]
    edges = _edges(result.scores)
    with style.house_style():
        figure = style.new_figure(
            title or _histogram_title(result),
            f"{style.sentence(str(result.trials))} Each histogram sums to 100 %; ticks: genuine "
            f"trials. {caption}".strip(),
            width=9,
            height=4.8,
        )
        axes = figure.subplots()
        looks = (
            ("imposter", imposter, style.IMPOSTER, "////"),
            ("genuine", genuine, style.GENUINE, None),
        )
        for name, scores, color, hatch in looks:
            fractions = np.histogram(scores, edges)[0] / scores.size
            fractions[fractions == 0] = np.nan  # draws no line for an empty bin
            label = f"{name}, {scores.size:,} trials"
            look = {"facecolor": (color, 0.6), "edgecolor": color, "linewidth": 1.5}
            axes.stairs(fractions, edges, fill=True, hatch=hatch, label=label, **look)
        axes.set_ylim(bottom=0)
        top = axes.get_ylim()[1] * 1.16
        axes.set_ylim(-0.045 * top, top)
        axes.plot(
            genuine, np.full(genuine.size, -0.024 * top), "|", color=style.GENUINE, markersize=7
        )
        _mark_threshold(axes, result.eer_threshold)
        axes.set_xlabel(f"score ({unit}; smaller is closer)")
        axes.set_ylabel("fraction of genuine or imposter trials")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda fraction, _: f"{100 * fraction:g} %"))
        axes.grid(axis="x", visible=False)
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="upper right", bbox_to_anchor=(1, 0.92))
    return figure


def verification_table(
    results: Verification | Mapping[str, Verification | Sequence[Verification]],
) -> dict[str, list[Any]]:
    """Returns the points that `verification_curves` draws, as a dict of columns.

    The columns are method, repetition, threshold, false accept rate and true accept rate.
    """
    table = {"method": [], "repetition": [], "threshold": [], "far": [], "tar": []}
    for name, runs in _by_name(results).items():
        for repetition, run in enumerate(runs):
            points = run.roc.far.size
            table["method"] += [name] * points
            table["repetition"] += [repetition] * points
            for column, values in (
                ("threshold", run.roc.thresholds),
                ("far", run.roc.far),
                ("tar", run.roc.tar),
            ):
                table[column] += values.tolist()
    return table


def scores_table(result: Verification) -> dict[str, list[Any]]:
    """Returns the score of each trial and whether the trial is genuine, as a dict of columns
    without the names of people.
    """
    kinds = np.where(result.genuine, "genuine", "imposter")
    order = np.lexsort((result.scores, kinds))
    return {"score": result.scores[order].tolist(), "kind": kinds[order].tolist()}


def _by_name(results):
    methods = {"": results} if isinstance(results, Verification) else dict(results)
    if not methods:
        raise ValueError(
            "`results` must contain at least one method. Received an empty dict. Pass a "
            "`Verification`, or a dict from names of methods to results."
        )
    return {
        name: [runs] if isinstance(runs, Verification) else list(runs)
        for name, runs in methods.items()
    }


def _mean_curve(runs, lowest):
    """Computes the mean curve of several runs, for false accept rates (FAR) from `lowest` to 1.

    Returns:
        Tuple of the FAR, the mean true accept rate (TAR), and the standard error of the TAR. The
        standard error is None if there is only one run.
    """
    if len(runs) == 1:
        far, tar, _ = runs[0].roc
        inside = far > lowest
        start = tar[~inside][-1]  # the last point left of the axes is drawn on their edge
        return np.r_[lowest, far[inside]], np.r_[start, tar[inside]], None
    grid = np.geomspace(lowest, 1.0, GRID_POINTS)
    tars = np.stack([_tar_at(run.roc, grid) for run in runs])
    return grid, tars.mean(axis=0), tars.std(axis=0, ddof=1) / math.sqrt(len(runs))


def _tar_at(roc, grid):
    """Interpolates the TAR linearly. If several points have the same FAR, the function uses the
    point with the highest TAR.
    """
    last = np.append(np.diff(roc.far) > 0, True)
    return np.interp(grid, roc.far[last], roc.tar[last])


def _roc_axes(axes, lowest):
    axes.set_xscale("log")
    axes.set_xlim(lowest, 1.0)
    axes.set_box_aspect(1)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:g}"))
    axes.set_xlabel("false accept rate, % of imposter trials")
    axes.set_ylabel("true accept rate, % of genuine trials")
    axes.set_title("ROC, logarithmic in the false accept rate", color=style.GRAY)


def _floor_of_lines(axes):
    """Returns the largest multiple of 10 % that is below the lowest point and at most 90 %."""
    lowest = min(line.get_ydata().min() for line in axes.get_lines())
    return min(0.9, math.floor(10 * lowest) / 10)


def _det_axes(axes, lowest, highest):
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        getattr(axes, f"set_{name}scale")("function", functions=(ndtri, ndtr))
        getattr(axes, f"set_{name}lim")(lowest, highest)
        axis.set_major_locator(FixedLocator([t for t in DET_TICKS if lowest <= t <= highest]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda rate, _: f"{100 * rate:g}"))
    axes.plot([lowest, highest], [lowest, highest], color=style.GRAY, linewidth=0.8)
    axes.set_box_aspect(1)
    axes.set_xlabel("false accept rate, %")
    axes.set_ylabel("false reject rate, %")
    axes.set_title("DET, normal deviates; dots: equal error rate", color=style.GRAY)


def _edges(scores):
    """Computes the edges of 15 to 40 bins of equal width by the Freedman-Diaconis rule."""
    edges = np.histogram_bin_edges(scores, "fd") if np.ptp(scores) > 0 else scores[:1]
    bins = int(np.clip(len(edges) - 1, 15, 40))
    return np.histogram_bin_edges(scores, bins)


def _mark_threshold(axes, threshold):
    axes.axvline(threshold, color=style.BLACK, linewidth=1.5, linestyle="--")
    for text, side, shift in (("accepted ", "right", -4), (" rejected", "left", 4)):
        axes.annotate(
            text,
            (threshold, 0.985),
            xycoords=("data", "axes fraction"),
            xytext=(shift, 0),
            textcoords="offset points",
            ha=side,
            va="top",
            color=style.GRAY,
        )


def _curves_title(eers, trials):
    order = sorted(eers, key=eers.get)
    best, worst = order[0], order[-1]
    rates = [style.percent(eers[name]) for name in (best, worst)]
    if len(order) > 1:
        return f"{best} has the lowest EER ({rates[0]}), and {worst} has the highest ({rates[1]})"
    name = f"{best}: " if best else ""
    if eers[best] == 0:
        return (
            f"{name}All {trials.genuine:,} genuine trials are closer than all {trials.imposter:,} "
            "imposter trials"
        )
    return f"{name}Equal error rate {rates[0]}"


def _histogram_title(result):
    threshold = f"the threshold {result.eer_threshold:.3g}"
    if result.eer == 0:
        return f"Every trial is on the correct side of {threshold}"
    rate = style.percent(result.eer)
    return (
        f"{rate} of the genuine trials and {rate} of the imposter trials are on the wrong side of "
        f"{threshold}"
    )
