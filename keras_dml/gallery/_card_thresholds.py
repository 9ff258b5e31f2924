"""Thresholds from the card of a model, for galleries that nobody has calibrated.

The card says which distances the model gives between people whom it has not seen. A gallery that
was never calibrated decides by the card's thresholds. A gallery that is calibrated with few people
takes the shape of the distances between imposters from the card, and their mean and standard
deviation from these people.
"""

from __future__ import annotations

import pathlib
from typing import NamedTuple

import numpy as np

from keras_dml.gallery._results import PROVISIONAL, Threshold
from keras_dml.zoo import catalog, lookup

# With three people the mean and the standard deviation are too uncertain.
FEWEST = 5
# The distance from the mean to the threshold is longer by this factor over the number of people,
# so that other people keep the rate in about nine of ten groups.
STRICTER = 2.9
# The false accept rate that 97.5 % of groups stay below, by the rate wanted. Measured by
# `python -m tests.bench.few_people` on populations on which the rule was not found.
HIGHEST = {0.1: 0.25, 0.05: 0.13, 0.01: 0.055}


class Moved(NamedTuple):
    """A threshold that few people set with the help of a card.

    Attributes:
        value: The threshold.
        ci95: 95 % interval of its false accept rate, over groups of people.
    """

    value: float
    ci95: tuple[float, float]


def provisional(card):
    """Returns the thresholds of a card, by false accept rate.

    Args:
        card: Card of a model, or None.

    Returns:
        Dict of `Threshold`; empty if the card has none.
    """
    rows = (card or {}).get("thresholds", [])
    return {row["far"]: _threshold(row) for row in sorted(rows, key=lambda row: row["far"])}


def provisional_of(model):
    """Returns `provisional` of a model by its name or path, and loads no model.

    Args:
        model: Name or path, as a gallery keeps it; None: of no model.
    """
    if model is None:
        return {}
    if lookup.is_path(model) and pathlib.Path(model).is_file():
        model = pathlib.Path(model).parent
    try:
        return provisional(catalog.card(model))
    except (OSError, ValueError):  # the model has no card, or is gone
        return {}


def moved(card, far, scores, people):
    """Returns the threshold of a rate, from a card and the claims of few imposters.

    `t = m + (1 + 2.9 / n) (q - m') s / s'` with the mean m and the standard deviation s of the
    distances of n people, and m', s' and the quantile q of the rate of those on the card.

    Args:
        card: Card of the model, or None.
        far: False accept rate.
        scores: Distances of false claims, shape `(claims,)`.
        people: `(probe, claimed)`, names of both sides, each of shape `(claims,)`.

    Returns:
        `Moved`; None if the card does not say enough, `HIGHEST` does not hold the rate, or there
        are fewer than `FEWEST` people.
    """
    others, limits = (card or {}).get("imposters"), provisional(card)
    count = len(np.unique(np.concatenate(people)))
    if others is None or far not in limits or far not in HIGHEST or count < FEWEST:
        return None
    scale = (1 + STRICTER / count) * np.std(scores) / others["stddev"]
    value = float(np.mean(scores) + scale * (limits[far].value - others["mean"]))
    return Moved(value, (0.0, HIGHEST[far]))


def _threshold(row):
    certificate = row.get("certificate", {})
    return Threshold(
        far=row["far"],
        value=row["value"],
        far_ci95=tuple(certificate.get("ci95") or row["far_ci95"]),
        tar=row["tar"],
        tar_ci95=tuple(row["tar_ci95"]),
        people=row["people"],
        trials=row["trials"],
        independent=certificate.get("independent", row["people"] / 2),
        strictest=certificate.get("strictest", row["far"]),
        method=PROVISIONAL,
        enrolled=row["enrolled"],
    )
