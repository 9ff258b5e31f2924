"""Kullback-Leibler and Jensen-Shannon divergences of quantile functions, for comparison.

They compare densities, not values: once supports are disjoint the Jensen-Shannon divergence is
log 2 whatever the gap, and its gradient 0, while the Wasserstein distance grows with the gap
(Abdelwahab2019, section 4.1). NumPy, for figures and tests; not for training.

>>> knots, x = np.array([0, 0.5, 1]), np.array([0.0, 0.5, 1.0])
>>> [round(jensen_shannon(x, x + gap, knots), 3) for gap in (0.5, 1, 2, 4)]
[0.347, 0.693, 0.693, 0.693]
>>> from keras_dml.geometry import wasserstein
>>> [float(wasserstein.distance(x[None], x[None] + gap, knots)) for gap in (0.5, 1, 2, 4)]
[0.5, 1.0, 2.0, 4.0]
"""

import math

import numpy as np
from scipy.special import rel_entr


def kullback_leibler(x, y, knots):
    """Kullback-Leibler divergence KL(x || y) of two quantile functions of one filter, in nats.

    Between two knots the mass is spread evenly; equal neighboring values are an atom, which only an
    atom at exactly the same value can cover.

    Args:
        x: Values at the knots, shape `(knots,)`.
        y: Values at the same knots, shape `(knots,)`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        A float; infinite if `x` has mass where `y` has none.

    Raises:
        ValueError: If the three do not have the same number of knots.
    """
    mass_x, mass_y = _masses(x, y, knots)
    return float(rel_entr(mass_x, mass_y).sum())


def jensen_shannon(x, y, knots):
    """Jensen-Shannon divergence of two quantile functions of one filter, in nats, at most log 2.

    Args:
        x: Values at the knots, shape `(knots,)`.
        y: Values at the same knots, shape `(knots,)`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        A float, from 0 to log 2.

    Raises:
        ValueError: If the three do not have the same number of knots.
    """
    mass_x, mass_y = _masses(x, y, knots)
    middle = (mass_x + mass_y) / 2
    return float((rel_entr(mass_x, middle) + rel_entr(mass_y, middle)).sum() / 2)


def jensen_shannon_distance(x, y, knots):
    """Sum over filters of the square root of the Jensen-Shannon divergence, a metric.

    Args:
        x: Values at the knots, shape `(filters, knots)`.
        y: Values at the same knots, shape `(filters, knots)`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        A float, from 0 to `filters * sqrt(log 2)`.
    """
    return sum(math.sqrt(max(jensen_shannon(a, b, knots), 0.0)) for a, b in zip(x, y, strict=True))


def _masses(x, y, knots):
    """Mass of both in every cell between neighboring breakpoints, then in every atom."""
    x, y, width = (
        np.asarray(x, np.float64),
        np.asarray(y, np.float64),
        np.diff(np.asarray(knots, np.float64)),
    )
    if not x.shape == y.shape == (len(width) + 1,):
        raise ValueError(
            "`x`, `y` and `knots` must have one shape (knots,). Received shapes "
            f"{x.shape}, {y.shape} and {np.shape(knots)}."
        )
    cuts = np.unique(np.concatenate([x, y]))
    return tuple(
        np.concatenate([_in_cells(v, width, cuts), _in_atoms(v, width, cuts)]) for v in (x, y)
    )


def _in_cells(values, width, cuts):
    rise = np.diff(values)
    density = np.divide(width, rise, out=np.zeros_like(width), where=rise > 0)
    middle = (cuts[1:] + cuts[:-1]) / 2
    segment = np.searchsorted(values, middle, side="right") - 1
    inside = (segment >= 0) & (segment < len(width))
    return np.where(inside, density[np.clip(segment, 0, len(width) - 1)], 0.0) * np.diff(cuts)


def _in_atoms(values, width, cuts):
    atom = np.diff(values) == 0
    return np.bincount(np.searchsorted(cuts, values[:-1][atom]), width[atom], minlength=len(cuts))
