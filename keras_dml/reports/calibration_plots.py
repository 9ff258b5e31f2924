"""Plots how well log likelihood ratios are calibrated: Tippett plots and plots of the empirical
cross-entropy (ECE)."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from keras_dml import evaluation
from keras_dml._typing import ArrayLike
from keras_dml.reports import style

MOST_POINTS = 1000  # points of a curve
ODDS = np.linspace(-3, 3, 121)  # logarithms of the prior odds to the base 10
LARGEST = 10  # logarithms of ratios beyond this value are drawn at the edge


def tippett(
    log_likelihood_ratios: ArrayLike,
    genuine: ArrayLike,
    *,
    title: str | None = None,
    caption: str = "",
) -> Figure:
    """Plots the fractions of genuine and of imposter trials whose likelihood ratio is larger than a
    value (Tippett plot).

    Ratios above 1 support that the two people of the trial are the same person. The title states
    the fractions of misleading ratios: genuine trials with a ratio below 1, and imposter trials
    with a ratio above 1.

    Args:
        log_likelihood_ratios: Natural logarithms of the likelihood ratios, shape `(trials,)`.
            Values may be infinite.
        genuine: Booleans, shape `(trials,)`, True if the probe person is the claimed person.
        title: Main result, in one sentence. By default, the title states the misleading fractions.
        caption: Text that names the data, the people and the protocol. The function puts the
            numbers of trials before the caption.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.
    """
    evaluation.cllr(log_likelihood_ratios, genuine)  # checks the trials
    genuine = np.asarray(genuine).ravel()
    ratios = np.asarray(log_likelihood_ratios, np.float64).ravel() / math.log(10)
    low, high = np.mean(ratios[genuine] < 0), np.mean(ratios[~genuine] > 0)
    with style.house_style():
        figure = style.new_figure(
            title
            or f"Misleading: {style.percent(low)} of the genuine and {style.percent(high)} of the "
            "imposter ratios",
            _counts(genuine, caption),
            width=7.2,
            height=4.8,
        )
        axes = figure.subplots()
        for name, kind, color, line in (
            ("genuine", genuine, style.GENUINE, "-"),
            ("imposter", ~genuine, style.IMPOSTER, "--"),
        ):
            values = np.sort(np.clip(ratios[kind], -LARGEST, LARGEST))
            fractions = 1 - np.arange(1, values.size + 1) / values.size
            rows = np.unique(np.linspace(0, values.size - 1, MOST_POINTS).astype(int))
            axes.step(
                np.r_[-LARGEST, values[rows], LARGEST],
                np.r_[1, fractions[rows], 0],
                line,
                where="post",
                color=color,
                label=f"{name} trials",
            )
        finite = np.abs(ratios[np.isfinite(ratios)])
        edge = min(LARGEST, max(1.0, 1.05 * finite.max(initial=1.0)))
        axes.axvline(0, color=style.BLACK, linewidth=1, linestyle=":")
        axes.set_xlim(-edge, edge)
        axes.set_ylim(0, 1.01)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda fraction, _: f"{100 * fraction:g} %"))
        axes.set_xlabel("logarithm of the likelihood ratio, base 10")
        axes.set_ylabel("fraction of trials with a larger ratio")
        axes.legend(loc="best")
    return figure


def cross_entropy(
    log_likelihood_ratios: ArrayLike,
    genuine: ArrayLike,
    *,
    title: str | None = None,
    caption: str = "",
) -> Figure:
    """Plots the empirical cross-entropy of log likelihood ratios for each prior, as in Ramos2013.

    Two further curves show the entropy of the prior, which is the cost without the ratios, and the
    cost after the best increasing map of the ratios (PAV). The distance between the curves of the
    ratios and of PAV is the loss due to calibration.

    Args:
        log_likelihood_ratios: Natural logarithms of the likelihood ratios, shape `(trials,)`.
        genuine: Booleans, shape `(trials,)`, True if the probe person is the claimed person.
        title: Main result, in one sentence. By default, the title states Cllr and min Cllr.
        caption: Text that names the data, the people and the protocol. The function puts the
            numbers of trials before the caption.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.
    """
    ratios = np.asarray(log_likelihood_ratios, np.float64).ravel()
    cost = evaluation.cllr(ratios, genuine)
    genuine = np.asarray(genuine).ravel()
    finite = np.nan_to_num(ratios, posinf=1e6, neginf=-1e6)  # PAV takes finite scores
    best = evaluation.pav_calibration(-finite, genuine)(-finite)
    with style.house_style():
        figure = style.new_figure(
            title or f"Cllr {cost:.2f}, min Cllr {evaluation.cllr(best, genuine):.2f}",
            _counts(genuine, caption),
            width=7.2,
            height=4.8,
        )
        axes = figure.subplots()
        for name, values, color, line in (
            ("without the ratios", np.zeros(ratios.size), style.GRAY, ":"),
            ("with the ratios", ratios, style.VERMILLION, "-"),
            ("after the best increasing map (PAV)", best, style.BLUE, "--"),
        ):
            costs = evaluation.empirical_cross_entropy(values, genuine, math.log(10) * ODDS)
            axes.plot(ODDS, costs, line, color=color, label=name)
        axes.axvline(0, color=style.BLACK, linewidth=1, linestyle=":")
        axes.set_xlim(ODDS[0], ODDS[-1])
        axes.set_ylim(0, 1.3)
        axes.set_xlabel("logarithm of the prior odds of a genuine trial, base 10")
        axes.set_ylabel("empirical cross-entropy, bits")
        axes.legend(loc="best")
    return figure


def _counts(genuine, caption):
    count = int(genuine.sum())
    text = f"{count:,} genuine and {genuine.size - count:,} imposter trials. {caption}"
    return text.strip()
