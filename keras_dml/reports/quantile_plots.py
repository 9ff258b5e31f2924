"""Plots the quantile functions of two people in the filters in which these people differ most."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from keras_dml._typing import ArrayLike, Tensor
from keras_dml.reports import style

SAME_KNOTS = 1e-3  # largest difference of equal knots, which is more than rounding to float16


def quantile_curves(
    first: ArrayLike,
    second: ArrayLike,
    *,
    names: tuple[str, str] = ("Person A", "Person B"),
    filters: int = 3,
    title: str | None = None,
    caption: str = "",
) -> Figure:
    """Plots the quantile functions of two people in the filters in which these people differ most.

    Each thin line shows one recording. A thick line shows, at each knot, the median over the
    recordings of a person. The size of the shaded area between the two thick lines is the
    1-Wasserstein distance between the two medians in the filter (Abdelwahab2019, Eq. 9). The
    function ranks filters by a difference: the mean distance between the two people minus the mean
    distance between recordings of the same person.

    Args:
        first: Quantile embeddings of the first person, shape `(recordings, filters + 1, knots)`.
            The last row of an embedding holds the knots.
        second: Quantile embeddings of the second person, with the same knots.
        names: Labels of the two people in the plot. Use pseudonyms instead of names.
        filters: Number of filters to draw.
        title: Main result, in one sentence. By default, the title is a sentence about the
            distances.
        caption: Text that states the data, the model and the source of the recordings.

    Returns:
        `matplotlib.figure.Figure`, which `reports.save` writes to files.

    Raises:
        ValueError: If `first` or `second` does not hold finite quantile embeddings, if their knots
            differ, or if `filters` exceeds the number of filters.
    """
    first, second, knots = _check(first, second)
    if not 1 <= filters <= first.shape[1]:
        raise ValueError(
            f"`filters` must be between 1 and {first.shape[1]}, the number of filters of the "
            f"embeddings. Received filters={filters}."
        )
    between, within = filter_distances(first, second, knots)
    order = np.argsort(within - between, kind="stable")[:filters]
    with style.house_style():
        figure = style.new_figure(
            title or _title(names, order, between),
            f"Thin lines: recordings ({len(first)} and {len(second)}). Thick lines: median of each "
            f"person. Shaded area: distance between the medians. {len(between)} filters in total. "
            f"{caption}".strip(),
            width=max(6.0, 3.6 * filters),
            height=4.6,
        )
        for axes, index in zip(np.ravel(figure.subplots(1, filters)), order, strict=True):
            _draw_filter(axes, knots, (first[:, index], second[:, index]), names)
            heading = f"filter {index}: distance {between[index]:.2g}"
            if within.any():
                heading += f"\n(within one person: {within[index]:.2g})"
            axes.set_title(heading, color=style.GRAY)
        figure.axes[0].set_ylabel("quantile of the activation")
        figure.axes[0].legend(loc="upper left")
    return figure


def filter_distances(first: Tensor, second: Tensor, knots: ArrayLike) -> Any:
    """Computes two mean 1-Wasserstein distances for each filter: between recordings of different
    people and between recordings of the same person.

    Args:
        first: Quantile values of the first person, shape `(recordings, filters, knots)`.
        second: Quantile values of the second person. The number of recordings may differ from
            `first`.
        knots: Knots, shape `(knots,)`.

    Returns:
        `(between, within)`, two arrays of shape `(filters,)`. If each person has only one
        recording, `within` is 0.
    """
    between = _pairs(first, second, knots).mean(axis=(0, 1))
    within = []
    for values in (first, second):
        upper = np.triu_indices(len(values), 1)
        within.append(_pairs(values, values, knots)[upper])  # (pairs, filters)
    within = np.concatenate(within)
    return between, within.mean(axis=0) if len(within) else np.zeros_like(between)


def _pairs(x, y, knots):
    """Computes distances of all pairs in each filter by the trapezoidal rule. The rule is corrected
    in each segment in which the difference between the two quantile functions changes its sign.
    """
    gap = x[:, None] - y[None]  # (m, n, filters, knots)
    left, right = np.abs(gap[..., :-1]), np.abs(gap[..., 1:])
    total = left + right
    crossing = gap[..., :-1] * gap[..., 1:] < 0
    cut = np.where(crossing, left * right / np.where(crossing, total, 1.0), 0.0)
    return (total / 2 - cut) @ np.diff(knots)


def _draw_filter(axes, knots, people, names):
    medians = [np.median(values, axis=0) for values in people]
    axes.fill_between(knots, *medians, color=style.FAINT, linewidth=0, zorder=1)
    for values, median, name, color, dash in zip(
        people, medians, names, style.PEOPLE, ("-", "--"), strict=True
    ):
        thin = {"color": color, "linewidth": 0.7, "alpha": 0.5, "zorder": 2}
        axes.plot(knots, values.T, **thin)
        axes.plot(knots, median, dash, color=color, linewidth=2.8, zorder=3, label=name)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    axes.set_xticks(knots, minor=True)
    axes.tick_params(which="minor", length=2.5)
    axes.set_xlabel("fraction of the recording's time")


def _title(names, order, between):
    fraction = between[order].sum() / between.sum() if between.any() else 0.0
    filters = "filter" if len(order) == 1 else "filters"
    return (
        f"{names[0]} and {names[1]} differ most in {filters} {style.join_words(order)} "
        f"({style.percent(fraction, 0)} of their distance)"
    )


def _check(first, second):
    first, second = (np.asarray(values, np.float64) for values in (first, second))
    if first.ndim != 3 or second.ndim != 3 or first.shape[1:] != second.shape[1:]:
        raise ValueError(
            "Quantile embeddings of two people must have shape (recordings, filters + 1, knots), "
            f"with the same filters and knots. Received shapes {first.shape} and {second.shape}. "
            "Use a model that ends with a `QuantileLayer`. Other embeddings, such as the output of "
            "max pooling, have no quantile functions."
        )
    if not len(first) or not len(second):
        raise ValueError(
            "Each person must have at least one recording. Received "
            f"{len(first)} and {len(second)} recordings."
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("Embeddings must be finite. Received NaN or infinite values.")
    knots = first[0, -1]
    if max(np.abs(values[:, -1] - knots).max() for values in (first, second)) > SAME_KNOTS:
        raise ValueError(
            "Embeddings with different knots come from different models and cannot be compared. "
            "Embed the two people with the same model."
        )
    return first[:, :-1], second[:, :-1], knots
